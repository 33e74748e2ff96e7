//===- ClusterToNVVM.cpp - Lowering of the Cluster family -------*- C++ -*-===//
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

/// The address space of `shared::cluster`.
static constexpr unsigned kSharedClusterSpace = 7;

namespace {
struct ClusterRankLowering : public LoweringPattern<ClusterRankOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(ClusterRankOp, Adaptor, LoweringBuilder &b) const override {
    Value rank = b.create<NVVM::ClusterId>(b.builder.getI32Type());
    return SmallVector<Value>{rank};
  }
};

struct ClusterArriveLowering : public LoweringPattern<ClusterArriveOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(ClusterArriveOp op, Adaptor,
                    LoweringBuilder &b) const override {
    if (!getEnclosingTask(op)) {
      // The thread that has initialised the barriers makes that known.
      b.guarded(b.equals(b.threadId(), 0),
                [&] { b.create<NVVM::FenceMbarrierInitOp>(); });
    }
    b.create<NVVM::ClusterArriveOp>(b.builder.getUnitAttr());
    return SmallVector<Value>();
  }
};

struct ClusterWaitLowering : public LoweringPattern<ClusterWaitOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(ClusterWaitOp, Adaptor, LoweringBuilder &b) const override {
    b.create<NVVM::ClusterWaitOp>(b.builder.getUnitAttr());
    return SmallVector<Value>();
  }
};

/// Thread r arrives at the barrier of rank r.
struct RemoteBarrierArriveLowering
    : public TaskLoweringPattern<RemoteBarrierArriveOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(RemoteBarrierArriveOp op, Adaptor adaptor,
                    LoweringBuilder &b,
                    const TaskThreads &task) const override {
    auto kernel = op->getParentOfType<KernelOp>();
    int64_t size = kernel.getClusterSize().value_or(1);
    TaskThreads arriving = getArrivingThreads(op, task);
    b.syncTask(arriving);
    Value address = b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex());
    Value rank = b.threadInTask(arriving);
    Value exists =
        b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, rank, b.i32(size));
    b.guarded(b.create<arith::AndIOp>(exists, isNamed(b, adaptor, rank)), [&] {
      auto pointer =
          LLVM::LLVMPointerType::get(op.getContext(), kSharedClusterSpace);
      Value remote =
          b.create<NVVM::MapaOp>(pointer, b.sharedPointer(address), rank);
      b.create<NVVM::MBarrierArriveOp>(Type(), remote, Value());
    });
    return SmallVector<Value>();
  }

private:
  /// Whether the mask has the bit of `rank`, of which it looks at the bits that
  /// a rank has: shifting by more is undefined.
  static Value isNamed(LoweringBuilder &b, Adaptor adaptor, Value rank) {
    Value low = b.create<arith::AndIOp>(rank, b.i32(7));
    Value bit = b.create<arith::ShRUIOp>(adaptor.getMask(), low);
    return b.create<arith::TruncIOp>(b.builder.getI1Type(), bit);
  }
};

struct ClcTryCancelLowering : public TaskLoweringPattern<ClcTryCancelOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(ClcTryCancelOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    Value barrier = b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex());
    b.elected(task, [&] {
      b.create<NVVM::ClusterLaunchControlTryCancelOp>(
          op.getMulticast(), b.sharedPointer(adaptor.getResponse()),
          b.sharedPointer(barrier));
    });
    return SmallVector<Value>();
  }
};

struct ClcQueryLowering : public LoweringPattern<ClcQueryOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(ClcQueryOp, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    using Query = NVVM::ClusterLaunchControlQueryType;
    Value response = b.create<LLVM::LoadOp>(
        b.builder.getIntegerType(128), b.sharedPointer(adaptor.getResponse()),
        /*alignment=*/16, /*isVolatile=*/true);
    Value isCanceled = b.create<NVVM::ClusterLaunchControlQueryCancelOp>(
        b.builder.getI1Type(), Query::IS_CANCELED, response);
    return SmallVector<Value>{isCanceled, buildFirstCta(b, response)};
  }
};

struct AsyncRemoteCopyLowering : public TaskLoweringPattern<AsyncRemoteCopyOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncRemoteCopyOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    FailureOr<int64_t> bytes = op.getSource().getType().getSizeInBytes();
    if (failed(bytes)) {
      return failure();
    }
    Value barrier = b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex());
    b.elected(task, [&] {
      auto pointer =
          LLVM::LLVMPointerType::get(op.getContext(), kSharedClusterSpace);
      auto inCta = [&](Value address) -> Value {
        return b.create<NVVM::MapaOp>(pointer, b.sharedPointer(address),
                                      adaptor.getRank());
      };
      // The op takes the barrier's address as one of shared memory, which one
      // of the cluster is as well.
      Value signalled =
          b.create<LLVM::PtrToIntOp>(b.builder.getI32Type(), inCta(barrier));
      b.create<NVVM::CpAsyncBulkSharedCTAToSharedClusterOp>(
          inCta(adaptor.getDestination()), b.sharedPointer(adaptor.getSource()),
          b.sharedPointer(signalled), b.i32(*bytes));
    });
    return SmallVector<Value>();
  }
};
} // namespace

void tlx::populateClusterToNVVMPatterns(const TLXTypeConverter &converter,
                                        RewritePatternSet &patterns) {
  patterns.add<ClusterRankLowering, ClusterArriveLowering, ClusterWaitLowering,
               RemoteBarrierArriveLowering, ClcTryCancelLowering,
               ClcQueryLowering, AsyncRemoteCopyLowering>(
      converter, patterns.getContext());
}
