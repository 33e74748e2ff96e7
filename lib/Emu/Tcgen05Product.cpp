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
// Instruction descriptors
//===----------------------------------------------------------------------===//

static bool isPacked(const Format &format) {
  return 1 + format.exponentBits + format.fractionBits < 8;
}

unsigned InstructionDescriptor::getElementBytes() const {
  unsigned bits = 1 + a->exponentBits + a->fractionBits;
  return bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
}

/// The format of a code, or null.
static const Format *getOperandFormat(TensorKind kind, unsigned code) {
  switch (kind) {
  case TensorKind::F16:
    return code == 0 ? &kF16 : code == 1 ? &kBF16 : nullptr;
  case TensorKind::TF32:
    return code == 2 ? &kTF32 : nullptr;
  default:
    break;
  }
  static const Format *const kNarrow[] = {&kE4M3, &kE5M2, nullptr, &kE2M3,
                                          &kE3M2, &kE2M1, nullptr, nullptr};
  return kNarrow[code];
}

/// PTX ISA 9.7.16.2.1, table of shapes.
static std::string checkShape(const InstructionDescriptor &shape,
                              TensorKind kind, bool isPair) {
  bool isScaled = kind == TensorKind::MXF8F6F4;
  bool isM = isPair ? shape.m == 128 || shape.m == 256
                    : shape.m == 128 || (shape.m == 64 && !isScaled);
  if (!isM) {
    return std::string("of M ") +
           (isPair     ? "128 or 256"
            : isScaled ? "128"
                       : "64 or 128") +
           ", but got M " + std::to_string(shape.m);
  }
  // Columns of eight bits that lie side by side come in sixteens.
  bool isWide = shape.isMNB && shape.getElementBytes() == 1;
  uint32_t step = (isPair ? 16 : 8) * (isWide ? 2 : 1);
  if (shape.n == 0 || shape.n > 256 || shape.n % step != 0) {
    return "of N up to 256 in steps of " + std::to_string(step) +
           ", but got N " + std::to_string(shape.n);
  }
  return "";
}

std::string emu::decodeInstruction(uint32_t bits, TensorKind kind, bool isPair,
                                   InstructionDescriptor &shape) {
  auto describe = [&](const char *what) {
    return std::string(what) + ", but got " + toHex(bits);
  };
  bool isScaled = kind == TensorKind::MXF8F6F4;
  uint32_t reserved = isScaled ? 0x8700004bu : 0xe0800048u;
  if (bits & 7) {
    return describe("of a dense product (bits 0 to 2 are 0)");
  }
  if (bits & reserved) {
    return describe("whose reserved bits are zero");
  }
  shape.a = getOperandFormat(kind, bits >> 7 & 7);
  shape.b = getOperandFormat(kind, bits >> 10 & 7);
  if (!shape.a || !shape.b) {
    return describe("with types of A and B that its kind has");
  }
  shape.negA = bits >> 13 & 1;
  shape.negB = bits >> 14 & 1;
  shape.isMNA = bits >> 15 & 1;
  shape.isMNB = bits >> 16 & 1;
  shape.n = (bits >> 17 & 0x3f) << 3;
  if (isScaled) {
    if (!(bits >> 23 & 1)) {
      return describe("with scales of type UE8M0 (bit 23 is 1)");
    }
    shape.m = (bits >> 27 & 3) << 7;
    shape.scaleB = bits >> 4 & 3;
    shape.scaleA = bits >> 29 & 3;
    return checkShape(shape, kind, isPair);
  }
  shape.m = (bits >> 24 & 31) << 4;
  unsigned d = bits >> 4 & 3;
  shape.isF16 = d == 0;
  if (d > 1 || (d == 0 && kind == TensorKind::TF32)) {
    return describe("with a type of D that its kind has");
  }
  return checkShape(shape, kind, isPair);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static OperandFormat getStored(const TensorProduct &product, bool isA) {
  const Format &format = isA ? *product.shape.a : *product.shape.b;
  OperandFormat stored;
  stored.k = product.shape.getK();
  stored.elementBytes = product.shape.getElementBytes();
  stored.packedBits =
      isPacked(format) ? 1 + format.exponentBits + format.fractionBits : 0;
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
  unsigned bytes = product.shape.getElementBytes(), k = product.shape.getK();
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
      TensorCell cell = getOperandCell(layout, row, e, 8 * bytes);
      uint32_t word = cta.tensor.at(lane + cell.lane, column + cell.column);
      unsigned shift = e * 8 * bytes % 32;
      uint32_t mask = bytes == 4 ? ~0u : (1u << 8 * bytes) - 1;
      elements[row * k + e] = word >> shift & mask;
    }
  }
  return elements;
}

/// The scales of `count` rows or columns, which all four quarters must have.
static std::vector<uint8_t> readScales(Machine &machine, AsyncWork &work,
                                       Cta &cta, uint32_t address,
                                       unsigned byte, uint32_t count) {
  std::vector<uint8_t> scales(count, 127);
  uint32_t column = getTensorColumn(address);
  TensorCells cells{0, column, kTensorLanes, (count + 31) / 32};
  if (!machine.accessTensor(work, cta, cells, TensorAccess::Read)) {
    return scales;
  }
  bool isSame = true;
  for (uint32_t mn = 0; mn < count; ++mn) {
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      TensorCell cell = getScaleCell(mn, quarter);
      auto scale =
          uint8_t(cta.tensor.at(cell.lane, column + cell.column) >> 8 * byte);
      isSame &= quarter == 0 || scales[mn] == scale;
      scales[mn] = scale;
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
  uint32_t columns = shape.n / (product.isPair ? 2 : 1);
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
    if (product.kind == TensorKind::MXF8F6F4) {
      product.scalesA[c] = readScales(machine, work, cta, product.scaleA,
                                      shape.scaleA, product.getRows());
      // Each CTA of a pair has those of all columns.
      product.scalesB =
          readScales(machine, work, cta, product.scaleB, shape.scaleB, shape.n);
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
    return product.kind != TensorKind::MXF8F6F4
               ? 0
               : int(product.scalesA[index][row]) + product.scalesB[n] - 254;
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
      if (part.product.kind != TensorKind::MXF8F6F4 && product.accumulates) {
        uint32_t old = part.getAddend(cell);
        products =
            shape.isF16 ? float(decode(kF16, old)) : fromBits<float>(old);
      }
      for (uint32_t e = 0; e < k; ++e) {
        products += left[e] * b[n * k + e];
      }
      if (part.product.kind == TensorKind::MXF8F6F4) {
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
    if (machine.options.numerics == Numerics::Exact) {
      writeExact(part);
    } else {
      writeFast(part);
    }
  }
}
