//===- TensorMemory.cpp - The tensor memory of a CTA -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Machine.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

std::optional<uint32_t> TensorMemory::findFree(uint32_t columns,
                                               const TensorMemory *peer) const {
  for (uint32_t first = 0; first + columns <= kTensorColumns; first += 32) {
    bool isFree = true;
    for (uint32_t c = first; c < first + columns; ++c) {
      isFree &= owners[c] == kFree && (!peer || peer->owners[c] == kFree);
    }
    if (isFree) {
      return first;
    }
  }
  return std::nullopt;
}

void TensorMemory::allocate(uint32_t first, uint32_t columns) {
  for (uint32_t c = first; c < first + columns; ++c) {
    owners[c] = first;
    std::fill_n(defined.begin() + size_t(c) * kTensorLanes, kTensorLanes,
                false);
  }
}

bool TensorMemory::isAllocation(uint32_t first, uint32_t columns) const {
  if (first >= kTensorColumns || first + columns > kTensorColumns) {
    return false;
  }
  for (uint32_t c = 0; c < kTensorColumns; ++c) {
    bool isInside = c >= first && c < first + columns;
    if ((owners[c] == first) != isInside) {
      return false;
    }
  }
  return true;
}

void TensorMemory::release(uint32_t first, uint32_t columns) {
  std::fill_n(owners.begin() + first, columns, kFree);
  lines.erase(first);
}

bool TensorMemory::isAllocated(const TensorCells &cells) const {
  if (cells.lane + cells.lanes > kTensorLanes ||
      cells.column >= kTensorColumns ||
      cells.column + cells.columns > kTensorColumns) {
    return false;
  }
  for (uint32_t c = cells.column; c < cells.column + cells.columns; ++c) {
    if (owners[c] == kFree) {
      return false;
    }
  }
  return true;
}

void TensorMemory::define(const TensorCells &cells) {
  for (uint32_t c = cells.column; c < cells.column + cells.columns; ++c) {
    std::fill_n(defined.begin() + size_t(c) * kTensorLanes + cells.lane,
                cells.lanes, true);
  }
}

std::optional<uint32_t>
TensorMemory::findUndefined(const TensorCells &cells) const {
  for (uint32_t c = cells.column; c < cells.column + cells.columns; ++c) {
    for (uint32_t l = cells.lane; l < cells.lane + cells.lanes; ++l) {
      if (!defined[size_t(c) * kTensorLanes + l]) {
        return l << 16 | c;
      }
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static std::string describe(const TensorCells &cells) {
  return "lanes " + std::to_string(cells.lane) + " to " +
         std::to_string(cells.lane + cells.lanes - 1) + " of columns " +
         std::to_string(cells.column) + " to " +
         std::to_string(cells.column + cells.columns - 1) + " of tensor memory";
}

static std::string describe(const Access &access) {
  return "an operation of warp " + std::to_string(access.task) +
         (access.isWrite ? " writes " : " reads ");
}

/// The moment at which the issuer of a load or a store has seen it end. It has
/// another one, which comes with its next fence.
Epoch Machine::getCompletion(Epoch epoch) const {
  uint32_t warps = getNumWarps();
  bool isTwofold = epoch.agent >= 4 * warps && epoch.agent < 6 * warps;
  return {epoch.agent + (isTwofold ? 2 * warps : 0), epoch.time};
}

/// Tells a missing fence from the lack of any order.
static std::string explain(const Machine &machine, const Knowledge &happened,
                           const Access &earlier, Fault &fault) {
  if (happened.happened.covers(earlier.epoch)) {
    fault = Fault::MissingFence;
    return ", but no tcgen05.fence::after_thread_sync follows the wait that "
           "orders it after the other access";
  }
  if (happened.happened.covers(machine.getCompletion(earlier.epoch))) {
    fault = Fault::MissingFence;
    return ", but no tcgen05.fence::before_thread_sync follows the other "
           "access before the arrival that orders it";
  }
  return ", but nothing orders that after the other access";
}

void Machine::recordTensor(Cta &cta, const TensorCells &cells,
                           const Access &access, const Knowledge &visible,
                           const Knowledge &happened) {
  auto record = [&](int64_t begin, int64_t end) {
    cta.tensor.history.record(
        begin, end, access, visible,
        [&](const sim::Conflict &conflict) {
          Fault kind = conflict.fault;
          std::string why = explain(*this, happened, conflict.earlier, kind);
          fault(kind, access.site, describe(access) + describe(cells) + why,
                {{conflict.earlier.site,
                  describe(conflict.earlier) + "it here"}});
        },
        [] {});
  };
  int64_t first = int64_t(cells.column) * kTensorLanes + cells.lane;
  if (cells.lanes == kTensorLanes) {
    record(first, first + int64_t(cells.columns) * kTensorLanes);
    return;
  }
  for (uint32_t c = 0; c < cells.columns; ++c) {
    int64_t begin = first + int64_t(c) * kTensorLanes;
    record(begin, begin + cells.lanes);
  }
}

bool Machine::accessTensor(AsyncWork &work, Cta &cta, const TensorCells &cells,
                           TensorAccess how) {
  if (!cta.tensor.isAllocated(cells)) {
    fault(Fault::OutOfBounds, work.line,
          "an operation of warp " + std::to_string(work.warp) + " uses " +
              describe(cells) + ", which are not all allocated");
    return false;
  }
  if (how != TensorAccess::Write) {
    if (auto cell = cta.tensor.findUndefined(cells)) {
      fault(Fault::NeverWritten, work.line,
            "an operation of warp " + std::to_string(work.warp) + " reads " +
                describe(cells) + ", of which nobody has written lane " +
                std::to_string(getTensorLane(*cell)) + " of column " +
                std::to_string(getTensorColumn(*cell)));
      cta.tensor.define(cells); // said once
    }
  }
  Access access;
  access.epoch = work.epoch;
  access.site = work.line;
  access.task = work.warp;
  access.cluster = cluster;
  access.rank = warps[work.warp]->cta.rank;
  access.isWrite = how != TensorAccess::Read;
  access.isAsync = true;
  recordTensor(cta, cells, access, work.tensorKnowledge, work.knowledge);
  if (access.isWrite) {
    cta.tensor.define(cells);
  }
  return true;
}

void Machine::releaseTensor(Warp &warp, Cta &cta, const TensorCells &cells) {
  Access access;
  access.epoch = {warp.index, warp.time};
  access.site = warp.getLine();
  access.task = warp.index;
  access.cluster = cluster;
  access.rank = warp.cta.rank;
  access.isWrite = true;
  access.isAsync = true;
  // It is no asynchronous operation: no fence has to pass its order on.
  Knowledge ended = warp.know();
  uint32_t numWarps = getNumWarps();
  for (uint32_t agent = 4 * numWarps; agent < 6 * numWarps; ++agent) {
    ended.happened.advance({agent, ended.happened.get(agent + 2 * numWarps)});
  }
  recordTensor(cta, cells, access, ended, ended);
  // Before everything, for those who come after.
  access.epoch = {};
  int64_t first = int64_t(cells.column) * kTensorLanes;
  cta.tensor.history.record(
      first, first + int64_t(cells.columns) * kTensorLanes, access, ended,
      [](const sim::Conflict &) {}, [] {});
}
