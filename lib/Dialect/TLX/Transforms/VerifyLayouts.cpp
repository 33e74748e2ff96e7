//===- VerifyLayouts.cpp - Check that the layouts agree ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks what tlx-assign-layouts establishes and what the lowering relies on.
//
//===----------------------------------------------------------------------===//

#include "LayoutPropagation.h"
#include "jfa/Dialect/TLX/Transforms/Passes.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_VERIFYLAYOUTSPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

static LayoutAttr layoutOf(Value value) { return getLayout(value.getType()); }

/// Checks that each tile has a layout for this many threads.
static LogicalResult verifyTiles(ValueRange values, int64_t threads) {
  for (Value value : values) {
    if (!getTileType(value.getType())) {
      continue;
    }
    LayoutAttr layout = layoutOf(value);
    if (!layout) {
      return emitError(value.getLoc(),
                       "expected a tile with a layout, but got ")
             << value.getType();
    }
    if (layout.getNumThreads() != threads) {
      return emitError(value.getLoc(), "expected a layout for the task's ")
             << threads << " threads, but got one for "
             << layout.getNumThreads() << ": " << layout;
    }
  }
  return success();
}

static LogicalResult verifyOperands(Operation *op, int64_t threads) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!getTileType(operand.get().getType())) {
      continue;
    }
    LayoutAttr needed = getNeededLayout(operand, threads, layoutOf);
    if (needed && needed != layoutOf(operand.get())) {
      return op->emitOpError("expected operand ")
             << operand.getOperandNumber() << " in layout " << needed
             << ", but got " << layoutOf(operand.get());
    }
  }
  return success();
}

/// Whether a result's layout may be any: nothing relates it to an operand's.
static bool isFree(TileOpInterface op, OpResult result, int64_t threads) {
  if (isa<ConvertLayoutOp>(op)) {
    return true;
  }
  bool related = false, hasTiles = false;
  for (OpOperand &operand : op->getOpOperands()) {
    hasTiles |= bool(getTileType(operand.get().getType()));
    related |= bool(getNeededLayout(operand, threads, layoutOf));
  }
  return related || !hasTiles;
}

static LogicalResult verifyResults(TileOpInterface op, int64_t threads) {
  for (OpResult result : op->getResults()) {
    if (!getTileType(result.getType())) {
      continue;
    }
    LayoutAttr natural = getNaturalLayout(result, threads, layoutOf);
    if (natural && natural != layoutOf(result)) {
      return op->emitOpError("expected result ")
             << result.getResultNumber() << " in layout " << natural
             << ", but got " << layoutOf(result);
    }
    if (!natural && !isFree(op, result, threads)) {
      Value source = op->getOperand(0);
      InFlightDiagnostic diag =
          op->emitOpError("expected an operand in a layout from which that of "
                          "the result follows, but got ")
          << layoutOf(source);
      diag.attachNote(source.getLoc()) << "the operand is made here";
      return diag;
    }
  }
  return success();
}

LogicalResult tlx::verifyLayouts(AsyncTaskOp task) {
  int64_t threads = task.getNumWarps() * 32;
  WalkResult walk =
      task.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
        if (failed(verifyTiles(op->getResults(), threads)) ||
            failed(verifyOperands(op, threads))) {
          return WalkResult::interrupt();
        }
        for (Region &region : op->getRegions()) {
          if (failed(verifyTiles(region.getArguments(), threads))) {
            return WalkResult::interrupt();
          }
        }
        auto tileOp = dyn_cast<TileOpInterface>(op);
        return WalkResult(tileOp ? verifyResults(tileOp, threads) : success());
      });
  return failure(walk.wasInterrupted());
}

namespace {
struct VerifyLayoutsPass
    : public tlx::impl::VerifyLayoutsPassBase<VerifyLayoutsPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk(
        [](AsyncTaskOp task) { return WalkResult(verifyLayouts(task)); });
    if (walk.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
