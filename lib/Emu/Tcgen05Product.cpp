//===- Tcgen05Product.cpp - Products of tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tcgen05Product.h"

#include "Tcgen05.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static OperandFormat getStored(const TensorProduct &product, bool isA) {
  const Format &format = isA ? *product.shape.a : *product.shape.b;
  OperandFormat stored;
  stored.k = product.shape.getK();
  stored.elementBytes = std::max(8u, product.shape.elementBits) / 8;
  stored.isDense4 = product.form.isDense();
  stored.packedBits = format.getBits() < 8 ? format.getBits() : 0;
  stored.isMN = isA ? product.shape.isMNA : product.shape.isMNB;
  return stored;
}

/// Sign bits, and the bits that a format has of what holds it.
static void finish(std::vector<uint32_t> &elements, const Format &format,
                   bool isNegated) {
  unsigned sign = format.exponentBits + format.fractionBits;
  for (uint32_t &element : elements) {
    element = sign == 18 ? element >> 13 : element;
    element ^= uint32_t(isNegated) << sign;
  }
}

/// A of one CTA out of its tensor memory: rows, twice where lanes 64 and on
/// have rows of their own.
static std::vector<uint32_t> readTensorOperand(Machine &machine,
                                               AsyncWork &work,
                                               const TensorProduct &product,
                                               Cta &cta) {
  AccumulatorLayout layout = product.getLayout();
  unsigned bits = product.shape.elementBits, k = product.shape.getK();
  uint32_t rows = layout == AccumulatorLayout::Quarters ? 64 : 128;
  uint32_t lane = getTensorLane(product.addressA);
  uint32_t column = getTensorColumn(product.addressA);
  std::vector<uint32_t> elements(size_t(rows) * k, 0);
  for (TensorCells cells : getAccumulatorCells(
           layout, layout == AccumulatorLayout::Halves ? 16 : 8)) {
    cells.lane += lane;
    cells.column += column;
    if (!machine.accessTensor(work, cta, cells, TensorAccess::Read)) {
      return elements;
    }
  }
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t e = 0; e < k; ++e) {
      TensorCell cell = getOperandCell(layout, row, e, bits);
      uint32_t word = cta.tensor.at(lane + cell.lane, column + cell.column);
      unsigned shift = e * bits % 32;
      uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
      elements[row * k + e] = word >> shift & mask;
    }
  }
  return elements;
}

/// The scales of `count` rows or columns, `each` of one of them, which all four
/// quarters must have.
static std::vector<uint8_t> readScales(Machine &machine, AsyncWork &work,
                                       Cta &cta, uint32_t address,
                                       unsigned byte, uint32_t count,
                                       unsigned each) {
  std::vector<uint8_t> scales(size_t(count) * each, 127);
  uint32_t column = getTensorColumn(address);
  TensorCells cells{0, column, kTensorLanes, (count + 31) / 32};
  if (!machine.accessTensor(work, cta, cells, TensorAccess::Read)) {
    return scales;
  }
  bool isSame = true;
  for (uint32_t i = 0; i < count * each; ++i) {
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      TensorCell cell = getScaleCell(i / each, quarter);
      auto scale = uint8_t(cta.tensor.at(cell.lane, column + cell.column) >>
                           8 * (byte + i % each));
      isSame &= quarter == 0 || scales[i] == scale;
      scales[i] = scale;
    }
  }
  if (!isSame) {
    machine.fault(Fault::Illegal, work.line,
                  "expects the same scales in all four quarters of the lanes "
                  "of column " +
                      std::to_string(column) + " and on");
  }
  return scales;
}

