//===- Conversion.cpp - Conversions of types and of addresses -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.20 and 9.7.9.21.
//
//===----------------------------------------------------------------------===//

#include "Numerics.h"
#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Bits of flags, beside the rounding to an integer.
static constexpr uint64_t kZero = 1, kRelu = 2, kSat = 4, kFtz = 8, kDown = 16,
                          kUp = 32, kClamp = 64, kWhole = 128, kLimit = 256;
static constexpr uint64_t kNan64 = 0x7ff8000000000000;

/// A register's value in a type, as a number.
static double toDouble(Type type, uint64_t bits) {
  if (type.bits == 64) {
    return fromBits<double>(bits);
  }
  if (type.bits == 32) {
    return double(fromBits<float>(bits));
  }
  return decode(getFormat(type), uint32_t(bits & 0xffff));
}

/// `.rna.tf32`, which adds half a unit to the bits. An H200 truncates NaNs.
static uint32_t roundTiesAway(uint64_t bits, bool saturate) {
  bool isFinite = std::isfinite(fromBits<float>(bits));
  auto rounded = uint32_t((bits & 0xffffffff) + (isFinite ? 0x1000 : 0)) >> 13;
  // Of NaNs, too.
  bool isTooLarge = (rounded & 0x3ffff) > kTF32.largest;
  return saturate && isTooLarge ? rounded - 1 : rounded;
}

/// Whether a number that lies off the format's is rounded away from zero, or to
/// it; to the nearest if neither.
static bool isToZero(bool isNegative, uint64_t flags) {
  return (flags & kZero) || (flags & (isNegative ? kUp : kDown));
}
static bool isAway(bool isNegative, uint64_t flags) {
  return flags & (isNegative ? kDown : kUp);
}

/// One rounding from what holds integers and doubles exactly.
static float toSingle(long double value, uint64_t flags) {
  auto result = float(value);
  bool isNegative = value < 0;
  long double excess = std::fabs((long double)result) - std::fabs(value);
  if (excess > 0 && isToZero(isNegative, flags)) {
    return std::nextafter(result, 0.0f);
  }
  if (excess < 0 && isAway(isNegative, flags)) {
    return std::nextafter(result, isNegative ? -INFINITY : INFINITY);
  }
  return result;
}

static uint64_t fromDouble(Type type, double value, uint64_t flags) {
  if (type.bits == 64) {
    return std::isnan(value) ? kNan64 : toBits(value);
  }
  if (type.name == ".f32") {
    return std::isnan(value) ? 0x7fffffff : toBits(toSingle(value, flags));
  }
  if ((flags & kRelu) && value <= 0) {
    value = 0;
  }
  const Format &format = getFormat(type);
  bool isNegative = std::signbit(value), away = isAway(isNegative, flags);
  Rounding rounding =
      away || isToZero(isNegative, flags) ? Rounding::Zero : Rounding::Nearest;
  uint32_t bits = encode(format, value, rounding, flags & kSat);
  if (away && std::fabs(decode(format, bits)) < std::fabs(value)) {
    ++bits;
  }
  return type.name == ".tf32" ? uint64_t(bits) << 13 : bits;
}

static int64_t toSigned(Type type, uint64_t bits) {
  unsigned unused = 64 - type.bits;
  return type.isSigned() ? int64_t(bits << unused) >> unused
                         : int64_t(bits << unused >> unused);
}

static uint64_t truncate(Type type, uint64_t bits) {
  // A register that is wider than the type is extended.
  return type.isSigned() ? uint64_t(toSigned(type, bits))
                         : bits << (64 - type.bits) >> (64 - type.bits);
}

static double roundToWhole(double value, uint64_t flags) {
  return flags & kZero   ? std::trunc(value)
         : flags & kDown ? std::floor(value)
         : flags & kUp   ? std::ceil(value)
                         : std::nearbyint(value);
}

static uint64_t roundToInteger(Type type, double value, uint64_t flags,
                               bool isFromDouble) {
  value = roundToWhole(value, flags);
  double top = std::ldexp(1.0, type.bits - (type.isSigned() ? 1 : 0));
  double least = type.isSigned() ? -top : 0;
  if (std::isnan(value)) {
    // Measured on an H200; PTX says zero.
    bool isLeast = type.bits == 64 || (isFromDouble && type.bits == 32);
    return isLeast ? uint64_t(1) << (type.bits - 1) : 0;
  }
  if (value >= top) {
    uint64_t ones = ~uint64_t(0) >> (64 - type.bits);
    return type.isSigned() ? ones >> 1 : ones;
  }
  if (value <= least) {
    return truncate(type, type.isSigned() ? uint64_t(1) << (type.bits - 1) : 0);
  }
  return truncate(type, value < 0 ? uint64_t(int64_t(value)) : uint64_t(value));
}

