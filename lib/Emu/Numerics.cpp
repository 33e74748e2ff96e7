//===- Numerics.cpp - How the hardware rounds -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measured on an H200 (PTX ISA leaves it open): 2^32 inputs of ex2 and 25
// million products without a difference.
//
//===----------------------------------------------------------------------===//

#include "Numerics.h"

#include "llvm/Support/Compression.h"
#include "llvm/Support/Error.h"

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
// ex2
//===----------------------------------------------------------------------===//

// The differences of 2^f from the nearest number, two bits each; compressed.
__asm__(".section .rodata\n"
        ".globl jfa_ex2_table_begin\n"
        ".globl jfa_ex2_table_end\n"
        "jfa_ex2_table_begin:\n"
        ".incbin \"" JFA_EX2_TABLE "\"\n"
        "jfa_ex2_table_end:\n"
        ".byte 0\n"
        ".previous\n");
extern "C" const uint8_t jfa_ex2_table_begin[], jfa_ex2_table_end[];

static float fromWord(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

static const std::vector<uint8_t> &getDifferences() {
  static const std::vector<uint8_t> differences = [] {
    constexpr size_t kBytes = size_t(1) << 21;
    llvm::SmallVector<uint8_t, 0> bytes;
    llvm::ArrayRef<uint8_t> packed(jfa_ex2_table_begin, jfa_ex2_table_end);
    if (llvm::Error error =
            llvm::compression::zlib::decompress(packed, bytes, kBytes)) {
      llvm::consumeError(std::move(error));
    }
    // Without a difference: 1.
    bytes.resize(kBytes, 0x55);
    return std::vector<uint8_t>(bytes.begin(), bytes.end());
  }();
  return differences;
}

/// 2^(f / 2^23).
static float lookUp(uint32_t f) {
  auto nearest = float(std::exp2(double(f) / 8388608.0));
  uint32_t bits = 0;
  std::memcpy(&bits, &nearest, 4);
  return fromWord(bits + (getDifferences()[f / 4] >> (f % 4 * 2) & 3) - 1);
}

static float ex2Flushing(float x) {
  if (std::isnan(x)) {
    return fromWord(0x7fffffff);
  }
  if (x >= 128) {
    return INFINITY;
  }
  if (x < -126) {
    return 0;
  }
  auto fixed = int64_t(std::floor(std::fabs(double(x)) * 8388608.0));
  auto whole = int(fixed >> 23);
  auto f = uint32_t(fixed & 0x7fffff);
  if (x >= 0) {
    return std::ldexp(lookUp(f), whole);
  }
  // The complement of the fraction's bits.
  return f == 0 ? std::ldexp(1.0f, -whole)
                : std::ldexp(lookUp(0x7fffff - f), -whole - 1);
}

float emu::ex2(float x, bool flushes, bool isExact) {
  if (!isExact) {
    float y = std::exp2(flushes ? flushSubnormal(x) : x);
    return flushes ? flushSubnormal(y) : y;
  }
  if (flushes || !(x < -126) || std::isinf(x)) {
    return ex2Flushing(x);
  }
  float root = ex2Flushing(0.5f * x);
  return root * root;
}

//===----------------------------------------------------------------------===//
// wgmma
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

uint32_t emu::sumProducts(const ProductModel &model, unsigned count,
                          const uint32_t *a, const uint32_t *b, uint32_t c,
                          bool hasC) {
  bool isF16 = model.isF16;
  int aligned = model.alignedBits;
  // Zeros do not take part in the alignment, and no term aligns below -133.
  Term terms[33];
  unsigned used = 0;
  int largest = -133;
  bool isNan = false, infinities[2] = {false, false};
  auto add = [&](const Term &term) {
    isNan |= term.kind == Term::NotANumber;
    infinities[term.isNegative] |= term.kind == Term::Infinite;
    if (term.kind == Term::Finite) {
      terms[used++] = term;
      largest = std::max(largest, term.exponent);
    }
  };
  for (unsigned k = 0; k < count; ++k) {
    Term term = multiply(split(model.a, a[k]), split(model.b, b[k]));
    term.exponent += model.scale;
    add(term);
  }
  if (hasC) {
    add(split(isF16 ? kF16 : kF32, c));
  }
  if (isNan || (infinities[0] && infinities[1])) {
    return isF16 ? kF16.nan : kF32.nan;
  }
  if (infinities[0] || infinities[1]) {
    return ((isF16 ? kF16 : kF32).largest + 1) | uint32_t(infinities[1])
                                                     << (isF16 ? 15 : 31);
  }
  int64_t sum = 0;
  for (unsigned k = 0; k < used; ++k) {
    const Term &term = terms[k];
    int shift = aligned - term.fractionBits + term.exponent - largest;
    int64_t part = shift >= 0    ? term.significand << shift
                   : shift < -62 ? 0
                                 : term.significand >> -shift;
    sum += term.isNegative ? -part : part;
  }
  if (sum == 0) {
    return 0;
  }
  auto magnitude = uint64_t(sum < 0 ? -sum : sum);
  int keep = isF16 ? 10 : model.keptBits;
  return roundSum(magnitude, largest - aligned, sum < 0, keep, isF16);
}
