//===- Memory.cpp - Shared and global memory with their history -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Memory.h"

#include <optional>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

//===----------------------------------------------------------------------===//
// History
//===----------------------------------------------------------------------===//

void History::split(int64_t at) {
  auto it = segments.upper_bound(at);
  if (it == segments.begin()) {
    return;
  }
  --it;
  if (it->first < at && at < it->second.end) {
    Segment rest = it->second;
    it->second.end = at;
    segments.emplace(at, std::move(rest));
  }
}

void History::cover(int64_t begin, int64_t end) {
  split(begin);
  split(end);
  int64_t at = begin;
  while (at < end) {
    auto it = segments.lower_bound(at);
    int64_t next = it == segments.end() ? end : std::min(end, it->first);
    if (next > at) {
      Segment gap;
      gap.end = next;
      segments.emplace(at, std::move(gap));
      at = next;
    } else {
      at = it->second.end;
    }
  }
}

void History::initialise(int64_t begin, int64_t end) {
  cover(begin, end);
  for (auto it = segments.find(begin); it != segments.end() && it->first < end;
       ++it) {
    it->second.written = true;
  }
}

/// What fences of tensor memory have to add to `later` coming after `earlier`.
static std::optional<Fault> checkTensor(const Access &earlier,
                                        const Access &later,
                                        const Knowledge &knowledge) {
  bool isOrdered = knowledge.tensorOrdered.covers(earlier.epoch);
  if (earlier.epoch.agent == later.epoch.agent) {
    // A thread waits for its loads and for each product of a queue the next
    // one, but stores are done only with the fence.
    bool isLoadOfStore = !later.isAsync && earlier.isWrite && !later.isWrite;
    isOrdered =
        !isLoadOfStore || knowledge.tensorReleased.covers(earlier.epoch);
  }
  return isOrdered ? std::nullopt : std::optional(Fault::MissingFence);
}

/// What, if anything, is wrong with `later` coming after `earlier`.
static std::optional<Fault> check(const Access &earlier, const Access &later,
                                  const Knowledge &knowledge, bool isStrict) {
  bool areAdditions = earlier.isReduction && later.isReduction;
  bool isFree = areAdditions && !earlier.isOrdered && !later.isOrdered;
  if (earlier.epoch.time == 0 || isFree) {
    return std::nullopt;
  }
  if (earlier.cluster != later.cluster ||
      !knowledge.happened.covers(earlier.epoch)) {
    bool reads = earlier.isAsync && !earlier.isWrite;
    return reads ? Fault::EarlyRelease : Fault::Race;
  }
  if (later.isTensor) {
    return checkTensor(earlier, later, knowledge);
  }
  // Barriers order reads before an asynchronous write, unless one is strict or
  // it is a response that was read (PTX ISA 9.7.13.17);
  // but an arrival at another CTA's barrier has no fence for them.
  bool needsFence = earlier.isWrite || earlier.isFencedRead || isStrict ||
                    earlier.rank != later.rank;
  if (needsFence && !earlier.isAsync && later.isAsync &&
      !knowledge.visibleToAsync.covers(earlier.epoch)) {
    return Fault::MissingFence;
  }
  return std::nullopt;
}