/// Conversions of f64, to f64 and of bf16 keep what they can of a NaN.
static bool keepsPayload(Type from, Type to) {
  return (from.bits == 64 && (to.name == ".f32" || to.name == ".f16")) ||
         (to.bits == 64 && from.name == ".f32" && to.isFloat()) ||
         (from.name == ".bf16" && to.name == ".f32");
}
static uint64_t convertNan(Type from, Type to, uint64_t bits, uint64_t flags) {
  if (from.bits == 16) {
    return (bits & 0xffff) << 16;
  }
  if (to.bits == 64) {
    bits = flags & kFtz ? 0x7fffffff : bits & 0xffffffff;
    return (bits >> 31) << 63 | kNan64 | (bits & 0x7fffff) << 29;
  }
  return to.bits == 16
             ? (bits >> 63) << 15 | 0x7e00 | (bits >> 42 & 0x3ff)
             : (bits >> 63) << 31 | 0x7fc00000 | (bits >> 29 & 0x7fffff);
}

/// An integer, limited to what a type holds.
static uint64_t limit(Type to, Type from, uint64_t bits) {
  int64_t value = toSigned(from, bits);
  uint64_t most = ~uint64_t(0) >> (64 - to.bits + (to.isSigned() ? 1 : 0));
  if (!from.isSigned() || value >= 0) {
    return std::min(uint64_t(value), most);
  }
  int64_t least = to.isSigned() ? -int64_t(most) - 1 : 0;
  return uint64_t(std::max(value, least));
}

/// A result that is flushed to zero, if it is of a type that may be.
static uint64_t flushResult(Type to, uint64_t bits, uint64_t flags) {
  return to.name == ".f32" && (flags & kFtz)
             ? toBits(flushSubnormal(fromBits<float>(bits)))
             : bits;
}

/// Here `type` is the result's.
static void runConvert(Warp &warp, const Instruction &i, uint32_t lanes) {
  Type to = i.type, from = i.fromType;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t bits = warp.get(i[1], lane), result = 0;
    if (!from.isFloat()) {
      bits = i.flags & kLimit ? limit(to, from, bits) : bits;
      int64_t value = toSigned(from, bits);
      if (i.flags & kClamp) {
        bool isNegative = from.isSigned() && value < 0;
        value = value != 0 && !isNegative;
      }
      double real = from.isSigned() ? double(value) : double(uint64_t(value));
      if (to.name == ".f32") {
        // One rounding, not two.
        result = toBits(toSingle(from.isSigned() ? (long double)value
                                                 : (long double)uint64_t(value),
                                 i.flags));
      } else {
        result = to.isFloat() ? fromDouble(to, real, i.flags)
                              : truncate(to, uint64_t(value));
      }
    } else {
      double value = toDouble(from, bits);
      if ((i.flags & kFtz) && from.bits == 32) {
        value = double(flushSubnormal(float(value)));
      }
      if (i.flags & kWhole) {
        value = roundToWhole(value, i.flags);
      }
      if (i.flags & kClamp) {
        value = value > 0 ? std::min(value, 1.0) : 0;
      }
      result = std::isnan(value) && keepsPayload(from, to)
                   ? convertNan(from, to, bits, i.flags)
               : to.isFloat()
                   ? fromDouble(to, value, i.flags)
                   : roundToInteger(to, value, i.flags, from.bits == 64);
    }
    warp.set(i[0], lane, flushResult(to, result, i.flags));
  });
}

static void runTiesAway(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t bits = roundTiesAway(warp.get(i[1], lane), i.flags & kSat);
    warp.set(i[0], lane, bits << 13);
  });
}

/// `cvt.rn.bf16x2.f32 d, a, b`: a goes into the upper half.
static void runPack(Warp &warp, const Instruction &i, uint32_t lanes) {
  unsigned half = i.type.bits / 2;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t parts[2];
    for (unsigned k = 0; k < 2; ++k) {
      double value = double(fromBits<float>(warp.get(i[k + 1], lane)));
      parts[k] = fromDouble(i.type, value, i.flags);
      if (half == 8 || half == 16) {
        parts[k] &= (uint64_t(1) << half) - 1;
      }
    }
    warp.set(i[0], lane, parts[0] << half | parts[1]);
  });
}

/// Between packed pairs, halves keep their order.
static void runRepack(Warp &warp, const Instruction &i, uint32_t lanes) {
  unsigned fromHalf = i.fromType.bits / 2, toHalf = i.type.bits / 2;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t bits = warp.get(i[1], lane), result = 0;
    for (unsigned k = 0; k < 2; ++k) {
      auto part = uint32_t(bits >> (k * fromHalf) & ((1u << fromHalf) - 1));
      double value = decode(getFormat(i.fromType), part);
      if ((i.flags & kRelu) && value <= 0) {
        value = 0;
      }
      result |= uint64_t(encode(getFormat(i.type), value, Rounding::Nearest,
                                i.flags & kSat))
                << (k * toHalf);
    }
    warp.set(i[0], lane, result);
  });
}

