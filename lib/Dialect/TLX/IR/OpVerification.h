//===- OpVerification.h - Checks that op families share ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_DIALECT_TLX_IR_OPVERIFICATION_H
#define JFA_LIB_DIALECT_TLX_IR_OPVERIFICATION_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// Checks that there is an index exactly where there is more than one barrier,
/// and that it is one of the array's, as far as it is known.
LogicalResult verifyBarrierIndex(Operation *op, MBarrierType type, Value index);

/// Checks that the kernel that `op` is in, if it is in one, has clusters.
LogicalResult verifyInCluster(Operation *op);

/// Checks also that `mask`, as far as it is known, names CTAs of the cluster.
LogicalResult verifyMask(Operation *op, Value mask);

/// Checks that `group`, which may be null, is one CTA, or two of a cluster of
/// pairs, as far as it is known.
LogicalResult verifyCtaGroup(Operation *op, ExprAttr group);

/// Checks that `extent` of a product, as far as it is known, is a multiple of
/// `step` from `step` to `last`, as `section` of the PTX ISA has it.
LogicalResult verifyExtent(Operation *op, ExprAttr extent, StringRef name,
                           int64_t step, int64_t last, StringRef section);

/// Whether the kernel that `op` is in has clusters of one CTA.
bool isAloneInCluster(Operation *op);

/// Whether `mask` names nothing but the one CTA of its cluster.
bool isOnlyOwnCta(Operation *op, Value mask);

/// Canonicalises an op that is `multicast` to its own CTA only: it need not be.
template <typename Op>
LogicalResult dropOwnMulticast(Op op, PatternRewriter &rewriter) {
  if (!op.getMulticast() || !isOnlyOwnCta(op, op.getMulticast())) {
    return failure();
  }
  rewriter.modifyOpInPlace(op, [&] { op.getMulticastMutable().clear(); });
  return success();
}

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_DIALECT_TLX_IR_OPVERIFICATION_H
