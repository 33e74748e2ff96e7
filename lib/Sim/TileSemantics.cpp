//===- TileSemantics.cpp - Tile family in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include <cmath>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

template <typename T>
static T combine(tlx::ReduceKind kind, T x, T y) {
  if (kind == tlx::ReduceKind::Add) {
    return x + y;
  }
  bool isMax = kind == tlx::ReduceKind::Max;
  if constexpr (std::is_same_v<T, float>) {
    return isMax ? std::fmax(x, y) : std::fmin(x, y);
  } else {
    return isMax ? std::max(x, y) : std::min(x, y);
  }
}

/// Element (outer, i, inner) goes to group `group(i)` of `groups`.
template <typename T, typename Group>
static void reduceInto(tlx::ReduceKind kind, const std::vector<T> &in,
                       std::vector<T> &out, int64_t outer, int64_t extent,
                       int64_t inner, int64_t groups, Group group) {
  std::vector<bool> isStarted(out.size(), false);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < extent; ++i) {
      for (int64_t k = 0; k < inner; ++k) {
        auto to = size_t((o * groups + group(i)) * inner + k);
        T value = in[size_t((o * extent + i) * inner + k)];
        out[to] = isStarted[to] ? combine(kind, out[to], value) : value;
        isStarted[to] = true;
      }
    }
  }
}

/// Reduces `dim` to `groups` groups in runs of `run`.
static LogicalResult appendReduction(Operation *op, tlx::ReduceKind kind,
                                     mlir::Value source, int64_t dim,
                                     int64_t groups, int64_t run,
                                     ProgramBuilder &builder) {
  if (!builder.computesValues()) {
    return success();
  }
  Shape shape = getShape(source.getType());
  int64_t outer = 1, inner = 1, extent = shape[size_t(dim)];
  for (auto [i, size] : llvm::enumerate(shape)) {
    (int64_t(i) < dim ? outer : inner) *= int64_t(i) == dim ? 1 : size;
  }
  Shape result = getShape(op->getResult(0).getType());
  Slot from = builder.getSlot(source), to = builder.getSlot(op->getResult(0));
  builder.append(op, [=](Machine &, Task &task) {
    const Tile &in = *task[from].tile;
    TileRef out(new Tile(in.kind, result));
    auto group = [=](int64_t i) { return i / run % groups; };
    if (isReal(in.kind)) {
      reduceInto(kind, in.reals, out->reals, outer, extent, inner, groups,
                 group);
      for (float &value : out->reals) {
        value = roundTo(in.kind, value);
      }
    } else {
      reduceInto(kind, in.integers, out->integers, outer, extent, inner, groups,
                 group);
    }
    task[to].tile = std::move(out);
  });
  return success();
}

static LogicalResult buildReduce(tlx::ReduceOp op, ProgramBuilder &builder) {
  return appendReduction(op, op.getKind(), op.getSource(), op.getDim(), 1, 1,
                         builder);
}

