//===- Numerics.cpp - How the hardware rounds -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measured on an H200 (PTX ISA leaves it open): 25 million products without a
// difference.
//
//===----------------------------------------------------------------------===//

#include "Numerics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

const Format emu::kF16 = {5, 10, 0x7bff, 0x7fff, true};
const Format emu::kBF16 = {8, 7, 0x7f7f, 0x7fff, true};
const Format emu::kE4M3 = {4, 3, 0x7e, 0x7f, false};
const Format emu::kE5M2 = {5, 2, 0x7b, 0x7f, true};
const Format emu::kE2M3 = {2, 3, 0x1f, 0x1f, false};
const Format emu::kE3M2 = {3, 2, 0x1f, 0x1f, false};
const Format emu::kE2M1 = {2, 1, 0x7, 0x7, false};
/// In a register of 32 bits, low bits last.
const Format emu::kTF32 = {8, 10, 0x3fbff, 0x3ffff, true};

const Format &emu::getFormat(Type type) {
  if (type.name.starts_with(".bf16")) {
    return kBF16;
  }
  if (type.name.starts_with(".e4m3")) {
    return kE4M3;
  }
  if (type.name.starts_with(".e5m2")) {
    return kE5M2;
  }
  return type.name == ".tf32" ? kTF32 : kF16;
}

uint32_t emu::encode(const Format &format, double value, Rounding rounding,
                     bool saturate) {
  uint32_t sign = uint32_t(std::signbit(value))
                  << (format.exponentBits + format.fractionBits);
  if (std::isnan(value)) {
    return format.nan;
  }
  if (value == 0) {
    return sign;
  }
  double magnitude = std::fabs(value);
  uint32_t bits = format.largest + 1;
  if (!std::isinf(value)) {
    int least = 1 - format.getBias();
    int exponent = std::max(std::ilogb(magnitude), least);
    double scaled = std::ldexp(magnitude, int(format.fractionBits) - exponent);
    double whole = std::floor(scaled), rest = scaled - whole;
    bool isUp = rounding == Rounding::Nearest &&
                (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2) == 1));
    double sum = whole + isUp +
                 std::ldexp(double(exponent - least), int(format.fractionBits));
    bits = uint32_t(std::min(sum, double(format.largest + 1)));
  }
  if (bits > format.largest) {
    bool isClamped = saturate || !format.hasInfinity ||
                     (rounding == Rounding::Zero && !std::isinf(value));
    bits = format.largest + (isClamped ? 0 : 1);
  }
  return sign | bits;
}

double emu::decode(const Format &format, uint32_t bits) {
  unsigned fraction = format.fractionBits;
  bool isNegative = bits >> (format.exponentBits + fraction) & 1;
  uint32_t magnitude = bits & ((1u << (format.exponentBits + fraction)) - 1);
  double value = 0;
  if (magnitude > format.largest) {
    bool isInfinity = format.hasInfinity && magnitude == format.largest + 1;
    value = isInfinity ? INFINITY : NAN;
  } else {
    auto field = int(magnitude >> fraction);
    uint32_t rest = magnitude & ((1u << fraction) - 1);
    uint32_t significand = field ? rest | 1u << fraction : rest;
    value = std::ldexp(double(significand),
                       std::max(field, 1) - format.getBias() - int(fraction));
  }
  return isNegative ? -value : value;
}

double emu::addOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum)) {
    return sum;
  }
  double part = sum - a, rest = (a - (sum - part)) + (b - part);
  uint64_t bits = 0;
  std::memcpy(&bits, &sum, 8);
  if (rest != 0 && bits % 2 == 0) {
    // Down or up in magnitude, to where the rest is.
    bits += std::signbit(rest) == std::signbit(sum) ? 1 : -1;
    std::memcpy(&sum, &bits, 8);
  }
  return sum;
}

float emu::flushSubnormal(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value)
                                                : value;
}

double emu::flushSubnormal(const Format &format, double value) {
  double least = std::ldexp(1.0, 1 - format.getBias());
  return std::fabs(value) < least ? std::copysign(0.0, value) : value;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// A number as significand * 2^(exponent - fractionBits), not normalised.
struct Term {
  enum Kind { Finite, Infinite, NotANumber, Zero } kind = Zero;
  bool isNegative = false;
  int exponent = 0;
  int64_t significand = 0;
  int fractionBits = 0;
};
constexpr Format kF32 = {8, 23, 0x7f7fffff, 0x7fffffff, true};
} // namespace

static Term split(const Format &format, uint32_t bits) {
  Term term;
  unsigned fraction = format.fractionBits;
  unsigned width = format.exponentBits + fraction;
  uint32_t magnitude = bits & ((uint32_t(1) << width) - 1);
  term.isNegative = bits >> width & 1;
  term.fractionBits = int(fraction);
  if (magnitude > format.largest) {
    bool isInfinity = format.hasInfinity && magnitude == format.largest + 1;
    term.kind = isInfinity ? Term::Infinite : Term::NotANumber;
    return term;
  }
  auto field = int(magnitude >> fraction);
  term.significand = magnitude & ((1u << fraction) - 1);
  if (field) {
    term.significand |= int64_t(1) << fraction;
  }
  term.exponent = std::max(field, 1) - format.getBias();
  term.kind = term.significand ? Term::Finite : Term::Zero;
  return term;
}

