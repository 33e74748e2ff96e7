//===- ValueTest.cpp - Tests of the simulator's number formats -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every code of the narrow formats, and every fp32 number whose low bits matter
// to their rounding, against LLVM's APFloat.
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Value.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir::jfa::sim;
using llvm::APFloat;
using llvm::APInt;

namespace {
struct Format {
  ElementKind kind;
  const llvm::fltSemantics &semantics;
  unsigned bits;
  /// Whether what is too large becomes the largest number, as
  /// cvt.rn.satfinite makes it (PTX ISA 9.7.9.22).
  bool saturates;
};

const Format kFormats[] = {
    {ElementKind::E4M3, APFloat::Float8E4M3FN(), 8, true},
    {ElementKind::E5M2, APFloat::Float8E5M2(), 8, true},
    {ElementKind::BF16, APFloat::BFloat(), 16, false},
    {ElementKind::F16, APFloat::IEEEhalf(), 16, false}};

float toFloat(APFloat value) {
  bool losesInfo = false;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToFloat();
}

bool isSame(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) ||
         (x == y && std::signbit(x) == std::signbit(y));
}

float getReference(const Format &format, float value) {
  APFloat largest = APFloat::getLargest(format.semantics);
  if (format.saturates && !std::isnan(value) &&
      std::fabs(value) > toFloat(largest)) {
    return std::copysign(toFloat(largest), value);
  }
  APFloat result(value);
  bool losesInfo = false;
  result.convert(format.semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return toFloat(result);
}

/// Checks one rounding, in registers and in memory.
bool check(const Format &format, float value) {
  float expected = getReference(format, value);
  uint8_t bytes[8] = {};
  encode(format.kind, value, bytes);
  float rounded = roundTo(format.kind, value);
  float stored = decodeReal(format.kind, bytes);
  EXPECT_TRUE(isSame(rounded, expected) && isSame(stored, expected))
      << "expected " << value << " to become " << expected << ", but got "
      << rounded << " and " << stored;
  return isSame(rounded, expected) && isSame(stored, expected);
}
} // namespace

TEST(SimValue, DecodesEveryCode) {
  for (const Format &format : kFormats) {
    for (uint32_t code = 0; code < (1u << format.bits); ++code) {
      uint8_t bytes[2] = {uint8_t(code), uint8_t(code >> 8)};
      float expected =
          toFloat(APFloat(format.semantics, APInt(format.bits, code)));
      ASSERT_TRUE(isSame(decodeReal(format.kind, bytes), expected))
          << "code " << code << ": expected " << expected << ", but got "
          << decodeReal(format.kind, bytes);
    }
  }
}

TEST(SimValue, RoundsAsTheFormatSays) {
  // All signs, exponents and upper mantissas; below, what decides on a tie and
  // its neighbours.
  const uint32_t kLow[] = {0, 1, 0x7ff, 0x800, 0x801, 0xfff};
  for (const Format &format : kFormats) {
    for (uint32_t high = 0; high < (1u << 20); ++high) {
      for (uint32_t low : kLow) {
        ASSERT_TRUE(check(format, llvm::bit_cast<float>((high << 12) | low)));
      }
    }
  }
}

TEST(SimValue, SaturatesWithTheSign) {
  EXPECT_EQ(roundTo(ElementKind::E4M3, INFINITY), 448.0f);
  EXPECT_EQ(roundTo(ElementKind::E4M3, -1e30f), -448.0f);
  EXPECT_EQ(roundTo(ElementKind::E5M2, -INFINITY), -57344.0f);
  EXPECT_EQ(roundTo(ElementKind::F16, 1e30f), INFINITY);
}
