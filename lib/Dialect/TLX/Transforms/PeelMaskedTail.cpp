//===- PeelMaskedTail.cpp - Split loops where masks begin -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inner loops are split before outer ones, so that an outer loop copies inner
// loops that are split already. What no split resolves becomes a comparison:
// after this pass there is no `tlx.in_masked_tail`.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_PEELMASKEDTAILPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa::tlx;

// A loop with n different `first`s becomes up to 2^n loops.
static constexpr unsigned kMaxSplits = 3;

/// The ops in `loop` that ask about its induction variable and this `first`, or
/// about any `first` from outside the loop if it is null.
static SmallVector<InMaskedTailOp> getTailOps(scf::ForOp loop, Value first) {
  SmallVector<InMaskedTailOp> ops;
  if (loop.getUnsignedCmp()) {
    return ops;
  }
  loop.getBody()->walk([&](InMaskedTailOp op) {
    bool isSplit = first ? op.getFirst() == first
                         : loop.isDefinedOutsideOfLoop(op.getFirst());
    if (op.getInduction() == loop.getInductionVar() && isSplit) {
      ops.push_back(op);
    }
  });
  return ops;
}

/// The induction value of the first iteration at or after `first`, or the upper
/// bound if there is none.
static Value createSplit(OpBuilder &builder, scf::ForOp loop, Value first) {
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), step = loop.getStep();
  Value from = arith::MaxSIOp::create(builder, loc, lower, first);
  Value split =
      arith::MinSIOp::create(builder, loc, loop.getUpperBound(), from);
  if (getConstantIntValue(step) == 1) {
    return split;
  }
  Value distance = arith::SubIOp::create(builder, loc, split, lower);
  Value count = arith::CeilDivSIOp::create(builder, loc, distance, step);
  Value rounded = arith::MulIOp::create(builder, loc, count, step);
  return arith::AddIOp::create(builder, loc, lower, rounded);
}

static void resolve(RewriterBase &rewriter, scf::ForOp loop, Value first,
                    bool isMasked) {
  for (InMaskedTailOp op : getTailOps(loop, first)) {
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getBoolAttr(isMasked));
  }
}

/// Makes `loop` the iterations before `first` and returns the loop of the rest.
static scf::ForOp splitLoop(RewriterBase &rewriter, scf::ForOp loop,
                            Value first) {
  rewriter.setInsertionPoint(loop);
  Value split = createSplit(rewriter, loop, first);
  rewriter.setInsertionPointAfter(loop);
  auto tail = cast<scf::ForOp>(rewriter.clone(*loop));
  rewriter.replaceAllUsesWith(loop.getResults(), tail.getResults());
  rewriter.modifyOpInPlace(tail, [&] {
    tail.getLowerBoundMutable().assign(split);
    tail.getInitArgsMutable().assign(loop.getResults());
  });
  rewriter.modifyOpInPlace(loop,
                           [&] { loop.getUpperBoundMutable().assign(split); });
  resolve(rewriter, loop, first, /*isMasked=*/false);
  resolve(rewriter, tail, first, /*isMasked=*/true);
  return tail;
}

static bool peel(RewriterBase &rewriter, scf::ForOp loop, unsigned splits) {
  SmallVector<InMaskedTailOp> ops = getTailOps(loop, /*first=*/{});
  if (ops.empty() || splits == kMaxSplits) {
    return false;
  }
  scf::ForOp tail = splitLoop(rewriter, loop, ops.front().getFirst());
  peel(rewriter, loop, splits + 1);
  peel(rewriter, tail, splits + 1);
  return true;
}

bool mlir::jfa::tlx::peelMaskedTail(RewriterBase &rewriter, scf::ForOp loop) {
  return peel(rewriter, loop, /*splits=*/0);
}

/// Compares in every iteration what no loop could be split at.
static void lowerLeftover(RewriterBase &rewriter, InMaskedTailOp op) {
  remark::missed(op.getLoc(),
                 remark::RemarkOpts::name("PeelMaskedTail").category("tile"))
      << "every iteration compares for its mask: expected the induction "
         "variable of a loop around it, a first masked iteration defined "
         "outside that loop, and at most 3 of them in a loop";
  rewriter.setInsertionPoint(op);
  rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, arith::CmpIPredicate::sge,
                                             op.getInduction(), op.getFirst());
}

namespace {
struct PeelMaskedTail
    : public mlir::jfa::tlx::impl::PeelMaskedTailPassBase<PeelMaskedTail> {
  using PeelMaskedTailPassBase::PeelMaskedTailPassBase;

  void runOnOperation() final {
    IRRewriter rewriter(&getContext());
    // Post-order, so inner loops first.
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      peelMaskedTail(rewriter, loop);
    }
    SmallVector<InMaskedTailOp> leftovers;
    getOperation().walk([&](InMaskedTailOp op) { leftovers.push_back(op); });
    for (InMaskedTailOp op : leftovers) {
      lowerLeftover(rewriter, op);
    }
  }
};
} // namespace
