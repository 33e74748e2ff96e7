//===- LoweringPattern.h - What the families' patterns have in common -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pattern here says what takes an op's place; replacing the op and finding
// the threads that execute it are done once.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_LOWERINGPATTERN_H
#define JFA_LIB_CONVERSION_TLXTONVVM_LOWERINGPATTERN_H

#include "LoweringBuilder.h"

namespace mlir::jfa::tlx {

/// The registers that take the place of an op's results, one result after the
/// other.
using Replacement = FailureOr<SmallVector<Value>>;

/// The operands of an op on tiles, each as its registers.
template <typename Op>
using TileAdaptor = typename Op::template GenericAdaptor<ArrayRef<ValueRange>>;

/// Replaces an op by what `lower` builds before it.
template <typename Op, typename AdaptorType = typename Op::Adaptor>
class LoweringPattern : public OpConversionPattern<Op> {
public:
  using OpConversionPattern<Op>::OpConversionPattern;
  using Adaptor = AdaptorType;

  virtual Replacement lower(Op op, Adaptor adaptor,
                            LoweringBuilder &b) const = 0;

  LogicalResult
  matchAndRewrite(Op op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const final {
    LoweringBuilder b(rewriter, op.getLoc());
    Replacement replacement = lower(op, adaptor, b);
    if (failed(replacement)) {
      return failure();
    }
    SmallVector<ValueRange> results;
    ValueRange rest = *replacement;
    for (Type type : op->getResultTypes()) {
      SmallVector<Type> registers;
      if (failed(this->getTypeConverter()->convertType(type, registers))) {
        return failure();
      }
      results.push_back(rest.take_front(registers.size()));
      rest = rest.drop_front(registers.size());
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

/// The same for an op whose code depends on the threads that execute it.
template <typename Op, typename AdaptorType = typename Op::Adaptor>
class TaskLoweringPattern : public LoweringPattern<Op, AdaptorType> {
public:
  using LoweringPattern<Op, AdaptorType>::LoweringPattern;
  using Adaptor = AdaptorType;

  virtual Replacement lower(Op op, Adaptor adaptor, LoweringBuilder &b,
                            const TaskThreads &task) const = 0;

  Replacement lower(Op op, Adaptor adaptor, LoweringBuilder &b) const final {
    FailureOr<TaskThreads> task = getTaskThreads(op);
    return failed(task) ? Replacement(failure()) : lower(op, adaptor, b, *task);
  }
};

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_LOWERINGPATTERN_H
