//===- Half.cpp - f16 and bf16 -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.4. Computed in double precision, which is exact for sums and
// products of these formats wherever one rounding decides.
//
//===----------------------------------------------------------------------===//

#include "Approximation.h"
#include "Numerics.h"
#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

enum class Op { Add, Sub, Mul, Fma, Min, Max, Neg, Abs, Ex2 };
static constexpr uint64_t kRelu = 1, kSat = 2, kNanWins = 4, kFtz = 8,
                          kXorSign = 16;

static double extreme(double a, double b, bool isMax, uint64_t flags) {
  if (std::isnan(a) || std::isnan(b)) {
    bool isNan = (flags & kNanWins) || (std::isnan(a) && std::isnan(b));
    return isNan ? NAN : std::isnan(a) ? b : a;
  }
  if (a == b) {
    return std::signbit(a) == isMax ? b : a;
  }
  return (a > b) == isMax ? a : b;
}

template <Op op>
static uint32_t computeHalf(const Format &format, const uint32_t *bits,
                            uint64_t flags) {
  double values[3];
  for (unsigned k = 0; k < 3; ++k) {
    values[k] = decode(format, bits[k]);
    values[k] = flags & kFtz ? flushSubnormal(format, values[k]) : values[k];
  }
  double a = values[0], b = values[1], c = values[2];
  double result = 0;
  switch (op) {
  case Op::Add:
    result = a + b;
    break;
  case Op::Sub:
    result = a - b;
    break;
  case Op::Mul:
    result = a * b;
    break;
  case Op::Fma:
    result = addOdd(a * b, c);
    break;
  case Op::Min:
  case Op::Max:
    if (flags & kXorSign) {
      result = extreme(std::fabs(a), std::fabs(b), op == Op::Max, flags);
      result = (bits[0] ^ bits[1]) & 0x8000 ? -result : result;
      return encode(format, result, Rounding::Nearest);
    }
    result = extreme(a, b, op == Op::Max, flags);
    break;
  case Op::Neg:
    return std::isnan(a) ? format.nan : bits[0] ^ 0x8000;
  case Op::Abs:
    return std::isnan(a) ? format.nan : bits[0] & 0x7fff;
  case Op::Ex2:
    if (&format == &kF16 && a >= 16) {
      return format.largest + 1;
    }
    // The truncated result of the f32 form.
    return encode(format, double(ex2(float(a), &format == &kBF16, true)),
                  Rounding::Zero, false);
  }
  if (flags & kSat) {
    result = result > 0 ? std::min(result, 1.0) : 0;
  }
  if ((flags & kRelu) && result <= 0) {
    result = 0;
  }
  if (flags & kFtz) {
    result = flushSubnormal(format, result);
  }
  return encode(format, result, Rounding::Nearest);
}

template <Op op>
static void runHalf(Warp &warp, const Instruction &i, uint32_t lanes) {
  const Format &format = getFormat(i.type);
  unsigned elements = i.type.bits / 16;
  size_t count = i.arguments.size() - 1;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t result = 0;
    for (unsigned e = 0; e < elements; ++e) {
      uint32_t bits[3] = {};
      for (size_t k = 0; k < count; ++k) {
        bits[k] = uint32_t(warp.get(i[k + 1], lane) >> (16 * e)) & 0xffff;
      }
      result |= uint64_t(computeHalf<op>(format, bits, i.flags)) << (16 * e);
    }
    warp.set(i[0], lane, result);
  });
}

template <Op op>
static void addHalf(OpcodeTable &table, const char *opcode, const char *pattern,
                    const char *operands) {
  table.add(opcode, {pattern, operands,
                     [](const Match &match, Instruction &i, std::string &) {
                       i.flags = (match.has(".relu") ? kRelu : 0) |
                                 (match.has(".sat") ? kSat : 0) |
                                 (match.has(".NaN") ? kNanWins : 0) |
                                 (match.has(".ftz") ? kFtz : 0) |
                                 (match.has(".xorsign") ? kXorSign : 0);
                       return runHalf<op>;
                     }});
}

#define HALVES "(.f16|.f16x2|.bf16|.bf16x2)"

void mlir::jfa::emu::registerHalf(OpcodeTable &table) {
  const char *arithmetic = "{.rn}{.ftz}{.sat}" HALVES;
  addHalf<Op::Add>(table, "add", arithmetic, "d s s");
  addHalf<Op::Sub>(table, "sub", arithmetic, "d s s");
  addHalf<Op::Mul>(table, "mul", arithmetic, "d s s");
  addHalf<Op::Fma>(table, "fma", ".rn{.ftz}{.sat}{.relu}" HALVES, "d s s s");
  for (const char *pattern :
       {"{.ftz}{.NaN}" HALVES, "{.ftz}{.NaN}.xorsign.abs" HALVES}) {
    addHalf<Op::Min>(table, "min", pattern, "d s s");
    addHalf<Op::Max>(table, "max", pattern, "d s s");
  }
  addHalf<Op::Neg>(table, "neg", HALVES, "d s");
  addHalf<Op::Abs>(table, "abs", HALVES, "d s");
  addHalf<Op::Ex2>(table, "ex2", ".approx(.f16|.f16x2)", "d s");
  addHalf<Op::Ex2>(table, "ex2", ".approx.ftz(.bf16|.bf16x2)", "d s");
}
