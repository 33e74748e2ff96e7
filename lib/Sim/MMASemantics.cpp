//===- MMASemantics.cpp - MMA family in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product reads its buffers and computes in one stage after its start; its
// tile is taken when it has been waited for.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

namespace {
/// One factor: a buffer, or a tile in registers.
struct Factor {
  Slot slot;
  std::optional<Geometry> geometry;
  int64_t rows = 0, columns = 0;

  bool isTransposed() const { return geometry && geometry->transposed; }
  View getView(const sim::Value &value) const {
    return sim::getView(*geometry, value);
  }
};
} // namespace

static FailureOr<Factor> getFactor(Operation *op, mlir::Value value,
                                   ProgramBuilder &builder) {
  Factor factor;
  factor.slot = builder.getSlot(value);
  auto buffer = dyn_cast<tlx::MemDescType>(value.getType());
  if (!buffer) {
    Shape shape = getShape(value.getType());
    factor.rows = shape[0];
    factor.columns = shape[1];
    return factor;
  }
  FailureOr<Geometry> geometry = getGeometry(op, buffer);
  if (failed(geometry)) {
    return failure();
  }
  factor.geometry = *geometry;
  factor.rows = geometry->rows;
  factor.columns = geometry->columns;
  if (geometry->transposed) {
    std::swap(factor.rows, factor.columns);
  }
  return factor;
}

/// The elements of a factor as they are stored. Reading them is an access.
static TileRef readFactor(const Factor &factor, const sim::Value &value,
                          Machine &machine, AsyncOp &op) {
  if (!factor.geometry) {
    return value.tile;
  }
  View view = factor.getView(value);
  Shape shape{factor.geometry->rows, factor.geometry->columns};
  bool isInside = machine.access(op, view, /*isWrite=*/false);
  if (!machine.computesValues()) {
    return nullptr;
  }
  return isInside ? machine.getShared(op).load(view, shape)
                  : TileRef(new Tile(factor.geometry->kind, shape));
}

static LogicalResult buildDot(tlx::AsyncDotOp op, ProgramBuilder &builder) {
  if (op.isInTensorMemory()) {
    return buildTensorDot(op, builder);
  }
  FailureOr<Factor> a = getFactor(op, op.getA(), builder);
  FailureOr<Factor> b = getFactor(op, op.getB(), builder);
  if (failed(a) || failed(b)) {
    return failure();
  }
  std::optional<Slot> c;
  if (op.getC()) {
    c = builder.getSlot(op.getC());
  }
  Slot result = builder.getSlot(op.getResult());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    sim::Value left = task[a->slot], right = task[b->slot];
    TileRef addend = c ? task[*c].tile : TileRef();
    auto product = [=](Machine &on, AsyncOp &self) {
      TileRef x = readFactor(*a, left, on, self);
      TileRef y = readFactor(*b, right, on, self);
      if (on.computesValues()) {
        self.result = multiply(*x, a->isTransposed(), *y, b->isTransposed(),
                               addend.get(), a->rows, a->columns, b->columns);
      }
    };
    task[result].product = machine.issue(task, Queue::Dots, {product});
  });
  return success();
}

static LogicalResult buildDotWait(tlx::AsyncDotWaitOp op,
                                  ProgramBuilder &builder) {
  unsigned pending = op.getPending();
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    Condition condition;
    condition.kind = Condition::Dots;
    condition.pending = pending;
    machine.wait(task, condition);
  });
  std::vector<Slot> products = builder.getSlots(op.getProducts());
  std::vector<Slot> tiles = builder.getSlots(op.getTiles());
  builder.append(op, [=](Machine &, Task &task) {
    for (auto [product, tile] : llvm::zip_equal(products, tiles)) {
      task[tile].tile = std::move(task[product].product->result);
      task[product].product = nullptr;
    }
  });
  return success();
}

void sim::registerMMASemantics(MLIRContext *context) {
  attach<tlx::AsyncDotOp, buildDot>(context);
  attach<tlx::AsyncDotWaitOp, buildDotWait>(context);
}
