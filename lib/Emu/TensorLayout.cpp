//===- TensorLayout.cpp - Where tensor memory holds what -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorLayout.h"

using namespace mlir::jfa::emu;

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

unsigned TensorTransfer::getRegisters() const {
  switch (shape) {
  case TensorShape::S16x128b:
    return 2 * count;
  case TensorShape::S16x256b:
    return 4 * count;
  default:
    return count;
  }
}

TensorCell TensorTransfer::getCell(unsigned lane, unsigned reg,
                                   unsigned half) const {
  TensorCell cell;
  uint32_t offset = 0;
  switch (shape) {
  case TensorShape::S32x32b:
    cell = {lane, reg};
    break;
  case TensorShape::S16x64b:
    cell = {lane / 4 + 8 * (lane & 1), (lane >> 1 & 1) + 2 * reg};
    break;
  case TensorShape::S16x128b:
    cell = {lane / 4 + 8 * (reg & 1), (lane & 3) + 4 * (reg >> 1)};
    break;
  case TensorShape::S16x256b:
    cell = {lane / 4 + 8 * (reg >> 1 & 1),
            2 * (lane & 3) + (reg & 1) + 8 * (reg >> 2)};
    break;
  case TensorShape::S16x32bx2:
    cell = {lane % 16, reg};
    offset = lane < 16 ? 0 : split;
    break;
  }
  cell.column = offset + (isPacked ? 2 * cell.column + half : cell.column);
  return cell;
}

llvm::SmallVector<TensorCells, 2> TensorTransfer::getCells() const {
  static const uint32_t kColumns[] = {1, 2, 4, 8, 1};
  uint32_t columns = count * kColumns[unsigned(shape)] * (isPacked ? 2 : 1);
  llvm::SmallVector<TensorCells, 2> cells = {{0, 0, getLanes(), columns}};
  if (shape == TensorShape::S16x32bx2) {
    cells.push_back({0, split, getLanes(), columns});
  }
  return cells;
}

//===----------------------------------------------------------------------===//
// Copies from shared memory
//===----------------------------------------------------------------------===//

uint32_t mlir::jfa::emu::getCopyColumns(TensorCopyShape shape) {
  bool isWide =
      shape == TensorCopyShape::S128x256b || shape == TensorCopyShape::S4x256b;
  return isWide ? 8 : 4;
}

std::optional<uint32_t> mlir::jfa::emu::getCopyRow(TensorCopyShape shape,
                                                   uint32_t lane) {
  switch (shape) {
  case TensorCopyShape::S128x256b:
  case TensorCopyShape::S128x128b:
    return lane;
  case TensorCopyShape::S64x128b02:
    return lane % 64;
  case TensorCopyShape::S64x128b01:
    return lane / 64 * 32 + lane % 32;
  case TensorCopyShape::S32x128b:
    return lane % 32;
  case TensorCopyShape::S4x256b:
    break;
  }
  return lane % 32 == 0 ? std::optional(lane / 32) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

AccumulatorLayout mlir::jfa::emu::getAccumulatorLayout(uint32_t m, bool isPair,
                                                       bool isStationary) {
  if (isStationary && m < 128) {
    return m == 32 ? AccumulatorLayout::Fourths : AccumulatorLayout::Halves;
  }
  if (m == 64) {
    return AccumulatorLayout::Quarters;
  }
  return m == 128 && isPair ? AccumulatorLayout::Halves
                            : AccumulatorLayout::Full;
}

TensorCell mlir::jfa::emu::getAccumulatorCell(AccumulatorLayout layout,
                                              uint32_t row, uint32_t n,
                                              uint32_t numColumns) {
  switch (layout) {
  case AccumulatorLayout::Full:
    break;
  case AccumulatorLayout::Quarters:
    return {row % 16 + 32 * (row / 16), n};
  case AccumulatorLayout::Halves:
    return {row + 64 * (n / (numColumns / 2)), n % (numColumns / 2)};
  case AccumulatorLayout::Fourths:
    return {row + 32 * (n / (numColumns / 4)), n % (numColumns / 4)};
  }
  return {row, n};
}

llvm::SmallVector<TensorCells, 4>
mlir::jfa::emu::getAccumulatorCells(AccumulatorLayout layout,
                                    uint32_t numColumns) {
  switch (layout) {
  case AccumulatorLayout::Full:
    break;
  case AccumulatorLayout::Quarters:
    return {{0, 0, 16, numColumns},
            {32, 0, 16, numColumns},
            {64, 0, 16, numColumns},
            {96, 0, 16, numColumns}};
  case AccumulatorLayout::Halves:
    return {{0, 0, 128, numColumns / 2}};
  case AccumulatorLayout::Fourths:
    return {{0, 0, 128, numColumns / 4}};
  }
  return {{0, 0, 128, numColumns}};
}

TensorCell mlir::jfa::emu::getOperandCell(AccumulatorLayout layout,
                                          uint32_t row, uint32_t k,
                                          unsigned elementBits) {
  uint32_t lane =
      layout == AccumulatorLayout::Quarters ? row % 16 + 32 * (row / 16) : row;
  return {lane, k * elementBits / 32};
}

TensorCell mlir::jfa::emu::getScaleCell(uint32_t mn, uint32_t quarter) {
  return {mn % 32 + 32 * quarter, mn / 32};
}
