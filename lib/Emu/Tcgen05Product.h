//===- Tcgen05Product.h - Products of tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an instruction descriptor says (PTX ISA 9.7.16.4.2), and a product.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_TCGEN05PRODUCT_H
#define JFA_LIB_EMU_TCGEN05PRODUCT_H

#include "MatrixDescriptor.h"
#include "Numerics.h"
#include "TensorLayout.h"

namespace mlir::jfa::emu {

/// `.kind::f16` and its like.
enum class TensorKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4
};

/// What the modifiers of a product say.
struct TensorForm {
  TensorKind kind = TensorKind::F16;
  bool isPair = false;
  /// `.ws`
  bool isStationary = false;
  /// Scales of each row of A and column of B.
  unsigned scales = 0;

  /// Whether two elements of 4 bits share a byte.
  bool isDense() const {
    return kind == TensorKind::MXF4 || kind == TensorKind::MXF4NVF4;
  }
};

struct InstructionDescriptor {
  /// Of the whole product, which a pair of CTAs shares.
  uint32_t m = 0, n = 0;
  const Format *a = nullptr, *b = nullptr;
  bool isF16 = false;
  /// Of A and B of 8 bits, and whether their sums are clamped.
  bool isSignedA = false, isSignedB = false, isSaturated = false;
  bool negA = false, negB = false, isMNA = false, isMNB = false;
  /// Which byte of a cell holds the first scale.
  unsigned scaleA = 0, scaleB = 0;
  /// Of what holds an element.
  unsigned elementBits = 16;
  /// Whether scales are of type UE4M3, or UE8M0.
  bool hasFractions = false;

  unsigned getK() const { return 256 / elementBits; }
};

/// Returns what is wrong, or nothing.
std::string decodeInstruction(uint32_t bits, const TensorForm &form,
                              InstructionDescriptor &descriptor);

/// A product in flight.
struct TensorProduct {
  InstructionDescriptor shape;
  TensorForm form;
  bool isAInTensor = false, accumulates = false;
  uint32_t d = 0, addressA = 0, scaleA = 0, scaleB = 0;
  MatrixDescriptor a, b;
  /// D is divided by two to this power before it is added to.
  unsigned scaleD = 0;
  /// Lanes that are not written, 128 for each CTA.
  std::array<uint32_t, 8> disabled = {};
  /// The even one of a pair first.
  llvm::SmallVector<Cta *, 2> ctas;

  /// Rows of each CTA, those of A twice where D's halves have each their own;
  /// scales of rows.
  std::vector<uint32_t> elementsA[2];
  std::vector<uint32_t> elementsB;
  std::vector<uint8_t> scalesA[2], scalesB;

  uint32_t getRows() const { return shape.m / (form.isPair ? 2 : 1); }
  AccumulatorLayout getLayout() const {
    return getAccumulatorLayout(shape.m, form.isPair, form.isStationary);
  }
};

/// Reads the operands.
void readSources(Machine &machine, AsyncWork &work, TensorProduct &product);
/// Writes D.
void writeProduct(Machine &machine, AsyncWork &work, TensorProduct &product);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_TCGEN05PRODUCT_H
