//===- TensorMemoryOps.cpp - TensorMemory family: tcgen05's order -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Tcgen05CommitOp
//===----------------------------------------------------------------------===//

LogicalResult Tcgen05CommitOp::verify() {
  return success(
      succeeded(
          verifyBarrierIndex(*this, getBarrier().getType(), getIndex())) &&
      (!getMulticast() || succeeded(verifyMask(*this, getMulticast()))));
}

LogicalResult Tcgen05CommitOp::canonicalize(Tcgen05CommitOp op,
                                            PatternRewriter &rewriter) {
  return dropOwnMulticast(op, rewriter);
}

void Tcgen05CommitOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Commit});
}

std::optional<TargetFeature> Tcgen05CommitOp::getRequiredFeature() {
  return TargetFeature::TensorMemory;
}

//===----------------------------------------------------------------------===//
// Tcgen05FenceOp
//===----------------------------------------------------------------------===//

std::optional<TargetFeature> Tcgen05FenceOp::getRequiredFeature() {
  return TargetFeature::TensorMemory;
}
