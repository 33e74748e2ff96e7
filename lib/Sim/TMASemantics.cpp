//===- TMASemantics.cpp - TMA family in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A load becomes visible, then signals; one for several CTAs is a copy for
// each. A store reads its buffer, then its result becomes visible. Coordinates
// and segments are checked at the start.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include <cstring>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

namespace {
/// What a copy does, as far as its op says.
struct BoxOperands {
  Slot map;
  std::vector<Slot> coordinates;
  std::optional<Slot> start, length;
  Slot buffer;
  Shape box;
  Geometry geometry;
};

/// One copy: a box of an array, and the buffer.
struct Box {
  int64_t array;
  Shape extents;
  Shape coordinates;
  /// Of axis 0: the first row of the segment and the rows in it.
  std::optional<std::pair<int64_t, int64_t>> segment;
  View buffer;

  int64_t getLines() const { return getNumElements(extents) / extents.back(); }
};

/// A run of elements along the last axis.
struct Line {
  /// The first element of the array; what is outside of it does not exist.
  int64_t begin;
  /// Elements inside.
  int64_t count;
};
} // namespace

template <typename Op>
static FailureOr<BoxOperands> getOperands(Op op, mlir::Value buffer,
                                          ProgramBuilder &builder) {
  BoxOperands operands;
  auto geometry = getGeometry(op, cast<tlx::MemDescType>(buffer.getType()));
  FailureOr<SmallVector<int64_t>> box = op.getMap().getType().getStaticTile();
  if (failed(geometry) || failed(box)) {
    return failure();
  }
  operands.geometry = *geometry;
  operands.box.assign(box->begin(), box->end());
  operands.map = builder.getSlot(op.getMap());
  operands.coordinates = builder.getSlots(op.getCoordinates());
  if (op.getSegmentStart()) {
    operands.start = builder.getSlot(op.getSegmentStart());
    operands.length = builder.getSlot(op.getSegmentLength());
  }
  operands.buffer = builder.getSlot(buffer);
  return operands;
}

static Box getBox(const BoxOperands &operands, Task &task) {
  Box box;
  box.array = task[operands.map].integer;
  box.extents = operands.box;
  for (Slot slot : operands.coordinates) {
    box.coordinates.push_back(task[slot].integer);
  }
  if (operands.start) {
    box.segment = {task[*operands.start].integer,
                   task[*operands.length].integer};
  }
  box.buffer = getView(operands.geometry, task[operands.buffer]);
  return box;
}

/// Where the line `number` of the box lies in its array.
static Line getLine(const Box &box, const GlobalArray &array, int64_t number) {
  int64_t begin = 0;
  Shape at = box.coordinates;
  for (size_t axis = at.size() - 1; axis-- > 0;) {
    at[axis] += number % box.extents[axis];
    number /= box.extents[axis];
  }
  bool exists = true;
  for (size_t axis = 0; axis < at.size(); ++axis) {
    int64_t extent = array.shape[axis];
    if (axis == 0 && box.segment) {
      exists &= at[0] >= 0 && at[0] < box.segment->second;
      at[0] += box.segment->first;
    } else if (axis + 1 < at.size()) {
      exists &= at[axis] >= 0 && at[axis] < extent;
    }
    begin = begin * extent + at[axis];
  }
  // A store may begin past the end, where nothing of it is written.
  int64_t inside = array.shape.back() - box.coordinates.back();
  int64_t count = std::clamp<int64_t>(inside, 0, box.extents.back());
  return {begin, exists && box.coordinates.back() >= 0 ? count : 0};
}