static Term multiply(const Term &a, const Term &b) {
  Term product;
  product.isNegative = a.isNegative != b.isNegative;
  product.exponent = a.exponent + b.exponent;
  product.significand = a.significand * b.significand;
  product.fractionBits = a.fractionBits + b.fractionBits;
  bool isInfinite = a.kind == Term::Infinite || b.kind == Term::Infinite;
  bool isZero = a.kind == Term::Zero || b.kind == Term::Zero;
  if (a.kind == Term::NotANumber || b.kind == Term::NotANumber ||
      (isInfinite && isZero)) {
    product.kind = Term::NotANumber;
  } else {
    product.kind = isInfinite ? Term::Infinite
                   : isZero   ? Term::Zero
                              : Term::Finite;
  }
  return product;
}

static int getTop(uint64_t magnitude, int unit) {
  return unit + 63 - __builtin_clzll(magnitude);
}

/// Rounds `magnitude` * 2^unit: to zero with `keep` bits, or to nearest f16.
static uint32_t roundSum(uint64_t magnitude, int unit, bool isNegative,
                         int keep, bool isF16) {
  const Format &format = isF16 ? kF16 : kF32;
  int least = 1 - format.getBias(), fraction = int(format.fractionBits);
  int last = std::max(getTop(magnitude, unit), least) - keep;
  int drop = last - unit;
  if (drop > 63) {
    return 0;
  }
  if (drop > 0) {
    uint64_t kept = magnitude >> drop;
    uint64_t rest = magnitude & ((uint64_t(1) << drop) - 1);
    uint64_t half = uint64_t(1) << (drop - 1);
    kept += isF16 && (rest > half || (rest == half && (kept & 1)));
    magnitude = kept;
    unit = last;
  }
  if (magnitude == 0) {
    return 0;
  }
  uint32_t sign = uint32_t(isNegative) << (isF16 ? 15 : 31);
  int top = getTop(magnitude, unit);
  if (top > format.getBias()) {
    return sign | (format.largest + 1);
  }
  int granule = std::max(top, least) - fraction;
  uint64_t scaled = unit >= granule ? magnitude << (unit - granule)
                                    : magnitude >> (granule - unit);
  auto bits = uint32_t(scaled);
  if (top >= least) {
    bits =
        uint32_t(top - least + 1) << fraction | (bits & ((1u << fraction) - 1));
  }
  return sign | bits;
}

uint32_t emu::wgmmaExact(const Format &formatA, const Format &formatB,
                         unsigned count, const uint32_t *a, const uint32_t *b,
                         uint32_t c, bool hasC, bool isF16) {
  bool isNarrow = formatA.exponentBits + formatA.fractionBits < 8;
  ProductModel model{formatA, formatB, isNarrow ? 13 : 25, isNarrow ? 13 : 23,
                     isF16};
  return sumProducts(model, count, a, b, c, hasC);
}

namespace {
/// A sum of terms, which are aligned to the largest before they are cut off.
class AlignedSum {
public:
  void add(const Term &term) {
    isNan |= term.kind == Term::NotANumber;
    infinities[term.isNegative] |= term.kind == Term::Infinite;
    // Zeros do not take part in the alignment.
    if (term.kind == Term::Finite) {
      terms[used++] = term;
      largest = std::max(largest, term.exponent);
    }
  }
  uint32_t round(int alignedBits, int keptBits, bool isF16) const;

private:
  Term terms[33];
  unsigned used = 0;
  /// No term aligns below.
  int largest = -133;
  bool isNan = false, infinities[2] = {false, false};
};
} // namespace

uint32_t AlignedSum::round(int alignedBits, int keptBits, bool isF16) const {
  const Format &format = isF16 ? kF16 : kF32;
  if (isNan || (infinities[0] && infinities[1])) {
    return format.nan;
  }
  if (infinities[0] || infinities[1]) {
    return (format.largest + 1) | uint32_t(infinities[1]) << (isF16 ? 15 : 31);
  }
  int64_t sum = 0;
  for (unsigned k = 0; k < used; ++k) {
    const Term &term = terms[k];
    int shift = alignedBits - term.fractionBits + term.exponent - largest;
    int64_t part = shift >= 0    ? term.significand << shift
                   : shift < -62 ? 0
                                 : term.significand >> -shift;
    sum += term.isNegative ? -part : part;
  }
  if (sum == 0) {
    return 0;
  }
  auto magnitude = uint64_t(sum < 0 ? -sum : sum);
  return roundSum(magnitude, largest - alignedBits, sum < 0,
                  isF16 ? 10 : keptBits, isF16);
}

uint32_t emu::sumProducts(const ProductModel &model, unsigned count,
                          const uint32_t *a, const uint32_t *b, uint32_t c,
                          bool hasC) {
  AlignedSum sum;
  for (unsigned k = 0; k < count; ++k) {
    Term term = multiply(split(model.a, a[k]), split(model.b, b[k]));
    term.exponent += model.scale;
    sum.add(term);
  }
  if (hasC) {
    sum.add(split(model.isF16 ? kF16 : kF32, c));
  }
  return sum.round(model.alignedBits, model.keptBits, model.isF16);
}

/// A number of at most 25 bits.
static Term makeTerm(double value) {
  Term term;
  term.isNegative = std::signbit(value);
  if (std::isnan(value) || value == 0) {
    term.kind = value == 0 ? Term::Zero : Term::NotANumber;
    return term;
  }
  term.kind = Term::Finite;
  term.exponent = std::ilogb(value);
  term.fractionBits = 24;
  term.significand =
      int64_t(std::ldexp(std::fabs(value), term.fractionBits - term.exponent));
  return term;
}

uint32_t emu::sumGroups(llvm::ArrayRef<double> groups, uint32_t c, bool hasC) {
  AlignedSum sum;
  for (double group : groups) {
    sum.add(makeTerm(group));
  }
  if (hasC) {
    sum.add(split(kF32, c));
  }
  return sum.round(35, 23, false);
}
