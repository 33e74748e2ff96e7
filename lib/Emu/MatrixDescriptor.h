//===- MatrixDescriptor.h - Matrices in shared memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of wgmma and tcgen05.mma (PTX ISA 9.7.15.5.1.2 and 9.7.16.4.1). Both
// address alike; what says so has different bits.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_MATRIXDESCRIPTOR_H
#define JFA_LIB_EMU_MATRIXDESCRIPTOR_H

#include "Semantics.h"

namespace mlir::jfa::emu {

struct MatrixDescriptor {
  /// In bytes: where it begins in the CTA's shared memory, and what the ISA
  /// calls leading and stride dimension byte offset.
  uint32_t start = 0, leading = 0, stride = 0;
  /// 0, 1, 2, 3 for none, 32, 64, 128 bytes.
  unsigned swizzle = 0;
  /// Whether units of 32 bytes, and not of 16, are permuted.
  bool hasWideAtom = false;
  unsigned baseOffset = 0;

  /// What has been set that must not be is for the caller to check.
  static MatrixDescriptor makeHopper(uint64_t bits);
  /// Returns what is wrong, or nothing.
  static std::string makeBlackwell(uint64_t bits, MatrixDescriptor &descriptor);

  /// Where the 16 bytes begin that hold row `row` and bytes 16 `unit` of k.
  uint32_t getUnitK(uint32_t row, uint32_t unit) const;
  /// Where the 16 bytes begin that hold rows from 16 / size * `unit` on, of k.
  uint32_t getUnitMN(uint32_t unit, uint32_t k) const;

private:
  uint32_t permute(uint32_t address) const;
};

/// How the elements of an operand are stored.
struct OperandFormat {
  /// Of a step of k.
  unsigned k = 0;
  /// Of what holds an element.
  unsigned elementBytes = 1;
  /// Formats of 4 and 6 bits lie packed at the beginning of 16 bytes (PTX ISA
  /// 9.7.16.10.6); 0 for others.
  unsigned packedBits = 0;
  bool isMN = false;
  /// Two elements of 4 bits in a byte, the first in its low half.
  bool isDense4 = false;
};

/// Rows [first, first + count) of an operand in the shared memory of `cta`, row
/// by row, with a finding if they are elsewhere.
std::vector<uint32_t> readOperand(Machine &machine, AsyncWork &work, Cta &cta,
                                  const MatrixDescriptor &descriptor,
                                  const OperandFormat &format, uint32_t first,
                                  uint32_t count);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_MATRIXDESCRIPTOR_H
