//===- NumericsTest.cpp - How the hardware rounds -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emu/Numerics.h"
#include "Emu/Approximation.h"
#include "jfa/Emu/TensorMap.h"

#include "llvm/Support/CRC.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <vector>

using namespace mlir::jfa::emu;

static uint32_t toWord(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return bits;
}

TEST(NumericsTest, EveryNarrowNumberIsKept) {
  for (const Format *format : {&kF16, &kBF16, &kE4M3, &kE5M2}) {
    unsigned width = 1 + format->exponentBits + format->fractionBits;
    for (uint32_t bits = 0; bits < (1u << width); ++bits) {
      double value = decode(*format, bits);
      if (!std::isnan(value)) {
        EXPECT_EQ(encode(*format, value, Rounding::Nearest), bits);
        EXPECT_EQ(encode(*format, value, Rounding::Zero), bits);
      }
    }
  }
}

TEST(NumericsTest, RoundsToNearestEven) {
  EXPECT_EQ(encode(kBF16, 1.0 + 1.0 / 256, Rounding::Nearest), 0x3f80u);
  EXPECT_EQ(encode(kBF16, 1.0 + 3.0 / 256, Rounding::Nearest), 0x3f82u);
  EXPECT_EQ(encode(kBF16, 1.0 + 3.0 / 256, Rounding::Zero), 0x3f81u);
  EXPECT_EQ(encode(kF16, 65520.0, Rounding::Nearest), 0x7c00u);
  EXPECT_EQ(encode(kF16, 65520.0, Rounding::Zero), 0x7bffu);
  EXPECT_EQ(encode(kE4M3, 1e9, Rounding::Nearest, true), 0x7eu);
  EXPECT_EQ(encode(kE5M2, -INFINITY, Rounding::Nearest, true), 0xfbu);
  EXPECT_EQ(encode(kBF16, NAN, Rounding::Nearest), 0x7fffu);
  EXPECT_EQ(encode(kE4M3, -0.0, Rounding::Nearest), 0x80u);
}

TEST(NumericsTest, Ex2IsAsMeasured) {
  EXPECT_EQ(ex2(0, true, true), 1.0f);
  EXPECT_EQ(ex2(-126, true, true), std::ldexp(1.0f, -126));
  EXPECT_EQ(ex2(-127, true, true), 0.0f);
  // The square of a root, one below the exact result.
  EXPECT_EQ(toWord(ex2(-127, false, true)), 0x003fffffu);
  EXPECT_EQ(ex2(128, true, true), INFINITY);
  EXPECT_TRUE(std::isnan(ex2(NAN, true, true)));
  for (float x = -20; x < 20; x += 0.37f) {
    float exact = std::exp2(x);
    EXPECT_NEAR(ex2(x, true, true), exact, 3e-7f * exact);
  }
}

/// The checksum of what `function` returns for all numbers of some binades.
static uint32_t sumUp(float (*function)(float), uint32_t exponent,
                      uint32_t binades) {
  uint32_t crc = 0;
  std::vector<uint32_t> results(1u << 16);
  uint32_t first = exponent << 23;
  for (uint32_t at = 0; at < binades << 23; at += uint32_t(results.size())) {
    for (uint32_t i = 0; i < results.size(); ++i) {
      float x = 0;
      uint32_t bits = first + at + i;
      std::memcpy(&x, &bits, 4);
      results[i] = toWord(function(x));
    }
    crc = llvm::crc32(crc, {reinterpret_cast<const uint8_t *>(results.data()),
                            results.size() * 4});
  }
  return crc;
}

/// Checksums of what an H200 has returned.
TEST(NumericsTest, FunctionsAreAsMeasured) {
  EXPECT_EQ(sumUp(rcpExact, 127, 1), 0xa9f2ecfcu);
  EXPECT_EQ(sumUp(rsqrtExact, 127, 2), 0x9d0587e4u);
  EXPECT_EQ(sumUp(sqrtExact, 127, 2), 0x98891b5du);
  EXPECT_EQ(sumUp(lg2Exact, 126, 1), 0x1852a07cu);
  EXPECT_EQ(sumUp(lg2Exact, 127, 1), 0x15f1d460u);
  EXPECT_EQ(sumUp(lg2Exact, 131, 1), 0x660f4675u);
}

