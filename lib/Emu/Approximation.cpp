//===- Approximation.cpp - Functions with .approx -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GPU's unit for functions splits a fraction of 23 bits into a segment, its
// first bits, and x, the others. It adds up c0 + c1 * x + c2 * x^2 in fixed
// point and cuts the sum off to 24 bits. Of the products of bits that make x^2,
// it leaves out those in low columns. PTX ISA 9.7.3 gives error bounds only;
// the model is what an H200 does: no difference for any fraction, in all
// binades of rcp, rsqrt and sqrt, and in 16 binades of lg2; for ex2 for all of
// 2^32 inputs.
//
//===----------------------------------------------------------------------===//

#include "Approximation.h"

#include "ApproximationTables.h"
#include "Numerics.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

namespace {
struct Interpolation {
  const Parabola *segments;
  int segmentBits;
  /// Columns of the square below this one are left out.
  int firstColumn;
  /// Sums count units of 2^-unit, and c0 units of 2^c0Shift sums'.
  int unit, c0Shift;
  int64_t bias;
};
} // namespace

constexpr int kFractionBits = 23;
constexpr uint32_t kFractionMask = (uint32_t(1) << kFractionBits) - 1;

constexpr Interpolation kRcp = {kReciprocal, 7, 17, 39, 13, 2023};
constexpr Interpolation kRsqrt[] = {{kInverseRoot, 6, 19, 40, 14, 16383},
                                    {kInverseRoot + 64, 6, 19, 40, 14, 16383}};
constexpr Interpolation kSqrt[] = {{kRoot, 6, 19, 40, 15, 32767},
                                   {kRoot + 64, 6, 19, 40, 15, 32767}};
constexpr Interpolation kLg2 = {kLogarithm, 6, 19, 38, 12, 837};
constexpr Interpolation kEx2 = {kPower, 6, 19, 38, 13, 6114};

/// The square of `x` in units of 2^firstColumn, without what lies below.
static int64_t squareTruncated(uint32_t x, int firstColumn) {
  int64_t sum = 0;
  for (uint32_t bits = x; bits; bits &= bits - 1) {
    int i = llvm::countr_zero(bits);
    uint64_t above = uint64_t(x >> (i + 1)) << (2 * i + 2);
    sum += int64_t((above >> firstColumn) + ((1ull << 2 * i) >> firstColumn));
  }
  return sum;
}

static int64_t interpolate(const Interpolation &function, uint32_t fraction) {
  int lowBits = kFractionBits - function.segmentBits;
  const Parabola &parabola = function.segments[fraction >> lowBits];
  uint32_t x = fraction & ((uint32_t(1) << lowBits) - 1);
  return (int64_t(parabola.c0) << function.c0Shift) + function.bias +
         int64_t(parabola.c1) * x +
         parabola.c2 * squareTruncated(x, function.firstColumn);
}

/// `sum` * 2^exponent, cut off to 24 bits; below the least normal number,
/// rounded once more.
static float makeFloat(int64_t sum, int exponent) {
  int drop = std::max(0, 64 - llvm::countl_zero(uint64_t(sum)) - 24);
  return float(std::ldexp(double(sum >> drop), exponent + drop));
}

namespace {
/// A positive number as (1 + fraction * 2^-23) * 2^exponent.
struct Parts {
  int exponent;
  uint32_t fraction;

  explicit Parts(float x) {
    float significand = std::frexp(x, &exponent) * 2;
    --exponent;
    fraction = llvm::bit_cast<uint32_t>(significand) & kFractionMask;
  }
};
} // namespace

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

float emu::rcpExact(float x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) {
    return 1 / x;
  }
  Parts parts(std::fabs(x));
  // Powers of two are exact.
  float y = parts.fraction == 0 ? float(std::ldexp(1.0, -parts.exponent))
                                : makeFloat(interpolate(kRcp, parts.fraction),
                                            -kRcp.unit - parts.exponent);
  return std::copysign(y, x);
}

float emu::divExact(float a, float b, bool flushes, bool isFull) {
  constexpr float kLeast = 0x1p-126f, kMost = 0x1p126f;
  float scale = 1;
  if (isFull && std::fabs(b) > kMost) {
    scale = 0.25f;
  } else if (!flushes && std::fabs(b) < kLeast) {
    scale = 0x1p24f;
  }
  // Without scaling, the reciprocal of what is large is flushed to zero.
  return flushSubnormal(rcpExact(b * scale)) * (a * scale);
}

float emu::rsqrtExact(float x) {
  if (x == 0) {
    return std::copysign(kInfinity, x);
  }
  if (!(x > 0)) {
    return kNaN;
  }
  if (std::isinf(x)) {
    return 0;
  }
  Parts parts(x);
  int isOdd = parts.exponent & 1, half = (parts.exponent - isOdd) / 2;
  if (parts.fraction == 0 && !isOdd) {
    return std::ldexp(1.0f, -half);
  }
  const Interpolation &function = kRsqrt[isOdd];
  return makeFloat(interpolate(function, parts.fraction),
                   -function.unit - half);
}

float emu::sqrtExact(float x) {
  if (x == 0 || (std::isinf(x) && x > 0)) {
    return x;
  }
  if (!(x > 0)) {
    return kNaN;
  }
  Parts parts(x);
  int isOdd = parts.exponent & 1, half = (parts.exponent - isOdd) / 2;
  const Interpolation &function = kSqrt[isOdd];
  return makeFloat(interpolate(function, parts.fraction), half - function.unit);
}

/// The logarithm of a normal number.
static float lg2Normal(const Parts &parts) {
  if (parts.fraction == 0 && parts.exponent == 0) {
    return 0;
  }
  int64_t sum = (int64_t(parts.exponent) << kLg2.unit) +
                interpolate(kLg2, parts.fraction);
  // Two bits less than the sum has; negative ones by complement.
  sum >>= 2;
  return sum < 0 ? -makeFloat(~sum, 2 - kLg2.unit)
                 : makeFloat(sum, 2 - kLg2.unit);
}

float emu::lg2Exact(float x) {
  if (x == 0) {
    return -kInfinity;
  }
  if (!(x > 0)) {
    return kNaN;
  }
  if (std::isinf(x)) {
    return x;
  }
  Parts parts(x);
  if (std::fpclassify(x) != FP_SUBNORMAL) {
    return lg2Normal(parts);
  }
  // ptxas multiplies by 2^24 first.
  parts.exponent += 24;
  return lg2Normal(parts) - 24;
}

//===----------------------------------------------------------------------===//
// ex2
//===----------------------------------------------------------------------===//

/// 2^(whole + fraction * 2^-23).
static float raise(int whole, uint32_t fraction) {
  return makeFloat(interpolate(kEx2, fraction), whole - kEx2.unit);
}

static float ex2Flushing(float x) {
  if (std::isnan(x)) {
    return kNaN;
  }
  if (x >= 128) {
    return kInfinity;
  }
  if (x < -126) {
    return 0;
  }
  auto fixed = int64_t(std::floor(std::fabs(double(x)) * 8388608.0));
  auto whole = int(fixed >> kFractionBits);
  auto fraction = uint32_t(fixed) & kFractionMask;
  if (x >= 0) {
    return raise(whole, fraction);
  }
  // The complement of the fraction's bits.
  return fraction == 0 ? std::ldexp(1.0f, -whole)
                       : raise(-whole - 1, kFractionMask - fraction);
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
