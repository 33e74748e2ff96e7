//===- Numerics.h - How the hardware rounds -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_NUMERICS_H
#define JFA_LIB_EMU_NUMERICS_H

#include "jfa/Emu/Module.h"

#include "llvm/ADT/ArrayRef.h"

namespace mlir::jfa::emu {

/// A floating-point format of at most 32 bits.
struct Format {
  unsigned exponentBits, fractionBits;
  /// Bits of the largest number, of a NaN, and of infinity if there is one.
  uint32_t largest, nan;
  bool hasInfinity;

  unsigned getBits() const { return 1 + exponentBits + fractionBits; }
  int getBias() const { return (1 << (exponentBits - 1)) - 1; }
};

extern const Format kF16, kBF16, kE4M3, kE5M2, kE2M3, kE3M2, kE2M1, kTF32;
/// The format of `.bf16` or `.bf16x2`; f16 for others.
const Format &getFormat(Type type);

enum class Rounding { Nearest, Zero };

/// Rounds. What is too large becomes infinity, or the largest number if that is
/// asked for or if the format has no infinity.
uint32_t encode(const Format &format, double value, Rounding rounding,
                bool saturate = false);
double decode(const Format &format, uint32_t bits);

/// A sum that is rounded to odd, so that another rounding does no harm.
double addOdd(double a, double b);

float flushSubnormal(float value);
double flushSubnormal(const Format &format, double value);

/// How a tensor core adds up: the formats of a and b, the bits of a fraction to
/// which terms are aligned and which the sum keeps, and whether c is f16.
struct ProductModel {
  const Format &a, &b;
  int alignedBits, keptBits;
  bool isF16;
  /// All products are times 2^scale.
  int scale = 0;
};

/// One element of a product: a sum of at most 32 products and of `c`.
uint32_t sumProducts(const ProductModel &model, unsigned count,
                     const uint32_t *a, const uint32_t *b, uint32_t c,
                     bool hasC);

/// One element of a product whose groups have scales: a sum of `groups`, each
/// exact, and of `c`, an f32 (as others have measured it, with 35 bits).
uint32_t sumGroups(llvm::ArrayRef<double> groups, uint32_t c, bool hasC);

/// One element of wgmma: a sum of `count` products and of `c`, as an H200
/// rounds it. The formats of a and b have 8 to 32 bits.
uint32_t wgmmaExact(const Format &formatA, const Format &formatB,
                    unsigned count, const uint32_t *a, const uint32_t *b,
                    uint32_t c, bool hasC, bool isF16);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_NUMERICS_H
