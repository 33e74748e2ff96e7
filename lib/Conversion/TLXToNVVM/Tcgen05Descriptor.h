//===- Tcgen05Descriptor.h - What tcgen05.mma is told -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The descriptors of a product in tensor memory, as pure functions: how an
// operand lies in shared memory (PTX ISA 9.7.16.4.1), and what the instruction
// computes (9.7.16.4.2).
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_TCGEN05DESCRIPTOR_H
#define JFA_LIB_CONVERSION_TLXTONVVM_TCGEN05DESCRIPTOR_H

#include "WgmmaDescriptor.h"

namespace mlir::jfa::tlx {

/// The fields of the descriptor of an operand in shared memory, other than the
/// address. They are wgmma's, and a constant: 0b001 in bits 46 to 48. (The
/// codes of the swizzles are twice wgmma's, one bit lower.)
inline int64_t getTcgen05FixedBits(const SharedOperand &operand) {
  return operand.getFixedBits() | int64_t(1) << 46;
}

/// A dense product of `kind::f16` with f32 sums.
struct Tcgen05Instruction {
  bool isBF16;
  /// Extents of the sums, multiples of 16 and of 8.
  int64_t m, n;
  /// Whether M or N is contiguous in shared memory; otherwise K is.
  bool aIsMNMajor = false, bIsMNMajor = false;

  /// The instruction descriptor.
  uint32_t encode() const {
    constexpr uint32_t kF32Sums = 1u << 4;
    uint32_t type = isBF16 ? 1 : 0;
    return kF32Sums | type << 7 | type << 10 | uint32_t(aIsMNMajor) << 15 |
           uint32_t(bIsMNMajor) << 16 | uint32_t(n >> 3) << 17 |
           uint32_t(m >> 4) << 24;
  }
};

/// A product of `kind::mxf8f6f4` with scales of type ue8m0 and f32 sums, both
/// factors in rows along K.
struct Tcgen05ScaledInstruction {
  /// Elements are of type e5m2; otherwise e4m3.
  bool aIsE5M2, bIsE5M2;
  /// Extents of the sums: 128, and a multiple of 8.
  int64_t m, n;

  /// The instruction descriptor, for the scales in byte `scale` of their cells.
  uint32_t encode(int64_t scale) const {
    constexpr uint32_t kUE8M0 = 1u << 23;
    return kUE8M0 | uint32_t(scale) << 4 | uint32_t(aIsE5M2) << 7 |
           uint32_t(bIsE5M2) << 10 | uint32_t(n >> 3) << 17 |
           uint32_t(m >> 7) << 27 | uint32_t(scale) << 29;
  }
};

/// The fields of the descriptor of rows of 16 bytes, one after the other
/// without a swizzle, other than the address: eight rows are 128 bytes.
constexpr int64_t kTcgen05PlainRows =
    int64_t(1) << 46 | int64_t(128 >> 4) << 32 | int64_t(16 >> 4) << 16;

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_TCGEN05DESCRIPTOR_H
