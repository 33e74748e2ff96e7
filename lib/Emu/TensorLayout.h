//===- TensorLayout.h - Where tensor memory holds what -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.2, 9.7.16.8 to 9.7.16.10: registers, rows of shared memory and
// elements of matrices as cells of tensor memory, relative to an address.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_TENSORLAYOUT_H
#define JFA_LIB_EMU_TENSORLAYOUT_H

#include "jfa/Emu/TensorMemory.h"

#include "llvm/ADT/SmallVector.h"

namespace mlir::jfa::emu {

struct TensorCell {
  uint32_t lane = 0, column = 0;
};

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// Shapes of tcgen05.ld and .st: lanes and bits of a row.
enum class TensorShape : uint8_t {
  S32x32b,
  S16x64b,
  S16x128b,
  S16x256b,
  S16x32bx2
};

/// An access of a warp. Both counts are of cells: two 16-bit halves share a
/// register, or not.
struct TensorTransfer {
  TensorShape shape = TensorShape::S32x32b;
  /// N of `.xN`.
  uint32_t count = 1;
  /// The columns from the first half of 16x32bx2 to the second.
  uint32_t split = 0;
  /// `.pack::16b` or `.unpack::16b`.
  bool isPacked = false;

  unsigned getRegisters() const;
  /// The lanes that it covers: 16 or 32.
  uint32_t getLanes() const { return shape == TensorShape::S32x32b ? 32 : 16; }
  /// The cell of register `reg` of thread `lane`, of half `half` if packed.
  TensorCell getCell(unsigned lane, unsigned reg, unsigned half = 0) const;
  /// All of its cells.
  llvm::SmallVector<TensorCells, 2> getCells() const;
};

//===----------------------------------------------------------------------===//
// Copies from shared memory
//===----------------------------------------------------------------------===//

/// Shapes of tcgen05.cp: rows and bits of a row, and how they are repeated.
enum class TensorCopyShape : uint8_t {
  S128x256b,
  S128x128b,
  S64x128b02,
  S64x128b01,
  S32x128b,
  S4x256b
};

/// The columns of a row: 4, or 8.
uint32_t getCopyColumns(TensorCopyShape shape);
/// The row of the source that lane `lane` gets, or nothing.
std::optional<uint32_t> getCopyRow(TensorCopyShape shape, uint32_t lane);

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// How D lies in the tensor memory of a CTA (PTX ISA 9.7.16.10.5), by the rows
/// of it that a CTA has.
enum class AccumulatorLayout : uint8_t {
  /// Row m in lane m: M = 128, and M = 256 of a pair.
  Full,
  /// Sixteen rows in each quarter: M = 64.
  Quarters,
  /// The right half of 64 rows in lanes 64 and on: M = 128 of a pair, and M =
  /// 64
  /// of `.ws`.
  Halves,
  /// The fourths of 32 rows in lanes 0, 32, 64, 96 and on: M = 32 of `.ws`.
  Fourths
};
AccumulatorLayout getAccumulatorLayout(uint32_t m, bool isPair,
                                       bool isStationary);
/// Of element (row, n) of N columns.
TensorCell getAccumulatorCell(AccumulatorLayout layout, uint32_t row,
                              uint32_t n, uint32_t numColumns);
/// All cells of D.
llvm::SmallVector<TensorCells, 4> getAccumulatorCells(AccumulatorLayout layout,
                                                      uint32_t numColumns);

/// Where an operand A in tensor memory has 32 bits: 32 / `elementBits` elements
/// of row `row` from `k` on. Halves has each of 64 rows twice.
TensorCell getOperandCell(AccumulatorLayout layout, uint32_t row, uint32_t k,
                          unsigned elementBits);

/// The scales of row or column `mn`: in bytes SF_ID and on of a cell, in each
/// of the four quarters (PTX ISA 9.7.16.10.7).
TensorCell getScaleCell(uint32_t mn, uint32_t quarter);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_TENSORLAYOUT_H
