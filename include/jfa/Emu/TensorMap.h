//===- TensorMap.h - What a tensor map says -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 128 bytes that stand for a CUtensorMap. On silicon their layout is not
// documented, but for the address at their beginning; this one is ours.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_TENSORMAP_H
#define JFA_EMU_TENSORMAP_H

#include <cstdint>

namespace mlir::jfa::emu {

constexpr uint32_t kTensorMapMagic = 0x70616d54;

struct TensorMap {
  /// May lie below the tensor, even below zero: sums are modulo 2^64.
  uint64_t base = 0;
  uint32_t magic = kTensorMapMagic;
  uint8_t rank = 0;
  uint8_t elementBytes = 0;
  /// A sim::ElementKind, for reductions.
  uint8_t element = 0;
  /// 0, 1, 2, 3 for none, 32, 64, 128 bytes.
  uint8_t swizzle = 0;
  /// Of dimensions 1 and on, in bytes.
  uint64_t strides[4] = {};
  uint64_t extents[5] = {};
  uint16_t box[5] = {};

  /// The bytes from one row of a box to the next in shared memory.
  uint32_t getPitch() const {
    return swizzle ? 16u << swizzle : uint32_t(box[0]) * elementBytes;
  }
  uint32_t getRows() const {
    uint32_t rows = 1;
    for (unsigned i = 1; i < rank; ++i) {
      rows *= box[i];
    }
    return rows;
  }
};
static_assert(sizeof(TensorMap) <= 128, "a CUtensorMap has 128 bytes");

/// A shared-memory address as the hardware permutes it (PTX ISA 5.5.7): bits 4
/// and up, with those from bit 7 of the absolute address less `start`.
inline uint32_t swizzleAddress(uint32_t address, unsigned swizzle,
                               uint32_t start = 0) {
  uint32_t mask = (1u << swizzle) - 1;
  return address ^ (((((address >> 7) - start) & mask)) << 4);
}

} // namespace mlir::jfa::emu

#endif // JFA_EMU_TENSORMAP_H
