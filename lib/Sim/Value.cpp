//===- Value.cpp - What slots of a program hold -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

Value::Value() = default;
Value::Value(const Value &) = default;
Value::Value(Value &&) noexcept = default;
Value &Value::operator=(const Value &) = default;
Value &Value::operator=(Value &&) noexcept = default;
Value::~Value() = default;

int64_t sim::getBytes(ElementKind kind) {
  switch (kind) {
  case ElementKind::E4M3:
  case ElementKind::E5M2:
  case ElementKind::I1:
  case ElementKind::I8:
    return 1;
  case ElementKind::BF16:
  case ElementKind::F16:
  case ElementKind::I16:
    return 2;
  case ElementKind::F32:
  case ElementKind::I32:
    return 4;
  case ElementKind::I64:
    return 8;
  }
  return 0;
}

int64_t sim::getNumElements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

static uint32_t getBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

static uint16_t toBF16(float value) {
  uint32_t bits = getBits(value);
  if (std::isnan(value)) {
    return uint16_t((bits >> 16) | 0x40);
  }
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static float fromF16(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) {
    return fromBits(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13));
  }
  if (magnitude < 0x400) {
    float value = std::ldexp(float(magnitude), -24);
    return sign ? -value : value;
  }
  return fromBits(sign | ((magnitude << 13) + (112u << 23)));
}

static uint16_t toF16(float value) {
  auto sign = uint16_t((getBits(value) >> 16) & 0x8000);
  float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return uint16_t(sign | 0x7e00);
  }
  if (magnitude >= 65520.0f) {
    return uint16_t(sign | 0x7c00);
  }
  if (magnitude < 0x1p-14f) {
    // Rounds to nearest even, as the mode of the host does.
    return uint16_t(sign | uint16_t(std::nearbyint(magnitude * 0x1p24f)));
  }
  uint32_t bits = getBits(magnitude);
  bits += 0xfff + ((bits >> 13) & 1);
  return uint16_t(sign | ((bits - (112u << 23)) >> 13));
}

namespace {
/// A type of eight bits, a sign and an exponent among them.
struct SmallFormat {
  int mantissaBits;
  int bias;
  float largest;
};
} // namespace

static constexpr SmallFormat kE4M3{3, 7, 448.0f};
static constexpr SmallFormat kE5M2{2, 15, 57344.0f};
/// Not a number, in both.
static constexpr uint8_t kSmallNaN = 0x7f;

static const SmallFormat *getSmallFormat(ElementKind kind) {
  return kind == ElementKind::E4M3   ? &kE4M3
         : kind == ElementKind::E5M2 ? &kE5M2
                                     : nullptr;
}

static uint8_t toSmall(const SmallFormat &format, float value) {
  if (std::isnan(value)) {
    return kSmallNaN;
  }
  auto sign = uint8_t(std::signbit(value) ? 0x80 : 0);
  float magnitude = std::min(std::fabs(value), format.largest);
  // Numbers below the least normal one are spaced as that one's are.
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : -format.bias;
  exponent = std::max(exponent, 1 - format.bias);
  // Rounds to nearest even, as the mode of the host does. A carry into the next
  // exponent is a carry into the exponent's bits.
  auto steps = int(
      std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent)));
  int above = (exponent - (1 - format.bias)) << format.mantissaBits;
  return uint8_t(sign | (above + steps));
}

static float fromSmall(const SmallFormat &format, uint8_t byte) {
  int magnitude = byte & 0x7f;
  int exponent = magnitude >> format.mantissaBits;
  int mantissa = magnitude & ((1 << format.mantissaBits) - 1);
  float value =
      exponent == 0
          ? std::ldexp(float(mantissa), 1 - format.bias - format.mantissaBits)
          : std::ldexp(float(mantissa + (1 << format.mantissaBits)),
                       exponent - format.bias - format.mantissaBits);
  if (value > format.largest) {
    // Only the wider exponent has room for infinity.
    value = mantissa == 0 && &format == &kE5M2 ? INFINITY : NAN;
  }
  return (byte & 0x80) != 0 ? -value : value;
}

float sim::roundTo(ElementKind kind, float value) {
  if (const SmallFormat *format = getSmallFormat(kind)) {
    return fromSmall(*format, toSmall(*format, value));
  }
  switch (kind) {
  case ElementKind::BF16:
    return fromBits(uint32_t(toBF16(value)) << 16);
  case ElementKind::F16:
    return fromF16(toF16(value));
  default:
    return value;
  }
}

int64_t sim::wrapTo(ElementKind kind, int64_t value) {
  switch (kind) {
  case ElementKind::I1:
    return value & 1;
  case ElementKind::I8:
    return int8_t(value);
  case ElementKind::I16:
    return int16_t(value);
  case ElementKind::I32:
    return int32_t(value);
  default:
    return value;
  }
}

//===----------------------------------------------------------------------===//
// Elements in memory
//===----------------------------------------------------------------------===//

void sim::encode(ElementKind kind, float value, uint8_t *bytes) {
  if (const SmallFormat *format = getSmallFormat(kind)) {
    *bytes = toSmall(*format, value);
    return;
  }
  uint16_t half = kind == ElementKind::BF16 ? toBF16(value) : toF16(value);
  if (kind == ElementKind::F32) {
    std::memcpy(bytes, &value, sizeof(value));
  } else {
    std::memcpy(bytes, &half, sizeof(half));
  }
}

void sim::encode(ElementKind kind, int64_t value, uint8_t *bytes) {
  // Both are little-endian.
  std::memcpy(bytes, &value, size_t(getBytes(kind)));
}

void sim::decodeReals(ElementKind kind, const uint8_t *bytes, int64_t count,
                      float *values) {
  if (kind == ElementKind::F32) {
    std::memcpy(values, bytes, size_t(count) * sizeof(float));
    return;
  }
  if (const SmallFormat *format = getSmallFormat(kind)) {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = fromSmall(*format, bytes[i]);
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half;
    std::memcpy(&half, bytes + 2 * i, sizeof(half));
    values[i] = kind == ElementKind::BF16 ? fromBits(uint32_t(half) << 16)
                                          : fromF16(half);
  }
}

float sim::decodeReal(ElementKind kind, const uint8_t *bytes) {
  float value;
  decodeReals(kind, bytes, 1, &value);
  return value;
}

int64_t sim::decodeInteger(ElementKind kind, const uint8_t *bytes) {
  int64_t value = 0;
  std::memcpy(&value, bytes, size_t(getBytes(kind)));
  return wrapTo(kind, value);
}
