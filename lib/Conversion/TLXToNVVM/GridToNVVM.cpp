//===- GridToNVVM.cpp - Lowering of the Grid family -------------*- C++ -*-===//
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

namespace {
struct SemaphoreWaitLowering : public LoweringPattern<SemaphoreWaitOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(SemaphoreWaitOp, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    Value counter = b.globalPointer(adaptor.getCounters(), adaptor.getIndex(),
                                    b.builder.getI32Type());
    buildSemaphoreWait(b, counter, adaptor.getCount());
    return SmallVector<Value>();
  }
};

struct SemaphorePostLowering : public TaskLoweringPattern<SemaphorePostOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(SemaphorePostOp, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    Value counter = b.globalPointer(adaptor.getCounters(), adaptor.getIndex(),
                                    b.builder.getI32Type());
    b.syncTask(task);
    b.elected(task, [&] { buildSemaphorePost(b, counter); });
    return SmallVector<Value>();
  }
};

template <typename Op, NVVM::GridDepActionKind kind>
struct GridDependencyLowering : public LoweringPattern<Op> {
  using LoweringPattern<Op>::LoweringPattern;

  Replacement lower(Op, typename Op::Adaptor,
                    LoweringBuilder &b) const override {
    b.create<NVVM::GriddepcontrolOp>(kind);
    return SmallVector<Value>();
  }
};
} // namespace

void tlx::populateGridToNVVMPatterns(const TLXTypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns
      .add<SemaphoreWaitLowering, SemaphorePostLowering,
           GridDependencyLowering<GridDependencyWaitOp,
                                  NVVM::GridDepActionKind::wait>,
           GridDependencyLowering<GridLaunchDependentsOp,
                                  NVVM::GridDepActionKind::launch_dependents>>(
          converter, patterns.getContext());
}
