//===- Unroll.cpp - Unroll the loops marked with tlx.unroll -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transformation is upstream's; here is what it takes for granted: legal
// factors, and loops whose upper bound is not below the lower one. Loops that
// end after their first pass, for which upstream has nothing, are inlined.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_UNROLLPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa::tlx;

static constexpr StringLiteral kUnrollAttr = "tlx.unroll";
static constexpr int64_t kMaxFactor = 64;

/// An integer, or what `tlx-specialize` leaves of an expression.
static std::optional<int64_t> getFactor(Attribute attr) {
  if (auto integer = dyn_cast<IntegerAttr>(attr)) {
    return integer.getValue().trySExtValue();
  }
  auto expr = dyn_cast<ExprAttr>(attr);
  return expr ? expr.getConstant() : std::nullopt;
}

static LogicalResult verifyMark(Operation *op, Attribute attr) {
  if (!isa<scf::ForOp>(op)) {
    return op->emitOpError("expected '")
           << kUnrollAttr << "' to be on an 'scf.for'";
  }
  std::optional<int64_t> factor = getFactor(attr);
  if (!factor || *factor < 1 || *factor > kMaxFactor) {
    return op->emitOpError("expected '")
           << kUnrollAttr << "' to be an integer from 1 to " << kMaxFactor
           << ", but got " << attr;
  }
  return success();
}

/// An empty loop may have its bounds in any order; unrolling computes with the
/// unsigned distance between them.
static void orderBounds(scf::ForOp loop) {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  if (getConstantIntValue(lower) && getConstantIntValue(upper)) {
    return;
  }
  OpBuilder builder(loop);
  Value ordered =
      loop.getUnsignedCmp()
          ? Value(arith::MaxUIOp::create(builder, loop.getLoc(), lower, upper))
          : arith::MaxSIOp::create(builder, loop.getLoc(), lower, upper);
  loop.getUpperBoundMutable().assign(ordered);
}

static LogicalResult unroll(scf::ForOp loop) {
  int64_t factor = *getFactor(loop->removeAttr(kUnrollAttr));
  // Of a shorter loop nothing but the copies shall be left.
  if (std::optional<APInt> trips = loop.getStaticTripCount()) {
    factor = std::min(factor, trips->getSExtValue());
  }
  if (factor <= 1) {
    return success();
  }
  orderBounds(loop);
  if (failed(loopUnrollByFactor(loop, factor))) {
    return loop.emitOpError("expected a loop that can be unrolled ")
           << factor
           << " times: bounds and a positive step that do not overflow";
  }
  return success();
}

/// Puts the body of a loop that is never run again in its place. A parameter
/// that switches a loop off leaves such ones.
static void inlineSinglePass(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  if (!matchPattern(condition.getCondition(), m_Zero())) {
    return;
  }
  IRRewriter rewriter(loop);
  rewriter.inlineBlockBefore(loop.getBeforeBody(), loop, loop.getInits());
  auto results = llvm::to_vector(condition.getArgs());
  rewriter.eraseOp(condition);
  rewriter.replaceOp(loop, results);
}

namespace {
struct Unroll : public mlir::jfa::tlx::impl::UnrollPassBase<Unroll> {
  using UnrollPassBase::UnrollPassBase;

  void runOnOperation() final {
    // Post-order, so inner loops first.
    SmallVector<scf::ForOp> loops;
    WalkResult walk = getOperation().walk([&](Operation *op) {
      Attribute attr = op->getDiscardableAttr(kUnrollAttr);
      if (!attr) {
        return WalkResult::advance();
      }
      if (failed(verifyMark(op, attr))) {
        return WalkResult::interrupt();
      }
      loops.push_back(cast<scf::ForOp>(op));
      return WalkResult::advance();
    });
    if (walk.wasInterrupted() || llvm::any_of(loops, [](scf::ForOp loop) {
          return failed(unroll(loop));
        })) {
      return signalPassFailure();
    }
    SmallVector<scf::WhileOp> repeated;
    getOperation().walk([&](scf::WhileOp loop) { repeated.push_back(loop); });
    llvm::for_each(repeated, inlineSinglePass);
  }
};
} // namespace
