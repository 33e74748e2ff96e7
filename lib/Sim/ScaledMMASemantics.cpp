//===- ScaledMMASemantics.cpp - Products of scaled blocks -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of scaled blocks and the copies of their scales take their turns in
// the queue of products in tensor memory. Factors are multiplied by their
// scales before the product, which rounds nothing.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

using tlx::AsyncDotScaledOp;
using tlx::kScaleColumns;
using tlx::kScaleLanes;

//===----------------------------------------------------------------------===//
// Copies of scales
//===----------------------------------------------------------------------===//

/// Blocks of 128 cells side by side, each in 4 columns and four times over.
static TileRef spread(const Tile &cells, int64_t columns) {
  TileRef tile(new Tile(ElementKind::I32, {TensorMemory::kLanes, columns}));
  for (int64_t lane = 0; lane < TensorMemory::kLanes; ++lane) {
    for (int64_t column = 0; column < columns; ++column) {
      int64_t block = column / kScaleColumns;
      int64_t cell = block * TensorMemory::kLanes +
                     lane % kScaleLanes * kScaleColumns +
                     column % kScaleColumns;
      tile->integers[size_t(lane * columns + column)] =
          cells.integers[size_t(cell)];
    }
  }
  return tile;
}

static LogicalResult buildTmemCopy(tlx::TmemCopyOp op,
                                   ProgramBuilder &builder) {
  FailureOr<Geometry> from = getGeometry(op, op.getSource().getType());
  FailureOr<TensorView> to = getTensorTile(op, op.getDestination().getType());
  if (failed(from) || failed(to)) {
    return failure();
  }
  Slot source = builder.getSlot(op.getSource());
  Slot destination = builder.getSlot(op.getDestination());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    View view = getView(*from, task[source]);
    TensorView target = getView(*to, task[destination]);
    auto copy = [=](Machine &on, AsyncOp &self) {
      TileRef cells = readShared(on, self, view);
      if (on.access(self, target, /*isWrite=*/true) && on.computesValues()) {
        on.getTensor(self).store(target, *spread(*cells, target.columns));
      }
    };
    task.tensorDot = machine.issue(task, Queue::TensorDots, {copy});
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// 2^(byte - 127), or not a number: ue8m0 (PTX ISA 5.2.3).
static float decodeScale(int64_t byte) {
  return byte == 0xFF ? std::numeric_limits<float>::quiet_NaN()
                      : std::ldexp(1.0f, int(byte) - 127);
}

/// The elements of a factor in rows along K, times their scales.
static TileRef scale(const Tile &factor, const Tile &scales) {
  int64_t rows = factor.shape[0], depth = factor.shape[1];
  int64_t columns = scales.shape[1];
  int64_t ofGroup =
      kScaleColumns * llvm::divideCeil(rows, TensorMemory::kLanes);
  TileRef result(new Tile(ElementKind::F32, factor.shape));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < depth; ++k) {
      int64_t block = k / AsyncDotScaledOp::kBlock;
      int64_t column =
          row / kScaleLanes + block / AsyncDotScaledOp::kScalesInCell * ofGroup;
      int64_t cell =
          scales.integers[size_t(row % kScaleLanes * columns + column)];
      int64_t byte = cell >> 8 * (block % AsyncDotScaledOp::kScalesInCell);
      auto at = size_t(row * depth + k);
      result->reals[at] = factor.reals[at] * decodeScale(byte & 0xFF);
    }
  }
  return result;
}

namespace {
struct ScaledProduct {
  Slot a, b, aScale, bScale, sums;
  std::optional<Slot> accumulate;
  Geometry aTile, bTile;
  TensorView aScales, bScales, sumsTile;
  tlx::AsyncDotOp::Extents extents;
};
} // namespace

static FailureOr<ScaledProduct> getProduct(AsyncDotScaledOp op,
                                           ProgramBuilder &builder) {
  FailureOr<Geometry> a = getGeometry(op, op.getA().getType());
  FailureOr<Geometry> b = getGeometry(op, op.getB().getType());
  FailureOr<TensorView> aScales = getTensorTile(op, op.getAScale().getType());
  FailureOr<TensorView> bScales = getTensorTile(op, op.getBScale().getType());
  FailureOr<TensorView> sums = getTensorTile(op, op.getC().getType());
  if (failed(a) || failed(b) || failed(aScales) || failed(bScales) ||
      failed(sums)) {
    return failure();
  }
  ScaledProduct product{builder.getSlot(op.getA()),
                        builder.getSlot(op.getB()),
                        builder.getSlot(op.getAScale()),
                        builder.getSlot(op.getBScale()),
                        builder.getSlot(op.getC()),
                        std::nullopt,
                        *a,
                        *b,
                        *aScales,
                        *bScales,
                        *sums,
                        op.getExtents()};
  if (op.getAccumulate()) {
    product.accumulate = builder.getSlot(op.getAccumulate());
  }
  return product;
}

static LogicalResult buildScaledDot(AsyncDotScaledOp op,
                                    ProgramBuilder &builder) {
  FailureOr<ScaledProduct> product = getProduct(op, builder);
  if (failed(product)) {
    return failure();
  }
  builder.appendVisible(op, [p = *product](Machine &machine, Task &task) {
    View left = getView(p.aTile, task[p.a]),
         right = getView(p.bTile, task[p.b]);
    TensorView leftScale = getView(p.aScales, task[p.aScale]);
    TensorView rightScale = getView(p.bScales, task[p.bScale]);
    TensorView sums = getView(p.sumsTile, task[p.sums]);
    bool adds = p.accumulate && (task[*p.accumulate].integer & 1) != 0;
    auto compute = [=](Machine &on, AsyncOp &self) {
      TileRef a = readShared(on, self, left), b = readShared(on, self, right);
      TileRef sa = readTensor(on, self, leftScale);
      TileRef sb = readTensor(on, self, rightScale);
      TileRef c = adds ? readTensor(on, self, sums) : nullptr;
      if (on.access(self, sums, /*isWrite=*/true) && on.computesValues()) {
        on.getTensor(self).store(
            sums, *multiply(*scale(*a, *sa), /*transposeA=*/false,
                            *scale(*b, *sb), /*transposeB=*/true, c.get(),
                            p.extents.m, p.extents.k, p.extents.n));
      }
    };
    task.tensorDot = machine.issue(task, Queue::TensorDots, {compute});
  });
  return success();
}

void sim::registerScaledMMASemantics(MLIRContext *context) {
  attach<AsyncDotScaledOp, buildScaledDot>(context);
  attach<tlx::TmemCopyOp, buildTmemCopy>(context);
}
