//===- WgmmaDescriptor.h - Matrix operands in shared memory -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The descriptor through which wgmma finds an operand in shared memory, as a
// pure function of how the operand lies there (PTX ISA 9.7.15.5.1.2).
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_WGMMADESCRIPTOR_H
#define JFA_LIB_CONVERSION_TLXTONVVM_WGMMADESCRIPTOR_H

#include "jfa/Dialect/TLX/IR/SharedLayout.h"

namespace mlir::jfa::tlx {

/// A matrix operand in shared memory.
struct SharedOperand {
  SharedLayout layout;
  /// K is contiguous in memory; otherwise M or N is.
  bool kMajor;

  /// An address or a distance as descriptors hold it: 14 bits of 16-byte units.
  static int64_t encode(int64_t bytes) { return (bytes & 0x3FFFF) >> 4; }

  /// The descriptor's fields other than the address, which fill bits 16 to 63.
  int64_t getFixedBits() const {
    // Eight rows of the swizzle pattern.
    int64_t stride = 8 * layout.rowPitchBytes;
    // Ignored for swizzled K-major operands; panels along M or N otherwise.
    int64_t leading = kMajor ? 16 : layout.panelStrideBytes;
    uint64_t swizzle = layout.swizzleBytes == 128  ? 1
                       : layout.swizzleBytes == 64 ? 2
                       : layout.swizzleBytes == 32 ? 3
                                                   : 0;
    return static_cast<int64_t>(swizzle << 62) | (encode(stride) << 32) |
           (encode(leading) << 16);
  }

  /// Bytes from the operand's start to element (mn, k), both at the start of an
  /// instruction's part of the operand.
  int64_t getOffset(int64_t mn, int64_t k) const {
    int64_t row = kMajor ? mn : k, column = kMajor ? k : mn;
    return column / layout.panelColumns * layout.panelStrideBytes +
           row * layout.rowPitchBytes +
           column % layout.panelColumns * layout.elementBytes;
  }
};

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_WGMMADESCRIPTOR_H
