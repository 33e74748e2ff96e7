//===- ScaledMMAOps.cpp - MMA family: products of scaled blocks -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Where the PTX ISA says which extents there are.
static constexpr StringLiteral kExtents = "9.7.16.10.1";

/// Checks that a factor lies in shared memory as the unit reads it.
static LogicalResult verifyFactor(AsyncDotScaledOp op, StringRef name,
                                  MemDescType type, bool isTransposed) {
  Type element = type.getElementType();
  if (type.getRank() != 2 || type.isInTensorMemory() ||
      (element && !isa<Float8E4M3FNType, Float8E5M2Type>(element))) {
    return op.emitOpError("expected ")
           << name
           << " to be a tile of f8E4M3FN or f8E5M2 in shared memory, but got "
           << type;
  }
  if (type.getTransposed() != isTransposed) {
    return op.emitOpError("expected ")
           << name << " to lie in rows along K"
           << (isTransposed ? ", as a tlx.local_trans of a buffer [N, K] does"
                            : "")
           << ", but got " << type;
  }
  return success();
}

/// Checks the buffer of the scales of `rows` rows of depth `depth`.
static LogicalResult verifyScales(AsyncDotScaledOp op, StringRef name,
                                  MemDescType type, ExprAttr rows,
                                  ExprAttr depth) {
  Type element = type.getElementType();
  std::optional<int64_t> rowCount = rows.getConstant();
  std::optional<int64_t> depthCount = depth.getConstant();
  std::optional<int64_t> columns = type.getShape().back().getConstant();
  bool isKnown = rowCount && depthCount && columns;
  constexpr int64_t kDepth =
      AsyncDotScaledOp::kBlock * AsyncDotScaledOp::kScalesInCell;
  int64_t expected = isKnown ? kScaleColumns *
                                   llvm::divideCeil(*rowCount, kTensorLanes) *
                                   llvm::divideCeil(*depthCount, kDepth)
                             : 0;
  if (type.isInTensorMemory() && type.getRank() == 2 && element &&
      !hasHalfTiles(type) && element.isInteger(32) &&
      (!isKnown || *columns == expected)) {
    return success();
  }
  InFlightDiagnostic diag = op.emitOpError("expected the scales of ")
                            << name << " to be ";
  if (isKnown) {
    diag << "!tlx.memdesc<[128, " << expected << "], i32, tensor>";
  } else {
    diag << "a tile of i32 in tensor memory";
  }
  return diag << ", but got " << type;
}

LogicalResult AsyncDotScaledOp::verify() {
  MemDescType a = getA().getType(), b = getB().getType(), c = getC().getType();
  if (failed(verifyFactor(*this, "A", a, /*isTransposed=*/false)) ||
      failed(verifyFactor(*this, "B", b, /*isTransposed=*/true))) {
    return failure();
  }
  if (c.getRank() != 2 || !c.isInTensorMemory() || !c.getElementType() ||
      !c.getElementType().isF32()) {
    return emitOpError("expected sums of f32 in tensor memory, but got ") << c;
  }
  ExprAttr m = c.getShape()[0], n = c.getShape()[1], k = a.getShape()[1];
  if (a.getShape()[0] != m || b.getShape()[1] != n || b.getShape()[0] != k) {
    InFlightDiagnostic diag =
        emitOpError("expected shapes [M, K], [K, N] and [M, N]");
    diag.attachNote() << "A is " << a;
    diag.attachNote() << "B is " << b;
    diag.attachNote() << "the sums are " << c;
    return diag;
  }
  return success(
      succeeded(
          verifyExtent(*this, m, "M", kTensorLanes, kTensorLanes, kExtents)) &&
      succeeded(verifyExtent(*this, n, "N", 16, 256, kExtents)) &&
      succeeded(verifyExtent(*this, k, "K", kBlock, 1 << 16, kExtents)) &&
      succeeded(verifyScales(*this, "A", getAScale().getType(), m, k)) &&
      succeeded(verifyScales(*this, "B", getBScale().getType(), n, k)));
}

AsyncDotOp::Extents AsyncDotScaledOp::getExtents() {
  ArrayRef<ExprAttr> sums = getC().getType().getShape();
  return {*sums[0].getConstant(), *sums[1].getConstant(),
          *getA().getType().getShape()[1].getConstant()};
}

AsyncIssuer AsyncDotScaledOp::getIssuer() { return AsyncIssuer::OneThread; }

AsyncCompletion AsyncDotScaledOp::getCompletion() {
  return AsyncCompletion::Commit;
}

std::optional<TargetFeature> AsyncDotScaledOp::getRequiredFeature() {
  return TargetFeature::TensorMemory;
}

void AsyncDotScaledOp::getBufferAccesses(
    SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getAMutable(), /*isWrite=*/false, Proxy::Async});
  accesses.push_back({&getBMutable(), /*isWrite=*/false, Proxy::Async});
  accesses.push_back({&getAScaleMutable(), /*isWrite=*/false, Proxy::Tensor});
  accesses.push_back({&getBScaleMutable(), /*isWrite=*/false, Proxy::Tensor});
  accesses.push_back({&getCMutable(), /*isWrite=*/true, Proxy::Tensor});
}