TEST(NumericsTest, FunctionsOfEdgesAreAsMeasured) {
  auto fromWord = [](uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  };
  EXPECT_EQ(toWord(rcpExact(-0.0f)), 0xff800000u);
  EXPECT_EQ(toWord(rcpExact(fromWord(0x007fffff))), 0x7e800001u);
  EXPECT_EQ(toWord(rcpExact(fromWord(0x00400000))), 0x7f000000u);
  EXPECT_EQ(toWord(rcpExact(fromWord(0x7f7fffff))), 0x00200000u);
  EXPECT_EQ(toWord(rcpExact(-INFINITY)), 0x80000000u);
  EXPECT_EQ(toWord(lg2Exact(fromWord(0x00800000))), 0xc2fbffffu);
  EXPECT_EQ(toWord(lg2Exact(fromWord(0x00400000))), 0xc2fdffffu);
  EXPECT_EQ(toWord(lg2Exact(fromWord(0x7f7fffff))), 0x42ffffffu);
  EXPECT_EQ(toWord(lg2Exact(-0.0f)), 0xff800000u);
  EXPECT_TRUE(std::isnan(lg2Exact(-1.0f)));
  EXPECT_EQ(toWord(rsqrtExact(fromWord(0x00000001))), 0x64b504f2u);
  EXPECT_EQ(toWord(rsqrtExact(-0.0f)), 0xff800000u);
  EXPECT_TRUE(std::isnan(rsqrtExact(-1.0f)));
  EXPECT_EQ(toWord(sqrtExact(fromWord(0x00800000))), 0x20000000u);
  EXPECT_EQ(toWord(sqrtExact(-0.0f)), 0x80000000u);
}

/// Groups are aligned to the largest, and 35 bits below it are kept.
TEST(NumericsTest, GroupsAreTruncated) {
  uint32_t one = toWord(1.0f);
  EXPECT_EQ(sumGroups({1.0, 2.0, -3.0, 0.0}, one, true), one);
  EXPECT_EQ(sumGroups({1.0, std::ldexp(1.0, -35), 0.0, 0.0}, 0xbf800000, true),
            toWord(std::ldexp(1.0f, -35)));
  EXPECT_EQ(sumGroups({1.0, std::ldexp(1.0, -36), 0.0, 0.0}, 0xbf800000, true),
            0u);
  EXPECT_EQ(sumGroups({1.0, 0.0, 0.0, NAN}, 0, false), 0x7fffffffu);
  EXPECT_EQ(sumGroups({std::ldexp(1.0, 200), 0.0, 0.0, 0.0}, 0, false),
            0x7f800000u);
}

TEST(NumericsTest, ProductsAreTruncated) {
  uint32_t a[16] = {}, b[16] = {};
  // Without terms the accumulator is kept, except for the sign of zero.
  EXPECT_EQ(wgmmaExact(kBF16, kBF16, 16, a, b, toWord(1.5f), true, false),
            toWord(1.5f));
  EXPECT_EQ(wgmmaExact(kBF16, kBF16, 16, a, b, 0x80000000, true, false), 0u);
  // 1 - 2^-26 falls below the 25 bits that are kept: nothing is borrowed.
  a[0] = 0x3f80;
  b[0] = 0x3f80;
  EXPECT_EQ(wgmmaExact(kBF16, kBF16, 16, a, b, toWord(-std::ldexp(1.0f, -26)),
                       true, false),
            toWord(1.0f));
  // 1 + 3 * 2^-25 is truncated, not rounded, to 24 bits.
  EXPECT_EQ(wgmmaExact(kBF16, kBF16, 16, a, b,
                       toWord(3 * std::ldexp(1.0f, -25)), true, false),
            toWord(1.0f));
  a[1] = 0x7f80; // infinity times zero
  EXPECT_EQ(wgmmaExact(kBF16, kBF16, 16, a, b, 0, true, false), 0x7fffffffu);
  b[1] = 0xbf80;
  EXPECT_EQ(wgmmaExact(kBF16, kBF16, 16, a, b, 0, true, false), 0xff800000u);
}

TEST(NumericsTest, SwizzlesPermuteSixteenBytes) {
  EXPECT_EQ(swizzleAddress(0x400, 0), 0x400u);
  EXPECT_EQ(swizzleAddress(0x480, 3), 0x490u);
  EXPECT_EQ(swizzleAddress(0x7f0, 3), 0x780u);
  EXPECT_EQ(swizzleAddress(0x4b0, 2), 0x4a0u);
  EXPECT_EQ(swizzleAddress(0x480, 1), 0x490u);
  // A tile that does not begin with the pattern.
  EXPECT_EQ(swizzleAddress(0x480, 3, 1), 0x480u);
}
