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

#include "LoweringPattern.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

namespace {
struct ReplicaIdLowering : public TaskLoweringPattern<AsyncTaskReplicaIdOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncTaskReplicaIdOp op, Adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    return SmallVector<Value>{b.replica(task)};
  }
};

struct TaskBarrierLowering : public TaskLoweringPattern<TaskBarrierOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(TaskBarrierOp op, Adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    b.syncTask(task);
    return SmallVector<Value>();
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
