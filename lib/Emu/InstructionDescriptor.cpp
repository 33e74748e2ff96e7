//===- InstructionDescriptor.cpp - Shapes and types of products -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.4.2.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05Product.h"

#include "jfa/Emu/Machine.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Eight bits of an integer, which are no number of this format.
static const Format kByte = {0, 7, 0xff, 0xff, false};

/// The format of a code, or null.
static const Format *getOperandFormat(TensorKind kind, unsigned code) {
  switch (kind) {
  case TensorKind::F16:
    return code == 0 ? &kF16 : code == 1 ? &kBF16 : nullptr;
  case TensorKind::TF32:
    return code == 2 ? &kTF32 : nullptr;
  case TensorKind::I8:
    return code < 2 ? &kByte : nullptr;
  case TensorKind::MXF4:
  case TensorKind::MXF4NVF4:
    return code == 1 ? &kE2M1 : nullptr;
  default:
    break;
  }
  static const Format *const kNarrow[] = {&kE4M3, &kE5M2, nullptr, &kE2M3,
                                          &kE3M2, &kE2M1, nullptr, nullptr};
  return kNarrow[code];
}

/// PTX ISA 9.7.16.2.1, table of shapes.
static std::string checkM(const InstructionDescriptor &shape,
                          const TensorForm &form) {
  uint32_t m = shape.m;
  bool is64 = form.scales == 0 && m == 64;
  if (form.isStationary) {
    return is64 || m == 32 || m == 128 ? "" : "of M 32, 64 or 128";
  }
  if (form.isPair) {
    return m == 128 || m == 256 ? "" : "of M 128 or 256";
  }
  return m == 128 || is64 ? "" : form.scales ? "of M 128" : "of M 64 or 128";
}

static std::string checkShape(const InstructionDescriptor &shape,
                              const TensorForm &form) {
  if (std::string wrong = checkM(shape, form); !wrong.empty()) {
    return wrong + ", but got M " + std::to_string(shape.m);
  }
  uint32_t n = shape.n;
  auto describe = [n](const std::string &expected) {
    return "of N " + expected + ", but got N " + std::to_string(n);
  };
  if (form.isStationary) {
    return n == 64 || n == 128 || n == 256 ? "" : describe("64, 128 or 256");
  }
  // Columns of eight bits that lie side by side come in sixteens.
  bool isWide = shape.isMNB && shape.elementBits == 8;
  uint32_t step = (form.isPair ? 16 : 8) * (isWide ? 2 : 1);
  if (form.kind == TensorKind::I8 && (form.isPair || n > 32)) {
    step = std::max(step, form.isPair ? 32u : 16u);
  }
  return n == 0 || n > 256 || n % step != 0
             ? describe("up to 256 in steps of " + std::to_string(step))
             : "";
}

/// Bits that a kind does not have (PTX ISA 9.7.16.4.2).
static uint32_t getReservedBits(const TensorForm &form) {
  switch (form.kind) {
  case TensorKind::MXF8F6F4:
    return 0x8700004b;
  case TensorKind::MXF4:
  case TensorKind::MXF4NVF4:
    return 0x8701904b;
  default:
    break;
  }
  // `.ws` says how far rows of B may be shifted, which changes no result.
  uint32_t reserved = form.isStationary ? 0x20800040 : 0xe0800040;
  return form.kind == TensorKind::I8 ? reserved | 0x6000 : reserved | 8;
}

/// The part of a descriptor that products with scales have otherwise.
static std::string decodeScales(uint32_t bits, const TensorForm &form,
                                InstructionDescriptor &shape) {
  shape.hasFractions = !(bits >> 23 & 1);
  if (shape.hasFractions && form.kind != TensorKind::MXF4NVF4) {
    return "with scales of type UE8M0 (bit 23 is 1)";
  }
  shape.m = (bits >> 27 & 3) << 7;
  shape.scaleB = bits >> 4 & 3;
  shape.scaleA = bits >> 29 & 3;
  // Scales of one row do not reach over the end of a cell.
  bool isAligned =
      shape.scaleA % form.scales == 0 && shape.scaleB % form.scales == 0;
  return isAligned ? ""
                   : "whose scales begin at a multiple of " +
                         std::to_string(form.scales);
}

std::string emu::decodeInstruction(uint32_t bits, const TensorForm &form,
                                   InstructionDescriptor &shape) {
  auto describe = [&](const std::string &what) {
    return what + ", but got " + toHex(bits);
  };
  if (bits & 7) {
    return describe("of a dense product (bits 0 to 2 are 0)");
  }
  if (bits & getReservedBits(form)) {
    return describe("whose reserved bits are zero");
  }
  // Codes of the kinds for 4 bits have two bits for B.
  unsigned codeB = bits >> 10 & (form.isDense() ? 3 : 7);
  shape.a = getOperandFormat(form.kind, bits >> 7 & 7);
  shape.b = getOperandFormat(form.kind, codeB);
  if (!shape.a || !shape.b) {
    return describe("with types of A and B that its kind has");
  }
  shape.elementBits = form.isDense()      ? 4
                      : shape.a == &kTF32 ? 32
                                          : std::max(8u, shape.a->getBits());
  shape.isSignedA = bits >> 7 & 1;
  shape.isSignedB = bits >> 10 & 1;
  shape.isSaturated = bits >> 3 & 1;
  shape.negA = bits >> 13 & 1;
  shape.negB = bits >> 14 & 1;
  shape.isMNA = bits >> 15 & 1;
  shape.isMNB = bits >> 16 & 1;
  shape.n = (bits >> 17 & 0x3f) << 3;
  if (form.scales) {
    std::string wrong = decodeScales(bits, form, shape);
    return wrong.empty() ? checkShape(shape, form) : describe(wrong);
  }
  shape.m = (bits >> 24 & 31) << 4;
  unsigned d = bits >> 4 & 3;
  shape.isF16 = d == 0;
  bool isD = form.kind == TensorKind::I8     ? d == 2
             : form.kind == TensorKind::TF32 ? d == 1
                                             : d < 2;
  return isD ? checkShape(shape, form)
             : describe("with a type of D that its kind has");
}
