//===- WgmmaProduct.cpp - A matrix product in flight -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaProduct.h"

#include "Numerics.h"

#include "jfa/Emu/TensorMap.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

namespace {
/// A descriptor of a matrix in shared memory (PTX ISA 9.7.15.5.1.2.2).
struct Descriptor {
  uint32_t start, leading, stride;
  unsigned swizzle, baseOffset;

  explicit Descriptor(uint64_t bits)
      : start(uint32_t(bits & 0x3fff) << 4),
        leading(uint32_t(bits >> 16 & 0x3fff) << 4),
        stride(uint32_t(bits >> 32 & 0x3fff) << 4),
        // 0 none, 1 128 bytes, 2 64, 3 32.
        swizzle(unsigned((4 - (bits >> 62)) & 3)),
        baseOffset(unsigned(bits >> 49 & 7)) {}

  uint32_t getPitch() const { return 16u << swizzle; }
  /// Where the 16 bytes begin that hold row r and bytes 16 c of k.
  uint32_t getUnitK(uint32_t r, uint32_t c) const {
    uint32_t linear = start + r % 8 * getPitch() + r / 8 * stride +
                      c * (swizzle ? 16 : leading);
    return swizzleAddress(linear, swizzle, baseOffset);
  }
  /// Where the 16 bytes begin that hold rows from 16 / size * unit on, of k.
  uint32_t getUnitMN(uint32_t unit, uint32_t k) const {
    uint32_t width = 1u << swizzle, within = unit % width, atom = unit / width;
    if (!swizzle) {
      return start + unit * stride + k % 8 * 16 + k / 8 * leading;
    }
    uint32_t linear = start + within * 16 + atom * leading +
                      k % 8 * width * 16 + k / 8 * stride;
    return swizzleAddress(linear, swizzle, baseOffset);
  }
};
} // namespace

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

static uint32_t getElement(const uint8_t *bytes, unsigned size) {
  uint32_t value = 0;
  std::memcpy(&value, bytes, size);
  return value;
}

/// Rows [first, first + count) of an operand, row by row.
static std::vector<uint32_t> readOperand(Machine &machine, AsyncWork &work,
                                         Cta &cta, uint64_t bits, bool isMN,
                                         const ProductShape &shape,
                                         uint32_t first, uint32_t count) {
  Descriptor descriptor(bits);
  unsigned size = shape.elementBytes, perUnit = 16 / size;
  std::vector<uint32_t> elements(size_t(count) * shape.k, 0);
  if (isMN) {
    for (uint32_t k = 0; k < shape.k; ++k) {
      for (uint32_t r = 0; r < count; r += perUnit) {
        const uint8_t *unit = readUnit(
            machine, work, cta, descriptor.getUnitMN((first + r) / perUnit, k));
        if (!unit) {
          return elements;
        }
        for (unsigned e = 0; e < perUnit; ++e) {
          elements[(r + e) * shape.k + k] = getElement(unit + e * size, size);
        }
      }
    }
    return elements;
  }
  for (uint32_t r = 0; r < count; ++r) {
    for (uint32_t c = 0; c < 2; ++c) {
      const uint8_t *unit =
          readUnit(machine, work, cta, descriptor.getUnitK(first + r, c));
      if (!unit) {
        return elements;
      }
      for (unsigned e = 0; e < perUnit; ++e) {
        elements[r * shape.k + c * perUnit + e] =
            getElement(unit + e * size, size);
      }
    }
  }
  return elements;
}

