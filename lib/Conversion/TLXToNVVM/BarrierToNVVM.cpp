//===- BarrierToNVVM.cpp - Lowering of the Barrier family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringPattern.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

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

TaskThreads tlx::getArrivingThreads(Operation *op, const TaskThreads &task) {
  return op->hasAttr(kPerWarp) ? TaskThreads{0, 32, 1, 0} : task;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
struct AllocBarriersLowering : public LoweringPattern<AllocBarriersOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(AllocBarriersOp op, Adaptor,
                    LoweringBuilder &b) const override {
    std::optional<int64_t> count =
        op.getBarrier().getType().getCount().getConstant();
    std::optional<int64_t> arrivals = op.getArrivals().getConstant();
    if (!op.getOffset() || !count || !arrivals) {
      return op.emitOpError("expected an offset and bound parameters; run "
                            "tlx-specialize and tlx-allocate-memory first");
    }
    Value base = b.sharedAddress(*op.getOffset());
    b.guarded(b.equals(b.threadId(), 0), [&] {
      for (int64_t i = 0; i < *count; ++i) {
        Value address = b.addConstant(base, i * kBarrierBytes);
        b.create<NVVM::MBarrierInitOp>(b.sharedPointer(address),
                                       b.i32(*arrivals), Value());
      }
    });
    return SmallVector<Value>{base};
  }
};

struct BarrierExpectBytesLowering
    : public TaskLoweringPattern<BarrierExpectBytesOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(BarrierExpectBytesOp op, Adaptor adaptor,
                    LoweringBuilder &b,
                    const TaskThreads &task) const override {
    FailureOr<int64_t> bytes = op.getExpectedBytes();
    if (failed(bytes)) {
      return failure();
    }
    Value address = b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex());
    b.guarded(b.isLeader(task), [&] {
      b.create<NVVM::MBarrierArriveExpectTxOp>(
          Type(), b.sharedPointer(address), b.i32(*bytes),
          NVVM::MemScopeKind::CTA, /*relaxed=*/false, /*predicate=*/Value());
    });
    return SmallVector<Value>();
  }
};

struct BarrierWaitLowering : public LoweringPattern<BarrierWaitOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(BarrierWaitOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    Value parity = adaptor.getPhase();
    if (op.getProducer()) {
      parity = b.create<arith::XOrIOp>(parity, b.i32(1));
    }
    buildBarrierWait(
        b, b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex()), parity);
    return SmallVector<Value>();
  }
};

struct BarrierArriveLowering : public TaskLoweringPattern<BarrierArriveOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(BarrierArriveOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    TaskThreads arriving = getArrivingThreads(op, task);
    b.syncTask(arriving);
    Value address = b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex());
    b.guarded(b.isLeader(arriving), [&] {
      b.create<NVVM::MBarrierArriveOp>(Type(), b.sharedPointer(address),
                                       Value());
    });
    return SmallVector<Value>();
  }
};

struct NamedBarrierWaitLowering : public LoweringPattern<NamedBarrierWaitOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(NamedBarrierWaitOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    Value threads = b.i32(*op.getThreads().getConstant());
    b.create<NVVM::BarrierOp>(Type(), adaptor.getId(), threads,
                              NVVM::BarrierReductionAttr(), Value());
    return SmallVector<Value>();
  }
};

struct NamedBarrierArriveLowering
    : public LoweringPattern<NamedBarrierArriveOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(NamedBarrierArriveOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    Value threads = b.i32(*op.getThreads().getConstant());
    b.create<NVVM::BarrierArriveOp>(adaptor.getId(), threads);
    return SmallVector<Value>();
  }
};

struct RingLowering : public LoweringPattern<RingOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(RingOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    int64_t stages = *op.getStages().getConstant();
    Value slot = b.remConstant(adaptor.getCount(), stages);
    Value phase = b.remConstant(b.divConstant(adaptor.getCount(), stages), 2);
    return SmallVector<Value>{slot, phase};
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
