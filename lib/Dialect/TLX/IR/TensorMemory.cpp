//===- TensorMemory.cpp - Buffers in tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

FailureOr<int64_t> tlx::getTensorTileColumns(MemDescType type) {
  std::optional<int64_t> columns = type.getShape().back().getConstant();
  Type element = type.getElementType();
  int64_t bits;
  if (!columns || !element ||
      llvm::MulOverflow<int64_t>(*columns, element.getIntOrFloatBitWidth(),
                                 bits)) {
    return failure();
  }
  return llvm::divideCeil(bits, kTensorCellBits);
}

FailureOr<int64_t> tlx::getTensorColumns(MemDescType type) {
  FailureOr<int64_t> columns = getTensorTileColumns(type);
  if (failed(columns) || type.getRank() < 3) {
    return columns;
  }
  std::optional<int64_t> tiles = type.getShape().front().getConstant();
  int64_t sum;
  if (!tiles || llvm::MulOverflow(*columns, *tiles, sum)) {
    return failure();
  }
  return sum;
}

LayoutAttr tlx::getTensorMemoryLayout(MLIRContext *context,
                                      ArrayRef<int64_t> shape,
                                      int64_t threads) {
  int64_t groups = threads / kTensorLanes;
  if (shape.size() != 2 || shape[0] != kTensorLanes || groups == 0 ||
      threads % kTensorLanes != 0 || shape[1] % groups != 0) {
    return {};
  }
  int64_t part = shape[1] / groups;
  SmallVector<LayoutMode> threadModes = {{kTensorLanes, 0, 1}}, registerModes;
  if (groups > 1) {
    threadModes.push_back({groups, 1, part});
  }
  if (part > 1) {
    registerModes.push_back({part, 1, 1});
  }
  return LayoutAttr::get(context, threadModes, registerModes);
}
