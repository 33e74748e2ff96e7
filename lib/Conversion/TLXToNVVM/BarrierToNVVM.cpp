//===- BarrierToNVVM.cpp - Lowering of the Barrier family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Bytes of an mbarrier (PTX ISA 9.7.13.15.1).
static constexpr int64_t kBarrierBytes = 8;

/// Marks arrivals that each warp makes for itself.
static constexpr StringLiteral kPerWarp = "tlx.per_warp";

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

/// The warps of the tasks that arrive at `barrier`, if they all have as many
/// and every arrival is such a task's.
static std::optional<int64_t>
getArrivingWarps(Value barrier, SmallVectorImpl<Operation *> &ops) {
  std::optional<int64_t> warps;
  for (Operation *user : barrier.getUsers()) {
    auto barrierOp = dyn_cast<BarrierOpInterface>(user);
    if (!barrierOp) {
      return std::nullopt;
    }
    SmallVector<BarrierUse> uses;
    barrierOp.getBarrierUses(uses);
    for (const BarrierUse &use : uses) {
      if (use.barrier != barrier || use.action == BarrierAction::Wait ||
          use.action == BarrierAction::Deliver) {
        continue;
      }
      AsyncTaskOp task = getEnclosingTask(user);
      if (use.action != BarrierAction::Arrive || !task ||
          (warps && *warps != task.getNumWarps())) {
        return std::nullopt;
      }
      warps = task.getNumWarps();
      ops.push_back(user);
    }
  }
  return warps;
}

void tlx::prepareBarriers(KernelOp kernel) {
  kernel.walk([](AllocBarriersOp alloc) {
    SmallVector<Operation *> arrivals;
    std::optional<int64_t> warps =
        getArrivingWarps(alloc.getBarrier(), arrivals);
    std::optional<int64_t> count = alloc.getArrivals().getConstant();
    if (!warps || !count) {
      return;
    }
    // An arrival of each warp needs no synchronisation between the warps.
    MLIRContext *context = alloc.getContext();
    alloc.setArrivalsAttr(ExprAttr::get(context, *count * *warps));
    for (Operation *op : arrivals) {
      op->setDiscardableAttr(kPerWarp, UnitAttr::get(context));
    }
  });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

static Value barrierAddress(LoweringBuilder &b, Value array, Value index) {
  return index ? b.add(array, b.mulConstant(index, kBarrierBytes)) : array;
}

namespace {
struct AllocBarriersLowering : public OpConversionPattern<AllocBarriersOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AllocBarriersOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    std::optional<int64_t> count =
        op.getBarrier().getType().getCount().getConstant();
    std::optional<int64_t> arrivals = op.getArrivals().getConstant();
    if (!op.getOffset() || !count || !arrivals) {
      return op.emitOpError("expected an offset and bound parameters; run "
                            "tlx-specialize and tlx-allocate-memory first");
    }
    LoweringBuilder b(rewriter, op.getLoc());
    Value base = b.sharedAddress(op, *op.getOffset());
    b.guarded(b.equals(b.threadId(), 0), [&] {
      for (int64_t i = 0; i < *count; ++i) {
        Value address = b.addConstant(base, i * kBarrierBytes);
        b.create<NVVM::MBarrierInitOp>(b.sharedPointer(address),
                                       b.i32(*arrivals), Value());
      }
    });
    rewriter.replaceOp(op, base);
    return success();
  }
};

struct BarrierExpectBytesLowering
    : public OpConversionPattern<BarrierExpectBytesOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BarrierExpectBytesOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<TaskThreads> task = getTaskThreads(op);
    FailureOr<int64_t> bytes = op.getExpectedBytes();
    if (failed(task) || failed(bytes)) {
      return failure();
    }
    LoweringBuilder b(rewriter, op.getLoc());
    Value address = barrierAddress(b, adaptor.getBarrier(), adaptor.getIndex());
    b.guarded(b.isLeader(*task), [&] {
      b.create<NVVM::MBarrierArriveExpectTxOp>(
          Type(), b.sharedPointer(address), b.i32(*bytes),
          NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct BarrierWaitLowering : public OpConversionPattern<BarrierWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BarrierWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoweringBuilder b(rewriter, op.getLoc());
    Value parity = adaptor.getPhase();
    if (op.getProducer()) {
      parity = b.create<arith::XOrIOp>(parity, b.i32(1));
    }
    buildBarrierWait(
        b, barrierAddress(b, adaptor.getBarrier(), adaptor.getIndex()), parity);
    rewriter.eraseOp(op);
    return success();
  }
};

struct BarrierArriveLowering : public OpConversionPattern<BarrierArriveOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BarrierArriveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<TaskThreads> task = getTaskThreads(op);
    if (failed(task)) {
      return failure();
    }
    LoweringBuilder b(rewriter, op.getLoc());
    bool perWarp = op->hasAttr(kPerWarp);
    TaskThreads arriving = *task;
    if (perWarp) {
      arriving = {0, 32, 1, 0};
    }
    b.syncTask(arriving);
    Value address = barrierAddress(b, adaptor.getBarrier(), adaptor.getIndex());
    b.guarded(b.isLeader(arriving), [&] {
      b.create<NVVM::MBarrierArriveOp>(Type(), b.sharedPointer(address),
                                       Value());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

struct NamedBarrierWaitLowering
    : public OpConversionPattern<NamedBarrierWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(NamedBarrierWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoweringBuilder b(rewriter, op.getLoc());
    Value threads = b.i32(*op.getThreads().getConstant());
    b.create<NVVM::BarrierOp>(Type(), adaptor.getId(), threads,
                              NVVM::BarrierReductionAttr(), Value());
    rewriter.eraseOp(op);
    return success();
  }
};

struct NamedBarrierArriveLowering
    : public OpConversionPattern<NamedBarrierArriveOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(NamedBarrierArriveOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoweringBuilder b(rewriter, op.getLoc());
    Value threads = b.i32(*op.getThreads().getConstant());
    b.create<NVVM::BarrierArriveOp>(adaptor.getId(), threads);
    rewriter.eraseOp(op);
    return success();
  }
};

struct RingLowering : public OpConversionPattern<RingOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(RingOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoweringBuilder b(rewriter, op.getLoc());
    int64_t stages = *op.getStages().getConstant();
    Value slot = b.remConstant(adaptor.getCount(), stages);
    Value phase = b.remConstant(b.divConstant(adaptor.getCount(), stages), 2);
    rewriter.replaceOp(op, {slot, phase});
    return success();
  }
};
} // namespace

void tlx::populateBarrierToNVVMPatterns(const TLXTypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns
      .add<AllocBarriersLowering, BarrierExpectBytesLowering,
           BarrierWaitLowering, BarrierArriveLowering, NamedBarrierWaitLowering,
           NamedBarrierArriveLowering, RingLowering>(converter,
                                                     patterns.getContext());
}