static void setFlags(const Match &match, Instruction &i) {
  bool isZero = match.has(".rz") || match.has(".rzi");
  bool isDown = match.has(".rm") || match.has(".rmi");
  bool isUp = match.has(".rp") || match.has(".rpi");
  i.flags =
      (isZero ? kZero : 0) | (match.has(".relu") ? kRelu : 0) |
      (match.has(".satfinite") ? kSat : 0) | (match.has(".ftz") ? kFtz : 0) |
      (isDown ? kDown : 0) | (isUp ? kUp : 0) |
      (match.has(".sat") && i.type.isFloat() ? kClamp : 0) |
      (match.has(".sat") && !i.type.isFloat() && !i.fromType.isFloat() ? kLimit
                                                                       : 0);
  bool isWhole = match.has(".rni") || match.has(".rzi") || match.has(".rmi") ||
                 match.has(".rpi");
  i.flags |= isWhole && i.type.isFloat() ? kWhole : 0;
}

template <Run run>
static Run chooseConversion(const Match &match, Instruction &i, std::string &) {
  // The source's type is named last.
  std::swap(i.type, i.fromType);
  setFlags(match, i);
  return run;
}

/// `cvta`: generic addresses are windows (PTX ISA 9.7.9.20).
template <bool isToSpace>
static void runConvertAddress(Warp &warp, const Instruction &i,
                              uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t address = warp.get(i[1], lane);
    bool isShared = (i.flags & kSpaceMask) == kSharedSpace;
    if (isShared) {
      address = isToSpace ? address & 0xffffffff : toGeneric(warp, i, address);
    } else if ((i.flags & kSpaceMask) == kParameterSpace) {
      address =
          isToSpace ? address - kParameterWindow : address + kParameterWindow;
    }
    warp.set(i[0], lane, address);
  });
}

template <bool isToSpace>
static Run chooseConvertAddress(const Match &match, Instruction &i,
                                std::string &) {
  i.flags = getSpace(match);
  return runConvertAddress<isToSpace>;
}

void mlir::jfa::emu::registerConversion(OpcodeTable &table) {
  const char *integers = "{.sat}(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)"
                         "(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)";
  const char *operands = "d0 s";
  table.add("cvt", {integers, operands, chooseConversion<runConvert>});
  table.add("cvt", {"(.rn|.rz|.rm|.rp){.ftz}{.sat}(.f16|.bf16|.f32|.f64)"
                    "(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)",
                    operands, chooseConversion<runConvert>});
  table.add("cvt", {"(.rni|.rzi|.rmi|.rpi){.ftz}{.sat}"
                    "(.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64)"
                    "(.f16|.bf16|.f32|.f64)",
                    operands, chooseConversion<runConvert>});
  table.add("cvt", {"{.rn|.rz|.rm|.rp}{.ftz}{.sat}{.relu}{.satfinite}"
                    "(.f16|.bf16|.f32|.f64)"
                    "(.f16|.bf16|.f32|.f64)",
                    operands, chooseConversion<runConvert>});
  for (const char *whole : {"(.rni|.rzi|.rmi|.rpi){.ftz}{.sat}.f32.f32",
                            "(.rni|.rzi|.rmi|.rpi).f64.f64"}) {
    table.add("cvt", {whole, operands, chooseConversion<runConvert>});
  }
  table.add("cvt", {"(.rn|.rz){.relu}{.satfinite}(.f16x2|.bf16x2).f32",
                    "d32 s s", chooseConversion<runPack>});
  table.add("cvt", {".rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f32", "d16 s s",
                    chooseConversion<runPack>});
  table.add("cvt", {".rn.satfinite{.relu}(.e4m3x2|.e5m2x2).f16x2", "d16 s",
                    chooseConversion<runRepack>});
  table.add("cvt", {".rn{.relu}.f16x2(.e4m3x2|.e5m2x2)", "d32 s",
                    chooseConversion<runRepack>});
  table.add("cvt", {"(.rn|.rz){.relu}{.satfinite}.tf32.f32", "d32 s",
                    chooseConversion<runConvert>});
  table.add("cvt", {".rna{.satfinite}.tf32.f32", "d32 s",
                    chooseConversion<runTiesAway>});
  table.add("cvta", {".to(.global|.shared|.shared::cta|.shared::cluster|.param|"
                     ".const|.local)(.u64|.u32)",
                     "d s", chooseConvertAddress<true>});
  table.add("cvta", {"(.global|.shared|.shared::cta|.shared::cluster|.param|"
                     ".const|.local)(.u64|.u32)",
                     "d s", chooseConvertAddress<false>});
}
