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

bool tlx::hasHalfTiles(MemDescType type) {
  ArrayRef<ExprAttr> shape = type.getShape();
  return type.isInTensorMemory() && shape[shape.size() - 2].getConstant() ==
                                        std::optional<int64_t>(kHalfTileRows);
}

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
  if (!tiles) {
    return failure();
  }
  int64_t sideBySide =
      hasHalfTiles(type) ? llvm::divideCeil(*tiles, 2) : *tiles;
  if (llvm::MulOverflow(*columns, sideBySide, sum)) {
    return failure();
  }
  return sum;
}

LayoutAttr tlx::getTensorMemoryLayout(MLIRContext *context,
                                      ArrayRef<int64_t> shape,
                                      int64_t threads) {
  constexpr int64_t kThreads = 128; // of a warpgroup
  int64_t groups = threads / kThreads;
  if (shape.size() != 2 || groups == 0 || threads % kThreads != 0 ||
      (shape[0] != kTensorLanes && shape[0] != kHalfTileRows)) {
    return {};
  }
  int64_t perRow = kTensorLanes / shape[0];
  if (shape[1] % (groups * perRow) != 0) {
    return {};
  }
  int64_t part = shape[1] / (groups * perRow);
  SmallVector<LayoutMode> threadModes, registerModes;
  if (perRow == 1) {
    threadModes = {{kTensorLanes, 0, 1}};
  } else {
    constexpr int64_t kRows = 16, kWarps = 4;
    threadModes = {{kRows, 0, 1}, {perRow, 1, part}, {kWarps, 0, kRows}};
  }
  if (groups > 1) {
    threadModes.push_back({groups, 1, part * perRow});
  }
  if (part > 1) {
    registerModes.push_back({part, 1, 1});
  }
  return LayoutAttr::get(context, threadModes, registerModes);
}
