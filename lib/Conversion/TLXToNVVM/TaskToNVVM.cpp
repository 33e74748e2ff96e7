//===- TaskToNVVM.cpp - Lowering of the Task family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ops inside tasks. The tasks themselves and the kernel are lowered last
// (KernelToLLVM.cpp), since the other families ask which task they are in.
//
//===----------------------------------------------------------------------===//

#include "LoweringBuilder.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

namespace {
struct ReplicaIdLowering : public OpConversionPattern<AsyncTaskReplicaIdOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncTaskReplicaIdOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<TaskThreads> task = getTaskThreads(op);
    if (failed(task)) {
      return failure();
    }
    rewriter.replaceOp(op,
                       LoweringBuilder(rewriter, op.getLoc()).replica(*task));
    return success();
  }
};

struct TaskBarrierLowering : public OpConversionPattern<TaskBarrierOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TaskBarrierOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<TaskThreads> task = getTaskThreads(op);
    if (failed(task)) {
      return failure();
    }
    LoweringBuilder(rewriter, op.getLoc()).syncTask(*task);
    rewriter.eraseOp(op);
    return success();
  }
};

/// An op that reads one special register.
template <typename Source, typename Target>
struct SpecialRegisterLowering : public OpConversionPattern<Source> {
  using OpConversionPattern<Source>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(Source op, typename Source::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<Target>(op, rewriter.getI32Type());
    return success();
  }
};
} // namespace

void tlx::populateTaskToNVVMPatterns(const TLXTypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<ReplicaIdLowering, TaskBarrierLowering,
               SpecialRegisterLowering<CtaIdOp, NVVM::BlockIdXOp>,
               SpecialRegisterLowering<CtaCountOp, NVVM::GridDimXOp>>(
      converter, patterns.getContext());
}
