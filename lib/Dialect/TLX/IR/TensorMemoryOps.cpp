//===- TensorMemoryOps.cpp - TensorMemory family: tcgen05's order -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Tcgen05CommitOp
//===----------------------------------------------------------------------===//

LogicalResult Tcgen05CommitOp::verify() {
  return verifyBarrierIndex(*this, getBarrier().getType(), getIndex());
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