static void negate(std::vector<uint32_t> &elements, unsigned elementBytes) {
  for (uint32_t &element : elements) {
    element ^= 1u << (elementBytes * 8 - 1);
  }
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// The formats that registers and memory hold in whole bytes.
static uint32_t toFormat(Type type, uint32_t bits) {
  return type.name == ".tf32" ? bits >> 13 : bits;
}

static std::vector<float> toFloats(Type type,
                                   const std::vector<uint32_t> &elements) {
  std::vector<float> values(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (type.name == ".bf16") {
      values[i] = fromBits<float>(uint64_t(elements[i]) << 16);
    } else {
      values[i] = float(decode(getFormat(type), toFormat(type, elements[i])));
    }
  }
  return values;
}

/// Reads and writes element (row, column) of the warp's 16 rows of D.
static uint32_t getAccumulator(Warp &warp, const Product &product, unsigned row,
                               unsigned column) {
  bool isF16 = product.shape.d.bits == 16;
  unsigned i = column % 2 + 2 * (row / 8) + 4 * (column / 8);
  unsigned lane = row % 8 * 4 + column % 8 / 2;
  uint32_t reg = product.accumulators[isF16 ? i / 2 : i];
  auto value = uint32_t(warp.row(reg)[lane]);
  return isF16 ? value >> (16 * (i % 2)) & 0xffff : value;
}
static void setAccumulator(Warp &warp, const Product &product, unsigned row,
                           unsigned column, uint32_t value) {
  bool isF16 = product.shape.d.bits == 16;
  unsigned i = column % 2 + 2 * (row / 8) + 4 * (column / 8);
  unsigned lane = row % 8 * 4 + column % 8 / 2;
  uint64_t &to = warp.row(product.accumulators[isF16 ? i / 2 : i])[lane];
  if (isF16) {
    unsigned shift = 16 * (i % 2);
    to = (to & ~(uint64_t(0xffff) << shift)) | uint64_t(value) << shift;
  } else {
    to = value;
  }
}

static void multiplyExact(Warp &warp, const Product &product,
                          std::vector<uint32_t> &a, std::vector<uint32_t> &b) {
  const ProductShape &shape = product.shape;
  for (auto *elements : {&a, &b}) {
    for (uint32_t &element : *elements) {
      element = toFormat(shape.a, element);
    }
  }
  const Format &formatA = getFormat(shape.a), &formatB = getFormat(shape.b);
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned n = 0; n < shape.n; ++n) {
      uint32_t old = getAccumulator(warp, product, row, n);
      uint32_t sum = wgmmaExact(formatA, formatB, shape.k, &a[row * shape.k],
                                &b[n * shape.k], old, product.accumulates,
                                shape.d.bits == 16);
      setAccumulator(warp, product, row, n, sum);
    }
  }
}

static void multiplyFast(Warp &warp, const Product &product,
                         const std::vector<uint32_t> &a,
                         const std::vector<uint32_t> &b) {
  const ProductShape &shape = product.shape;
  std::vector<float> left = toFloats(shape.a, a);
  std::vector<float> right = toFloats(shape.b, b);
  bool isF16 = shape.d.bits == 16;
  // Columns of B side by side, for the compiler to vectorise.
  std::vector<float> transposed(right.size()), sums(shape.n);
  for (unsigned n = 0; n < shape.n; ++n) {
    for (unsigned k = 0; k < shape.k; ++k) {
      transposed[k * shape.n + n] = right[n * shape.k + k];
    }
  }
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned n = 0; n < shape.n; ++n) {
      uint32_t old =
          product.accumulates ? getAccumulator(warp, product, row, n) : 0;
      sums[n] = isF16 ? float(decode(kF16, old)) : fromBits<float>(old);
    }
    for (unsigned k = 0; k < shape.k; ++k) {
      float factor = left[row * shape.k + k];
      const float *column = &transposed[k * shape.n];
      for (unsigned n = 0; n < shape.n; ++n) {
        sums[n] += factor * column[n];
      }
    }
    for (unsigned n = 0; n < shape.n; ++n) {
      uint32_t bits = isF16 ? encode(kF16, double(sums[n]), Rounding::Nearest)
                            : uint32_t(toBits(sums[n]));
      setAccumulator(warp, product, row, n, bits);
    }
  }
}

void mlir::jfa::emu::multiply(Warp &warp, AsyncWork &work,
                              const Product &product) {
  const ProductShape &shape = product.shape;
  Machine &machine = warp.machine;
  std::vector<uint32_t> a = product.a;
  if (shape.isDescriptorA) {
    a = readOperand(machine, work, warp.cta, product.descriptorA, shape.transA,
                    shape, product.firstRow, 16);
  }
  std::vector<uint32_t> b =
      readOperand(machine, work, warp.cta, product.descriptorB, shape.transB,
                  shape, 0, shape.n);
  if (shape.negA) {
    negate(a, shape.elementBytes);
  }
  if (shape.negB) {
    negate(b, shape.elementBytes);
  }
  if (machine.options.numerics == Numerics::Exact) {
    multiplyExact(warp, product, a, b);
  } else {
    multiplyFast(warp, product, a, b);
  }
}