void emu::readSources(Machine &machine, AsyncWork &work,
                      TensorProduct &product) {
  const InstructionDescriptor &shape = product.shape;
  uint32_t columns = shape.n / (product.form.isPair ? 2 : 1);
  product.elementsB.clear();
  for (size_t c = 0; c < product.ctas.size(); ++c) {
    Cta &cta = *product.ctas[c];
    if (!checkRunning(machine, work, cta)) {
      return;
    }
    if (product.isAInTensor) {
      product.elementsA[c] = readTensorOperand(machine, work, product, cta);
    } else {
      product.elementsA[c] =
          readOperand(machine, work, cta, product.a, getStored(product, true),
                      0, product.getRows());
    }
    finish(product.elementsA[c], *shape.a, shape.negA);
    std::vector<uint32_t> b = readOperand(
        machine, work, cta, product.b, getStored(product, false), 0, columns);
    product.elementsB.insert(product.elementsB.end(), b.begin(), b.end());
    if (unsigned each = product.form.scales) {
      product.scalesA[c] = readScales(machine, work, cta, product.scaleA,
                                      shape.scaleA, product.getRows(), each);
      // Each CTA of a pair has those of all columns.
      product.scalesB = readScales(machine, work, cta, product.scaleB,
                                   shape.scaleB, shape.n, each);
    }
  }
  finish(product.elementsB, *shape.b, shape.negB);
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

namespace {
/// One CTA's part of a product.
struct Part {
  Machine &machine;
  TensorProduct &product;
  Cta &cta;
  size_t index;
  AccumulatorLayout layout;

  const InstructionDescriptor &getShape() const { return product.shape; }
  TensorCell getCell(uint32_t row, uint32_t n) const {
    TensorCell cell = getAccumulatorCell(layout, row, n, product.shape.n);
    cell.lane += getTensorLane(product.d);
    cell.column += getTensorColumn(product.d);
    return cell;
  }
  bool isDisabled(uint32_t lane) const {
    return product.disabled[index * 4 + lane / 32] >> lane % 32 & 1;
  }
  /// The first element of A for element (row, n) of D.
  const uint32_t *getA(uint32_t row, uint32_t n) const {
    bool isCopy = product.isAInTensor && layout == AccumulatorLayout::Halves &&
                  n >= product.shape.n / 2;
    return &product.elementsA[index][size_t(row + (isCopy ? 64 : 0)) *
                                     product.shape.getK()];
  }
  int getScale(uint32_t row, uint32_t n) const {
    return product.form.scales == 0
               ? 0
               : int(product.scalesA[index][row]) + product.scalesB[n] - 254;
  }
  static double decodeScale(uint8_t bits, bool hasFractions) {
    if (hasFractions) {
      return decode(kE4M3, bits & 0x7f);
    }
    return bits == 0xff ? NAN : std::ldexp(1.0, bits - 127);
  }
  /// The product of the scales for the elements of k from 16 `group` on.
  double getGroupScale(uint32_t row, uint32_t n, unsigned group) const {
    unsigned each = product.form.scales, s = group * each / 4;
    bool hasFractions = product.shape.hasFractions;
    return decodeScale(product.scalesA[index][row * each + s], hasFractions) *
           decodeScale(product.scalesB[n * each + s], hasFractions);
  }
  /// What is added to, as bits of D's type.
  uint32_t getAddend(const TensorCell &cell) const {
    uint32_t bits = cta.tensor.at(cell.lane, cell.column);
    bits = product.shape.isF16 ? bits & 0xffff : bits;
    if (product.scaleD == 0) {
      return bits;
    }
    int scale = -int(product.scaleD);
    return product.shape.isF16
               ? encode(kF16, std::ldexp(decode(kF16, bits), scale),
                        Rounding::Nearest)
               : uint32_t(toBits(std::ldexp(fromBits<float>(bits), scale)));
  }
  void put(const TensorCell &cell, uint32_t bits) {
    if (!isDisabled(cell.lane)) {
      cta.tensor.at(cell.lane, cell.column) =
          product.shape.isF16 ? kUndefinedHalf << 16 | bits : bits;
    }
  }
};
} // namespace

/// Records the accesses to D, without lanes that are not written.
static bool accessAccumulator(Part &part, AsyncWork &work) {
  TensorProduct &product = part.product;
  auto how =
      product.accumulates ? TensorAccess::ReadWrite : TensorAccess::Write;
  for (TensorCells cells : getAccumulatorCells(part.layout, product.shape.n)) {
    cells.lane += getTensorLane(product.d);
    cells.column += getTensorColumn(product.d);
    if (!part.cta.tensor.isAllocated(cells)) {
      // With a finding, even if no lane is written.
      return part.machine.accessTensor(work, part.cta, cells, how);
    }
    uint32_t end = cells.lane + cells.lanes;
    for (uint32_t lane = cells.lane; lane < end;) {
      bool isDisabled = part.isDisabled(lane);
      uint32_t next = lane;
      while (next < end && part.isDisabled(next) == isDisabled) {
        ++next;
      }
      cells.lane = lane;
      cells.lanes = next - lane;
      if (!isDisabled &&
          !part.machine.accessTensor(work, part.cta, cells, how)) {
        return false;
      }
      lane = next;
    }
  }
  return true;
}

/// Groups of 16 products, whose sums are exact, times their scales.
static void writeGroups(Part &part) {
  const InstructionDescriptor &shape = part.getShape();
  TensorProduct &product = part.product;
  bool isExact = part.machine.options.numerics == Numerics::Exact;
  for (uint32_t row = 0; row < product.getRows(); ++row) {
    for (uint32_t n = 0; n < shape.n; ++n) {
      const uint32_t *a = part.getA(row, n);
      const uint32_t *b = &product.elementsB[n * shape.getK()];
      double groups[4] = {};
      for (uint32_t e = 0; e < shape.getK(); ++e) {
        groups[e / 16] += decode(*shape.a, a[e]) * decode(*shape.b, b[e]);
      }
      double total = 0;
      for (unsigned g = 0; g < 4; ++g) {
        groups[g] *= part.getGroupScale(row, n, g);
        total += groups[g];
      }
      TensorCell cell = part.getCell(row, n);
      uint32_t old = part.getAddend(cell);
      if (isExact) {
        part.put(cell, sumGroups(groups, old, product.accumulates));
        continue;
      }
      auto sum = float(total);
      sum += product.accumulates ? fromBits<float>(old) : 0;
      part.put(cell, uint32_t(toBits(sum)));
    }
  }
}

static void writeIntegers(Part &part) {
  const InstructionDescriptor &shape = part.getShape();
  TensorProduct &product = part.product;
  auto widen = [](uint32_t byte, bool isSigned) {
    return isSigned ? int64_t(int8_t(byte)) : int64_t(byte);
  };
  for (uint32_t row = 0; row < product.getRows(); ++row) {
    for (uint32_t n = 0; n < shape.n; ++n) {
      const uint32_t *a = part.getA(row, n);
      const uint32_t *b = &product.elementsB[n * shape.getK()];
      TensorCell cell = part.getCell(row, n);
      int64_t sum =
          product.accumulates ? int64_t(int32_t(part.getAddend(cell))) : 0;
      for (uint32_t e = 0; e < shape.getK(); ++e) {
        sum += widen(a[e], shape.isSignedA) * widen(b[e], shape.isSignedB);
      }
      if (shape.isSaturated) {
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      }
      part.put(cell, uint32_t(sum));
    }
  }
}

static void writeExact(Part &part) {
  const InstructionDescriptor &shape = part.getShape();
  TensorProduct &product = part.product;
  for (uint32_t row = 0; row < product.getRows(); ++row) {
    for (uint32_t n = 0; n < shape.n; ++n) {
      TensorCell cell = part.getCell(row, n);
      // Measured on Blackwell GPUs by others: 25 bits for all of these kinds.
      ProductModel model{*shape.a, *shape.b,    25,
                         23,       shape.isF16, part.getScale(row, n)};
      part.put(cell, sumProducts(model, shape.getK(), part.getA(row, n),
                                 &product.elementsB[n * shape.getK()],
                                 part.getAddend(cell), product.accumulates));
    }
  }
}

static std::vector<float> toFloats(const Format &format,
                                   llvm::ArrayRef<uint32_t> elements) {
  std::vector<float> values(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    values[i] = format.exponentBits == 8 && format.fractionBits == 7
                    ? fromBits<float>(uint64_t(elements[i]) << 16)
                    : float(decode(format, elements[i]));
  }
  return values;
}

static void writeFast(Part &part) {
  const InstructionDescriptor &shape = part.getShape();
  TensorProduct &product = part.product;
  uint32_t k = shape.getK();
  std::vector<float> a = toFloats(*shape.a, product.elementsA[part.index]);
  std::vector<float> b = toFloats(*shape.b, product.elementsB);
  const uint32_t *firstA = product.elementsA[part.index].data();
  for (uint32_t row = 0; row < product.getRows(); ++row) {
    for (uint32_t n = 0; n < shape.n; ++n) {
      const float *left = &a[size_t(part.getA(row, n) - firstA)];
      float products = 0;
      TensorCell cell = part.getCell(row, n);
      if (product.form.scales == 0 && product.accumulates) {
        uint32_t old = part.getAddend(cell);
        products =
            shape.isF16 ? float(decode(kF16, old)) : fromBits<float>(old);
      }
      for (uint32_t e = 0; e < k; ++e) {
        products += left[e] * b[n * k + e];
      }
      if (product.form.scales) {
        products = std::ldexp(products, part.getScale(row, n));
        products +=
            product.accumulates ? fromBits<float>(part.getAddend(cell)) : 0;
      }
      part.put(cell, shape.isF16
                         ? encode(kF16, double(products), Rounding::Nearest)
                         : uint32_t(toBits(products)));
    }
  }
}

void emu::writeProduct(Machine &machine, AsyncWork &work,
                       TensorProduct &product) {
  for (size_t c = 0; c < product.ctas.size(); ++c) {
    Part part{machine, product, *product.ctas[c], c, product.getLayout()};
    bool isRead = !product.elementsA[c].empty() &&
                  product.elementsB.size() ==
                      size_t(product.shape.n) * product.shape.getK();
    if (!isRead || !checkRunning(machine, work, part.cta) ||
        !accessAccumulator(part, work)) {
      return;
    }
    if (product.form.kind == TensorKind::I8) {
      writeIntegers(part);
    } else if (product.form.isDense()) {
      writeGroups(part);
    } else if (machine.options.numerics == Numerics::Exact) {
      writeExact(part);
    } else {
      writeFast(part);
    }
  }
}