/// Hardware faults on a load that begins outside, and on a store that begins
/// before what it writes.
static bool checkBegin(Machine &machine, Task &task, const Box &box,
                       bool isLoad) {
  const GlobalArray &array = machine.getArray(box.array);
  if (array.isBoundless) {
    return true;
  }
  for (size_t axis = 0; axis < box.coordinates.size(); ++axis) {
    bool isRagged = axis == 0 && box.segment;
    int64_t extent = isRagged ? box.segment->second : array.shape[axis];
    int64_t at = box.coordinates[axis];
    if (at < 0 || (isLoad && at >= extent)) {
      machine.fail(Fault::OutOfBounds, task.site,
                   task.name + " copies a box of " + array.name +
                       " that begins at " + std::to_string(at) + " of axis " +
                       std::to_string(axis) + ", but the " +
                       (isRagged ? "segment" : "tensor") + " has " +
                       std::to_string(extent) + " there",
                   {machine.getDeclaration(box.array)});
      return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Calls `visit(offset, line, element, count)` for runs of the box's elements
/// that are side by side in the buffer.
template <typename Visit>
static void forEachPiece(const Box &box, Visit visit) {
  const Geometry &geometry = box.buffer.geometry;
  int64_t width = box.extents.back();
  for (int64_t line = 0, lines = box.getLines(); line < lines; ++line) {
    for (int64_t i = 0; i < width;) {
      int64_t at = line * width + i;
      int64_t row = at / geometry.columns, column = at % geometry.columns;
      int64_t left = geometry.panelColumns -
                     (box.buffer.column + column) % geometry.panelColumns;
      int64_t count = std::min({left, width - i, geometry.columns - column});
      visit(box.buffer.getOffset(row, column), line, i, count);
      i += count;
    }
  }
}

static void copyIn(Machine &machine, AsyncOp &op, const Box &box) {
  if (!machine.access(op, box.buffer, /*isWrite=*/true)) {
    return;
  }
  GlobalArray &array = machine.getArray(box.array);
  std::vector<Line> lines;
  for (int64_t i = 0, count = box.getLines(); i < count; ++i) {
    Line line = getLine(box, array, i);
    bool isInside =
        line.count == 0 || machine.access(op, box.array, line.begin,
                                          line.begin + line.count, false);
    lines.push_back(isInside ? line : Line{0, 0});
  }
  if (!machine.computesValues()) {
    return;
  }
  int64_t size = getBytes(array.kind);
  forEachPiece(
      box, [&](int64_t offset, int64_t line, int64_t i, int64_t count) {
        uint8_t *to = machine.getShared(op).at(offset);
        int64_t there =
            std::clamp<int64_t>(lines[size_t(line)].count - i, 0, count);
        std::memset(to, 0, size_t(count * size));
        if (there > 0) {
          std::memcpy(to, array.at(lines[size_t(line)].begin + i),
                      size_t(there * size));
        }
      });
}

static LogicalResult buildLoad(tlx::AsyncDescriptorLoadOp op,
                               ProgramBuilder &builder) {
  auto operands = getOperands(op, op.getDestination(), builder);
  if (failed(operands)) {
    return failure();
  }
  Targets targets = getTargets(op, op.getMulticast(), builder);
  BarrierElement element = getBarrierElement(
      op, op.getBarrier(), op.getIndex(),
      targets.mask || op.isOfPair() ? Signals::Any : Signals::Own, builder);
  // Of a pair, the barrier is that of the leader.
  uint32_t followerBit = op.isOfPair() ? 1 : 0;
  int64_t bytes =
      getNumElements(operands->box) * getBytes(operands->geometry.kind);
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    std::optional<int64_t> barrier = element.get(machine, task);
    Box box = getBox(*operands, task);
    if (!barrier) {
      return;
    }
    bool begins = checkBegin(machine, task, box, /*isLoad=*/true);
    auto write = [box, begins](Machine &on, AsyncOp &self) {
      if (begins) {
        copyIn(on, self, box);
      }
    };
    for (uint32_t rank : targets.get(machine, task)) {
      int64_t number =
          machine.getRemoteBarrier(task, *barrier, rank & ~followerBit);
      auto signal = [=](Machine &on, AsyncOp &self) {
        on.deliver(self, number, bytes);
      };
      AsyncRef copy = machine.issue(task, Queue::None, {write, signal});
      copy->rank = rank;
      copy->barrier = number;
      machine.reach(task, number, copy->epoch);
    }
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

using Bytes = std::shared_ptr<std::vector<uint8_t>>;

static void readSource(Machine &machine, AsyncOp &op, const Box &box,
                       const Bytes &bytes) {
  if (!machine.access(op, box.buffer, /*isWrite=*/false) ||
      !machine.computesValues()) {
    return;
  }
  int64_t size = getBytes(box.buffer.geometry.kind);
  bytes->resize(size_t(getNumElements(box.extents) * size));
  forEachPiece(
      box, [&](int64_t offset, int64_t line, int64_t i, int64_t count) {
        int64_t to = (line * box.extents.back() + i) * size;
        std::memcpy(bytes->data() + to, machine.getShared(op).at(offset),
                    size_t(count * size));
      });
}

/// Adds, rounding each sum to the type.
static void addLine(GlobalArray &array, const Line &line, const uint8_t *from) {
  int64_t size = getBytes(array.kind);
  for (int64_t i = 0; i < line.count; ++i) {
    uint8_t *to = array.at(line.begin + i);
    encode(array.kind,
           decodeReal(array.kind, to) + decodeReal(array.kind, from + i * size),
           to);
  }
}

static void copyOut(Machine &machine, AsyncOp &op, const Box &box,
                    const Bytes &bytes, bool isReduction, bool isOrdered) {
  GlobalArray &array = machine.getArray(box.array);
  int64_t lineBytes = box.extents.back() * getBytes(array.kind);
  for (int64_t i = 0, count = box.getLines(); i < count; ++i) {
    Line line = getLine(box, array, i);
    if (line.count == 0 ||
        !machine.access(op, box.array, line.begin, line.begin + line.count,
                        /*isWrite=*/true, isReduction, isOrdered) ||
        bytes->empty()) {
      continue;
    }
    const uint8_t *from = bytes->data() + i * lineBytes;
    if (isReduction) {
      addLine(array, line, from);
    } else {
      std::memcpy(array.at(line.begin), from,
                  size_t(line.count * getBytes(array.kind)));
    }
  }
}

template <typename Op, bool isReduction>
static LogicalResult buildWrite(Op op, ProgramBuilder &builder) {
  auto operands = getOperands(op, op.getSource(), builder);
  if (failed(operands)) {
    return failure();
  }
  bool isOrdered = false;
  if constexpr (isReduction) {
    isOrdered = op.getOrdered();
  }
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    Box box = getBox(*operands, task);
    bool begins = checkBegin(machine, task, box, /*isLoad=*/false);
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    auto read = [=](Machine &on, AsyncOp &self) {
      readSource(on, self, box, bytes);
    };
    auto write = [=](Machine &on, AsyncOp &self) {
      if (begins) {
        copyOut(on, self, box, bytes, isReduction, isOrdered);
      }
    };
    machine.issue(task, Queue::Stores, {read, write});
  });
  return success();
}

static LogicalResult buildStoreWait(tlx::AsyncDescriptorStoreWaitOp op,
                                    ProgramBuilder &builder) {
  unsigned pending = op.getPending();
  bool written = op.getWritten();
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    Condition condition;
    condition.kind = Condition::Stores;
    condition.pending = pending;
    condition.written = written;
    machine.wait(task, condition);
  });
  return success();
}

/// A hint: nothing comes of it.
static LogicalResult buildPrefetch(tlx::AsyncDescriptorPrefetchOp,
                                   ProgramBuilder &) {
  return success();
}

void sim::registerTMASemantics(MLIRContext *context) {
  using namespace tlx;
  attach<AsyncDescriptorLoadOp, buildLoad>(context);
  attach<AsyncDescriptorStoreOp, buildWrite<AsyncDescriptorStoreOp, false>>(
      context);
  attach<AsyncDescriptorReduceOp, buildWrite<AsyncDescriptorReduceOp, true>>(
      context);
  attach<AsyncDescriptorStoreWaitOp, buildStoreWait>(context);
  attach<AsyncDescriptorPrefetchOp, buildPrefetch>(context);
}
