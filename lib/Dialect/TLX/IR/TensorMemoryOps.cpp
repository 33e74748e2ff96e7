//===- TensorMemoryOps.cpp - TensorMemory family: tcgen05's order -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

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

//===----------------------------------------------------------------------===//
// TmemCopyOp
//===----------------------------------------------------------------------===//

LogicalResult TmemCopyOp::verify() {
  MemDescType from = getSource().getType(), to = getDestination().getType();
  bool isSource = from.getRank() == 1 && from.getElementType() &&
                  from.getElementType().isInteger(32);
  std::optional<int64_t> cells = from.getShape().back().getConstant();
  if (!isSource || from.isInTensorMemory() ||
      (cells && *cells % kTensorLanes != 0)) {
    return emitOpError("expected whole blocks of 128 cells of i32 in shared "
                       "memory (PTX ISA 9.7.16.9), but got ")
           << from;
  }
  bool isDestination = to.isInTensorMemory() && to.getRank() == 2 &&
                       !hasHalfTiles(to) && to.getElementType() &&
                       to.getElementType().isInteger(32);
  if (!isDestination) {
    return emitOpError("expected to copy to a tile of 128 rows of i32 in "
                       "tensor memory, but got ")
           << to;
  }
  std::optional<int64_t> columns = to.getShape().back().getConstant();
  if (cells && columns && *cells != 32 * *columns) {
    return emitOpError("expected 4 columns for each block of 128 cells, ")
           << *cells / 32 << ", but got " << *columns;
  }
  return success();
}

AsyncIssuer TmemCopyOp::getIssuer() { return AsyncIssuer::OneThread; }

AsyncCompletion TmemCopyOp::getCompletion() { return AsyncCompletion::Commit; }

std::optional<TargetFeature> TmemCopyOp::getRequiredFeature() {
  return TargetFeature::TensorMemory;
}

void TmemCopyOp::getBufferAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getSourceMutable(), /*isWrite=*/false, Proxy::Async});
  accesses.push_back(
      {&getDestinationMutable(), /*isWrite=*/true, Proxy::Tensor});
}
