//===- MatrixDescriptor.cpp - Matrices in shared memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixDescriptor.h"

#include "jfa/Emu/TensorMap.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static MatrixDescriptor makeCommon(uint64_t bits) {
  MatrixDescriptor descriptor;
  descriptor.start = uint32_t(bits & 0x3fff) << 4;
  descriptor.leading = uint32_t(bits >> 16 & 0x3fff) << 4;
  descriptor.stride = uint32_t(bits >> 32 & 0x3fff) << 4;
  descriptor.baseOffset = unsigned(bits >> 49 & 7);
  return descriptor;
}

MatrixDescriptor MatrixDescriptor::makeHopper(uint64_t bits) {
  MatrixDescriptor descriptor = makeCommon(bits);
  // 0 none, 1 128 bytes, 2 64, 3 32.
  descriptor.swizzle = unsigned((4 - (bits >> 62)) & 3);
  return descriptor;
}

std::string MatrixDescriptor::makeBlackwell(uint64_t bits,
                                            MatrixDescriptor &descriptor) {
  constexpr uint64_t kReserved =
      (uint64_t(3) << 14) | (uint64_t(3) << 30) | (uint64_t(0xff) << 53);
  descriptor = makeCommon(bits);
  if (bits & kReserved) {
    return "whose reserved bits are zero";
  }
  if ((bits >> 46 & 7) != 1) {
    return "whose bits 46 to 48 are 1 (wgmma's are 0)";
  }
  if (bits >> 52 & 1) {
    return "of a relative leading dimension (bit 52), as sm_100a has it";
  }
  // 0 none, 1 128 bytes in units of 32, 2 128 bytes, 4 64, 6 32.
  static const int kSwizzles[] = {0, 3, 3, -1, 2, -1, 1, -1};
  auto layout = unsigned(bits >> 61);
  if (kSwizzles[layout] < 0) {
    return "whose swizzle is one of 0, 1, 2, 4 and 6";
  }
  descriptor.swizzle = unsigned(kSwizzles[layout]);
  descriptor.hasWideAtom = layout == 1;
  return "";
}

uint32_t MatrixDescriptor::permute(uint32_t address) const {
  if (hasWideAtom) {
    return address ^ ((((address >> 7) - baseOffset) & 3) << 5);
  }
  return swizzleAddress(address, swizzle, baseOffset);
}

uint32_t MatrixDescriptor::getUnitK(uint32_t row, uint32_t unit) const {
  uint32_t pitch = 16u << swizzle;
  return permute(start + row % 8 * pitch + row / 8 * stride +
                 unit * (swizzle ? 16 : leading));
}

uint32_t MatrixDescriptor::getUnitMN(uint32_t unit, uint32_t k) const {
  uint32_t width = 1u << swizzle, within = unit % width, atom = unit / width;
  if (!swizzle) {
    return start + unit * stride + k % 8 * 16 + k / 8 * leading;
  }
  uint32_t rows = hasWideAtom ? 4 : 8;
  return permute(start + within * 16 + atom * leading + k % rows * width * 16 +
                 k / rows * stride);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Reads 16 bytes of an operand, with a finding if they are elsewhere.
static const uint8_t *readUnit(Machine &machine, AsyncWork &work, Cta &cta,
                               uint32_t offset) {
  uint64_t generic =
      kSharedWindow + (uint64_t(cta.rank) << kRankShift) + offset;
  Place place = machine.locate(generic, 16);
  if (place.kind == Place::Nowhere) {
    machine.fault(Fault::OutOfBounds, work.line,
                  "a matrix descriptor leads to " + toHex(offset) +
                      ", which is not in the CTA's shared memory");
    return nullptr;
  }
  machine.access(work, place, 16, false);
  return place.bytes;
}

static uint32_t getElement(const uint8_t *unit, unsigned element,
                           const OperandFormat &format) {
  uint32_t value = 0;
  if (format.isDense4) {
    return unit[element / 2] >> 4 * (element % 2) & 15;
  }
  if (format.packedBits == 0) {
    std::memcpy(&value, unit + element * format.elementBytes,
                format.elementBytes);
    return value;
  }
  unsigned bit = element * format.packedBits;
  value = uint32_t(unit[bit / 8] | unit[bit / 8 + 1] << 8) >> bit % 8;
  return value & ((1u << format.packedBits) - 1);
}

std::vector<uint32_t> emu::readOperand(Machine &machine, AsyncWork &work,
                                       Cta &cta,
                                       const MatrixDescriptor &descriptor,
                                       const OperandFormat &format,
                                       uint32_t first, uint32_t count) {
  unsigned perUnit = format.isDense4 ? 32 : 16 / format.elementBytes;
  unsigned k = format.k;
  std::vector<uint32_t> elements(size_t(count) * k, 0);
  uint32_t rows = format.isMN ? count / perUnit : count;
  uint32_t units = format.isMN ? k : k / perUnit;
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t unit = 0; unit < units; ++unit) {
      uint32_t offset = format.isMN
                            ? descriptor.getUnitMN(first / perUnit + row, unit)
                            : descriptor.getUnitK(first + row, unit);
      const uint8_t *bytes = readUnit(machine, work, cta, offset);
      if (!bytes) {
        return elements;
      }
      for (unsigned e = 0; e < perUnit; ++e) {
        size_t at = format.isMN ? (row * perUnit + e) * k + unit
                                : row * k + unit * perUnit + e;
        elements[at] = getElement(bytes, e, format);
      }
    }
  }
  return elements;
}