void History::record(int64_t begin, int64_t end, const Access &access,
                     const Knowledge &knowledge,
                     llvm::function_ref<void(const Conflict &)> conflict,
                     llvm::function_ref<void()> unwritten) {
  auto checkAgainst = [&](const Access &earlier) {
    if (std::optional<Fault> fault =
            check(earlier, access, knowledge, isStrict)) {
      conflict({earlier, *fault});
    }
  };
  cover(begin, end);
  for (auto it = segments.find(begin); it != segments.end() && it->first < end;
       ++it) {
    Segment &segment = it->second;
    // What comes after a read comes after what that has read. Through the async
    // proxy it has been fenced, too.
    bool isAfterRead = llvm::any_of(segment.reads, [&](const Access &read) {
      return read.isAsync && read.cluster == access.cluster &&
             knowledge.happened.covers(read.epoch);
    });
    if (segment.written && !(access.isWrite && isAfterRead)) {
      checkAgainst(segment.lastWrite);
    } else if (!segment.written && !access.isWrite) {
      unwritten();
      segment.written = true; // said once
    }
    if (access.isWrite) {
      for (const Access &read : segment.reads) {
        checkAgainst(read);
      }
      segment.written = true;
      segment.lastWrite = access;
      segment.reads.clear();
      continue;
    }
    // A write that comes after this read comes after those it comes after.
    llvm::erase_if(segment.reads, [&](const Access &read) {
      return read.cluster == access.cluster &&
             knowledge.happened.covers(read.epoch);
    });
    segment.reads.push_back(access);
  }
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

int64_t View::getOffset(int64_t r, int64_t c) const {
  int64_t panel = (column + c) / geometry.panelColumns;
  int64_t within = (column + c) % geometry.panelColumns;
  return base + panel * geometry.panelStride + (row + r) * geometry.rowPitch +
         within * getBytes(geometry.kind);
}

void View::forEachRange(
    llvm::function_ref<void(int64_t begin, int64_t end)> visit) const {
  int64_t begin = -1, end = -1;
  auto add = [&](int64_t from, int64_t to) {
    if (from != end) {
      if (begin >= 0) {
        visit(begin, end);
      }
      begin = from;
    }
    end = to;
  };
  for (int64_t c = 0; c < geometry.columns;) {
    int64_t within = (column + c) % geometry.panelColumns;
    int64_t count =
        std::min(geometry.panelColumns - within, geometry.columns - c);
    int64_t bytes = count * getBytes(geometry.kind);
    if (bytes == geometry.rowPitch) {
      int64_t from = getOffset(0, c);
      add(from, from + geometry.rows * bytes);
    } else {
      for (int64_t r = 0; r < geometry.rows; ++r) {
        add(getOffset(r, c), getOffset(r, c) + bytes);
      }
    }
    c += count;
  }
  if (begin >= 0) {
    visit(begin, end);
  }
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

bool SharedMemory::contains(const View &view) const {
  bool inside = true;
  view.forEachRange([&](int64_t begin, int64_t end) {
    inside &= begin >= 0 && end <= getSize();
  });
  return inside;
}

/// Calls `visit(offset, row, column, count)` for elements that lie side by
/// side.
template <typename Visit>
static void forEachRun(const View &view, Visit visit) {
  const Geometry &geometry = view.geometry;
  for (int64_t c = 0; c < geometry.columns;) {
    int64_t within = (view.column + c) % geometry.panelColumns;
    int64_t count =
        std::min(geometry.panelColumns - within, geometry.columns - c);
    for (int64_t r = 0; r < geometry.rows; ++r) {
      visit(view.getOffset(r, c), r, c, count);
    }
    c += count;
  }
}

TileRef SharedMemory::load(const View &view, Shape shape) {
  const Geometry &geometry = view.geometry;
  TileRef tile(new Tile(geometry.kind, std::move(shape)));
  forEachRun(view, [&](int64_t offset, int64_t r, int64_t c, int64_t count) {
    int64_t to = r * geometry.columns + c;
    if (isReal(geometry.kind)) {
      decodeReals(geometry.kind, at(offset), count, tile->reals.data() + to);
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      tile->integers[size_t(to + i)] = decodeInteger(
          geometry.kind, at(offset + i * getBytes(geometry.kind)));
    }
  });
  return tile;
}

void SharedMemory::store(const View &view, const Tile &tile) {
  const Geometry &geometry = view.geometry;
  int64_t size = getBytes(geometry.kind);
  forEachRun(view, [&](int64_t offset, int64_t r, int64_t c, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      auto from = size_t(r * geometry.columns + c + i);
      if (isReal(geometry.kind)) {
        encode(geometry.kind, tile.reals[from], at(offset + i * size));
      } else {
        encode(geometry.kind, tile.integers[from], at(offset + i * size));
      }
    }
  });
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

GlobalArray::GlobalArray(std::string name, ElementKind kind, Shape shape,
                         bool hasBytes)
    : name(std::move(name)), kind(kind), shape(std::move(shape)) {
  int64_t count = sim::getNumElements(this->shape);
  bytes.resize(hasBytes ? size_t(count * getBytes(kind)) : 0, 0);
  written.resize(size_t(count), false);
}

void GlobalArray::setAllWritten() {
  written.assign(written.size(), true);
  isComplete = true;
  history.initialise(0, int64_t(written.size()));
}