static LogicalResult buildPartialReduce(tlx::PartialReduceOp op,
                                        ProgramBuilder &builder) {
  return appendReduction(op, op.getKind(), op.getSource(), op.getDim(),
                         op.getGroups(), op.getRun(), builder);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// For each element of a tile of shape `to`, the element of `from` that it
/// repeats.
static std::vector<int64_t> getRepeats(const Shape &from, const Shape &to) {
  auto count = size_t(getNumElements(to));
  std::vector<int64_t> repeats(count, 0);
  for (size_t i = 0; i < count; ++i) {
    int64_t rest = int64_t(i), stride = 1;
    for (size_t axis = to.size(); axis-- > 0;) {
      int64_t at = rest % to[axis];
      rest /= to[axis];
      repeats[i] += from[axis] == 1 ? 0 : at * stride;
      stride *= from[axis];
    }
  }
  return repeats;
}

static LogicalResult buildBroadcast(tlx::BroadcastOp op,
                                    ProgramBuilder &builder) {
  if (!builder.computesValues()) {
    return success();
  }
  Slot from = builder.getSlot(op.getSource());
  Slot to = builder.getSlot(op.getResult());
  Shape shape = getShape(op.getResult().getType());
  std::vector<int64_t> repeats =
      getRepeats(getShape(op.getSource().getType()), shape);
  builder.append(op, [=](Machine &, Task &task) {
    const Tile &in = *task[from].tile;
    TileRef out(new Tile(in.kind, shape));
    for (size_t i = 0; i < out->reals.size(); ++i) {
      out->reals[i] = in.reals[size_t(repeats[i])];
    }
    for (size_t i = 0; i < out->integers.size(); ++i) {
      out->integers[i] = in.integers[size_t(repeats[i])];
    }
    task[to].tile = std::move(out);
  });
  return success();
}

/// The same elements in another shape or with another layout.
template <typename Op>
static LogicalResult buildSameElements(Op op, ProgramBuilder &builder) {
  if (!builder.computesValues()) {
    return success();
  }
  Slot from = builder.getSlot(op.getSource());
  Slot to = builder.getSlot(op.getResult());
  Shape shape = getShape(op.getResult().getType());
  builder.append(op, [=](Machine &, Task &task) {
    TileRef out(new Tile(*task[from].tile));
    out->shape = shape;
    task[to].tile = std::move(out);
  });
  return success();
}

static LogicalResult buildIota(tlx::IotaOp op, ProgramBuilder &builder) {
  if (!builder.computesValues()) {
    return success();
  }
  Shape shape = getShape(op.getResult().getType());
  TileRef tile(new Tile(ElementKind::I32, shape));
  int64_t inner = 1;
  for (size_t axis = op.getDim() + 1; axis < shape.size(); ++axis) {
    inner *= shape[axis];
  }
  for (auto [i, value] : llvm::enumerate(tile->integers)) {
    value = int64_t(i) / inner % shape[op.getDim()];
  }
  Slot result = builder.getSlot(op.getResult());
  builder.append(op, [=](Machine &, Task &task) { task[result].tile = tile; });
  return success();
}

static LogicalResult buildPrefixMask(tlx::PrefixMaskOp op,
                                     ProgramBuilder &builder) {
  if (!builder.computesValues()) {
    return success();
  }
  Shape shape = getShape(op.getResult().getType());
  int64_t extent = shape[op.getDim()], inner = 1;
  for (size_t axis = op.getDim() + 1; axis < shape.size(); ++axis) {
    inner *= shape[axis];
  }
  Slot limit = builder.getSlot(op.getLimit());
  Slot result = builder.getSlot(op.getResult());
  builder.append(op, [=](Machine &, Task &task) {
    const std::vector<int64_t> &limits = task[limit].tile->integers;
    TileRef out(new Tile(ElementKind::I1, shape));
    for (size_t i = 0; i < out->integers.size(); ++i) {
      int64_t outer = int64_t(i) / inner / extent;
      int64_t at = int64_t(i) / inner % extent;
      int64_t place = outer * inner + int64_t(i) % inner;
      out->integers[i] = at < limits[size_t(place)];
    }
    task[result].tile = std::move(out);
  });
  return success();
}

static LogicalResult buildSplat(tlx::SplatOp op, ProgramBuilder &builder) {
  FailureOr<ElementKind> kind = getKind(op, op.getResult().getType());
  if (failed(kind)) {
    return failure();
  }
  if (!builder.computesValues()) {
    return success();
  }
  Slot scalar = builder.getSlot(op.getScalar());
  Slot result = builder.getSlot(op.getResult());
  Shape shape = getShape(op.getResult().getType());
  builder.append(op, [=, k = *kind](Machine &, Task &task) {
    TileRef out(new Tile(k, shape));
    std::fill(out->reals.begin(), out->reals.end(), task[scalar].real);
    std::fill(out->integers.begin(), out->integers.end(), task[scalar].integer);
    task[result].tile = std::move(out);
  });
  return success();
}

static LogicalResult buildInMaskedTail(tlx::InMaskedTailOp op,
                                       ProgramBuilder &builder) {
  Slot induction = builder.getSlot(op.getInduction());
  Slot first = builder.getSlot(op.getFirst());
  Slot masked = builder.getSlot(op.getMasked());
  builder.append(op, [=](Machine &, Task &task) {
    task[masked].integer = task[induction].integer >= task[first].integer;
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

namespace {
/// The elements that an op touches: one, or those of a tile.
struct Gather {
  Slot pointer, index;
  std::optional<Slot> mask;
  bool isTile;

  std::vector<int64_t> getIndices(Task &task) const {
    return isTile ? task[index].tile->integers
                  : std::vector<int64_t>{task[index].integer};
  }
  bool isActive(Task &task, size_t i) const {
    return !mask ||
           (isTile ? task[*mask].tile->integers[i] : task[*mask].integer);
  }
};
} // namespace

template <typename Op>
static Gather getGather(Op op, ProgramBuilder &builder) {
  Gather gather;
  gather.pointer = builder.getSlot(op.getPointer());
  gather.index = builder.getSlot(op.getIndex());
  if (op.getMask()) {
    gather.mask = builder.getSlot(op.getMask());
  }
  gather.isTile = isa<RankedTensorType>(op.getIndex().getType());
  return gather;
}

/// Records the accesses, in runs; returns whether each element may be touched.
static std::vector<bool> accessAll(Machine &machine, Task &task,
                                   const Gather &gather,
                                   const std::vector<int64_t> &indices,
                                   bool isWrite) {
  std::vector<bool> allowed(indices.size(), false);
  int64_t array = task[gather.pointer].integer;
  for (size_t i = 0; i < indices.size();) {
    if (!gather.isActive(task, i)) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < indices.size() && gather.isActive(task, end) &&
           indices[end] == indices[end - 1] + 1) {
      ++end;
    }
    bool isInside =
        machine.access(task, array, indices[i], indices[end - 1] + 1, isWrite);
    std::fill(allowed.begin() + int64_t(i), allowed.begin() + int64_t(end),
              isInside);
    i = end;
  }
  return allowed;
}

static LogicalResult buildGlobalLoad(tlx::GlobalLoadOp op,
                                     ProgramBuilder &builder) {
  Gather gather = getGather(op, builder);
  FailureOr<ElementKind> kind = getKind(op, op.getResult().getType());
  if (failed(kind)) {
    return failure();
  }
  if (gather.isTile && !builder.computesValues()) {
    return success();
  }
  std::optional<Slot> other;
  if (op.getOther()) {
    other = builder.getSlot(op.getOther());
  }
  Slot result = builder.getSlot(op.getResult());
  Shape shape = gather.isTile ? getShape(op.getResult().getType()) : Shape{1};
  builder.appendVisible(op, [=, k = *kind](Machine &machine, Task &task) {
    std::vector<int64_t> indices = gather.getIndices(task);
    std::vector<bool> allowed =
        accessAll(machine, task, gather, indices, /*isWrite=*/false);
    TileRef out(new Tile(k, shape));
    GlobalArray &array = machine.getArray(task[gather.pointer].integer);
    for (size_t i = 0; i < indices.size(); ++i) {
      if (allowed[i] && isReal(k)) {
        out->reals[i] = decodeReal(k, array.at(indices[i]));
      } else if (allowed[i]) {
        out->integers[i] = decodeInteger(k, array.at(indices[i]));
      } else if (other && isReal(k)) {
        const sim::Value &value = task[*other];
        out->reals[i] = value.tile ? value.tile->reals[i] : value.real;
      } else if (other) {
        const sim::Value &value = task[*other];
        out->integers[i] = value.tile ? value.tile->integers[i] : value.integer;
      }
    }
    sim::Value value;
    if (gather.isTile) {
      value.tile = std::move(out);
    } else if (isReal(k)) {
      value.real = out->reals[0];
    } else {
      value.integer = out->integers[0];
    }
    task[result] = std::move(value);
  });
  return success();
}

static LogicalResult buildGlobalStore(tlx::GlobalStoreOp op,
                                      ProgramBuilder &builder) {
  Gather gather = getGather(op, builder);
  FailureOr<ElementKind> kind = getKind(op, op.getValue().getType());
  if (failed(kind)) {
    return failure();
  }
  if (gather.isTile && !builder.computesValues()) {
    return success();
  }
  Slot value = builder.getSlot(op.getValue());
  builder.appendVisible(op, [=, k = *kind](Machine &machine, Task &task) {
    std::vector<int64_t> indices = gather.getIndices(task);
    std::vector<bool> allowed =
        accessAll(machine, task, gather, indices, /*isWrite=*/true);
    GlobalArray &array = machine.getArray(task[gather.pointer].integer);
    const sim::Value &from = task[value];
    for (size_t i = 0; i < indices.size(); ++i) {
      if (allowed[i] && isReal(k)) {
        encode(k, from.tile ? from.tile->reals[i] : from.real,
               array.at(indices[i]));
      } else if (allowed[i]) {
        encode(k, from.tile ? from.tile->integers[i] : from.integer,
               array.at(indices[i]));
      }
    }
  });
  return success();
}

/// Whether any element is true. Warps may differ in it; here the task has one
/// answer, which every warp may get. Where values are not known, what depends
/// on it is done.
static LogicalResult buildVoteAny(tlx::VoteAnyOp op, ProgramBuilder &builder) {
  Slot from = builder.getSlot(op.getSource());
  Slot to = builder.getSlot(op.getResult());
  builder.append(op, [=](Machine &machine, Task &task) {
    task[to].integer =
        !machine.computesValues() ||
        llvm::any_of(task[from].tile->integers, [](int64_t x) { return x; });
  });
  return success();
}

void sim::registerTileSemantics(MLIRContext *context) {
  using namespace tlx;
  attach<VoteAnyOp, buildVoteAny>(context);
  attach<ReduceOp, buildReduce>(context);
  attach<PartialReduceOp, buildPartialReduce>(context);
  attach<ExpandDimsOp, buildSameElements<ExpandDimsOp>>(context);
  attach<ConvertLayoutOp, buildSameElements<ConvertLayoutOp>>(context);
  attach<BroadcastOp, buildBroadcast>(context);
  attach<IotaOp, buildIota>(context);
  attach<PrefixMaskOp, buildPrefixMask>(context);
  attach<SplatOp, buildSplat>(context);
  attach<InMaskedTailOp, buildInMaskedTail>(context);
  attach<GlobalLoadOp, buildGlobalLoad>(context);
  attach<GlobalStoreOp, buildGlobalStore>(context);
}
