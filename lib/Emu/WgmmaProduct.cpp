//===- WgmmaProduct.cpp - A matrix product in flight -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WgmmaProduct.h"

#include "MatrixDescriptor.h"
#include "Numerics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

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
  OperandFormat format;
  format.k = shape.k;
  format.elementBytes = shape.elementBytes;
  if (shape.isDescriptorA) {
    format.isMN = shape.transA;
    a = readOperand(machine, work, warp.cta,
                    MatrixDescriptor::makeHopper(product.descriptorA), format,
                    product.firstRow, 16);
  }
  format.isMN = shape.transB;
  std::vector<uint32_t> b = readOperand(
      machine, work, warp.cta,
      MatrixDescriptor::makeHopper(product.descriptorB), format, 0, shape.n);
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
