//===- Float.cpp - Single and double precision -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.3.
//
//===----------------------------------------------------------------------===//

#include "Approximation.h"
#include "Numerics.h"
#include "Semantics.h"

#include <cfenv>
#include <limits>

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// What flags mean here.
static constexpr uint64_t kFtz = 1, kSat = 2, kNanWins = 4, kXorSign = 8,
                          kRoundShift = 4;

template <typename T>
static T flush(T value, uint64_t flags) {
  if constexpr (sizeof(T) == 4) {
    return flags & kFtz ? flushSubnormal(value) : value;
  }
  return value;
}

template <typename T>
static T canonical(T value) {
  if constexpr (sizeof(T) == 4) {
    return std::isnan(value) ? fromBits<float>(0x7fffffff) : value;
  }
  return value;
}

template <typename T>
static T finish(T value, uint64_t flags) {
  if (flags & kSat) {
    // Neither NaN nor -0 stays.
    value = value > 0 ? std::min(value, T(1)) : T(0);
  }
  return canonical(flush(value, flags));
}

enum class Op { Add, Sub, Mul, Fma, Div, Sqrt, Rcp };

template <Op op, typename T>
static T compute(T a, T b, T c) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Fma:
    return std::fma(a, b, c);
  case Op::Div:
    return a / b;
  case Op::Sqrt:
    return std::sqrt(a);
  case Op::Rcp:
    return T(1) / a;
  }
  return a;
}

/// The compiler must not move it across a change of the rounding mode.
template <Op op, typename T>
__attribute__((noinline)) static T computeRounded(T a, T b, T c, int mode) {
  std::fesetround(mode);
  volatile T x = a, y = b, z = c;
  volatile T result = compute<op, T>(x, y, z);
  std::fesetround(FE_TONEAREST);
  return result;
}

/// With `.ftz` what is smaller than the least normal number becomes zero before
/// it is rounded, as on an H200.
template <Op op>
static bool isTiny(float a, float b, float c) {
  if constexpr (op != Op::Mul && op != Op::Fma && op != Op::Div) {
    return false;
  }
  double exact =
      op == Op::Div
          ? computeRounded<op, double>(double(a), double(b), 0, FE_TOWARDZERO)
          : double(a) * double(b);
  if (op == Op::Fma) {
    exact = computeRounded<Op::Add, double>(exact, double(c), 0, FE_TOWARDZERO);
  }
  return exact != 0 && std::fabs(exact) < 0x1p-126;
}

template <Op op, typename T>
static void runArithmetic(Warp &warp, const Instruction &i, uint32_t lanes) {
  static const int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                               FE_UPWARD};
  uint64_t mode = i.flags >> kRoundShift & 3;
  size_t count = i.arguments.size() - 1;
  forEachLane(lanes, [&](unsigned lane) {
    T values[3] = {};
    for (size_t k = 0; k < count; ++k) {
      values[k] = flush(fromBits<T>(warp.get(i[k + 1], lane)), i.flags);
    }
    T result = mode == 0 ? compute<op>(values[0], values[1], values[2])
                         : computeRounded<op>(values[0], values[1], values[2],
                                              kModes[mode]);
    if (sizeof(T) == 4 && (i.flags & kFtz) &&
        isTiny<op>(float(values[0]), float(values[1]), float(values[2]))) {
      result = std::copysign(T(0), result);
    }
    warp.set(i[0], lane, toBits(finish(result, i.flags)));
  });
}

static uint64_t getFlags(const Match &match) {
  uint64_t mode = match.has(".rz") ? 1 : match.has(".rm") ? 2 : 0;
  mode = match.has(".rp") ? 3 : mode;
  return (match.has(".ftz") ? kFtz : 0) | (match.has(".sat") ? kSat : 0) |
         (match.has(".NaN") ? kNanWins : 0) |
         (match.has(".xorsign") ? kXorSign : 0) | mode << kRoundShift;
}

template <Op op>
static Run chooseArithmetic(const Match &match, Instruction &i, std::string &) {
  i.flags = getFlags(match);
  return i.type.bits == 32 ? Run(runArithmetic<op, float>)
                           : Run(runArithmetic<op, double>);
}

/// Two numbers of a register of 64 bits (PTX ISA 9.7.3).
template <Op op>
static void runPairs(Warp &warp, const Instruction &i, uint32_t lanes) {
  static const int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                               FE_UPWARD};
  int mode = kModes[i.flags >> kRoundShift & 3];
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t result = 0;
    for (unsigned half = 0; half < 2; ++half) {
      float values[3] = {};
      for (size_t k = 1; k < i.arguments.size(); ++k) {
        uint64_t bits = warp.get(i[k], lane) >> 32 * half & 0xffffffff;
        values[k - 1] = flush(fromBits<float>(bits), i.flags);
      }
      float value = computeRounded<op>(values[0], values[1], values[2], mode);
      result |= toBits(finish(value, i.flags)) << 32 * half;
    }
    warp.set(i[0], lane, result);
  });
}

template <Op op>
static void addPairs(OpcodeTable &table, const char *opcode,
                     const char *operands) {
  table.add(opcode, {"{.rn|.rz|.rm|.rp}{.ftz}.f32x2", operands,
                     [](const Match &match, Instruction &i, std::string &) {
                       i.flags = getFlags(match);
                       return runPairs<op>;
                     },
                     false, false, Architecture::Blackwell});
}

enum class Approximation { Rcp, Rsqrt, Sqrt, Lg2, Ex2, Sin, Cos, Tanh };

/// What `.approx` instructions compute: what an H200 does if `isExact` and if
/// that is known, or correctly rounded.
static float approximate(Approximation what, float x, bool flushes,
                         bool isExact) {
  switch (what) {
  case Approximation::Rcp:
    return isExact ? rcpExact(x) : float(1.0 / double(x));
  case Approximation::Rsqrt:
    return isExact ? rsqrtExact(x) : float(1.0 / std::sqrt(double(x)));
  case Approximation::Sqrt:
    return isExact ? sqrtExact(x) : std::sqrt(x);
  case Approximation::Lg2:
    return isExact ? lg2Exact(x) : float(std::log2(double(x)));
  case Approximation::Sin:
    return std::sin(x);
  case Approximation::Cos:
    return std::cos(x);
  case Approximation::Tanh:
    return std::tanh(x);
  case Approximation::Ex2:
    break;
  }
  return ex2(x, flushes, isExact);
}

template <Approximation what>
static void runApproximation(Warp &warp, const Instruction &i, uint32_t lanes) {
  bool isExact = warp.machine.options.numerics == Numerics::Exact;
  forEachLane(lanes, [&](unsigned lane) {
    float x = flush(fromBits<float>(warp.get(i[1], lane)), i.flags);
    float y = approximate(what, x, i.flags & kFtz, isExact);
    warp.set(i[0], lane, toBits(canonical(flush(y, i.flags))));
  });
}

template <bool isFull>
static void runDivision(Warp &warp, const Instruction &i, uint32_t lanes) {
  bool isExact = warp.machine.options.numerics == Numerics::Exact;
  forEachLane(lanes, [&](unsigned lane) {
    float a = flush(fromBits<float>(warp.get(i[1], lane)), i.flags);
    float b = flush(fromBits<float>(warp.get(i[2], lane)), i.flags);
    float y = isExact ? divExact(a, b, i.flags & kFtz, isFull) : a / b;
    warp.set(i[0], lane, toBits(canonical(flush(y, i.flags))));
  });
}

template <Approximation what>
static void addApproximation(OpcodeTable &table, const char *opcode,
                             const char *pattern) {
  table.add(opcode, {pattern, "d s",
                     [](const Match &match, Instruction &i, std::string &) {
                       i.flags = getFlags(match);
                       return runApproximation<what>;
                     }});
}

//===----------------------------------------------------------------------===//
// Signs, extremes, comparisons
//===----------------------------------------------------------------------===//

template <typename T, bool isMax>
static void runExtreme(Warp &warp, const Instruction &i, uint32_t lanes) {
  size_t count = i.arguments.size() - 1;
  auto pick = [&](T a, T b) {
    if (std::isnan(a) || std::isnan(b)) {
      bool isNan = (i.flags & kNanWins) || (std::isnan(a) && std::isnan(b));
      return isNan ? std::numeric_limits<T>::quiet_NaN()
                   : (std::isnan(a) ? b : a);
    }
    // +0 is larger than -0 (PTX ISA 9.7.3.12).
    if (a == b) {
      return std::signbit(a) == isMax ? b : a;
    }
    return (a > b) == isMax ? a : b;
  };
  forEachLane(lanes, [&](unsigned lane) {
    T result = flush(fromBits<T>(warp.get(i[1], lane)), i.flags);
    for (size_t k = 1; k < count; ++k) {
      T next = flush(fromBits<T>(warp.get(i[k + 1], lane)), i.flags);
      if (i.flags & kXorSign) {
        // The larger or smaller magnitude, with both signs.
        T sign = std::copysign(T(1), result) * std::copysign(T(1), next);
        result = std::copysign(pick(std::fabs(result), std::fabs(next)), sign);
      } else {
        result = pick(result, next);
      }
    }
    warp.set(i[0], lane, toBits(canonical(result)));
  });
}

template <bool isMax>
static Run chooseExtreme(const Match &match, Instruction &i, std::string &) {
  i.flags = getFlags(match);
  return i.type.bits == 32 ? Run(runExtreme<float, isMax>)
                           : Run(runExtreme<double, isMax>);
}

template <typename T, bool negates>
static void runSign(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    T value = flush(fromBits<T>(warp.get(i[1], lane)), i.flags);
    value = negates ? T(-value) : T(std::fabs(value));
    warp.set(i[0], lane, toBits(canonical(value)));
  });
}

template <bool negates>
static Run chooseSign(const Match &match, Instruction &i, std::string &) {
  i.flags = getFlags(match);
  return i.type.bits == 32 ? Run(runSign<float, negates>)
                           : Run(runSign<double, negates>);
}

template <typename T>
static void runCompare(Warp &warp, const Instruction &i, uint32_t lanes) {
  uint64_t flags = i.flags & 0x400 ? kFtz : 0;
  forEachLane(lanes, [&](unsigned lane) {
    T a = flush(fromBits<T>(warp.get(i[1], lane)), flags);
    T b = flush(fromBits<T>(warp.get(i[2], lane)), flags);
    int order = a < b ? -1 : a > b ? 1 : 0;
    bool isUnordered = std::isnan(a) || std::isnan(b);
    setPredicates(warp, i, lane, compareOrdered(i.flags, order, isUnordered));
  });
}

static Run chooseCompare(const Match &match, Instruction &i, std::string &) {
  if (!setComparison(match, i)) {
    return nullptr;
  }
  return i.type.bits == 32 ? Run(runCompare<float>) : Run(runCompare<double>);
}

void mlir::jfa::emu::registerFloat(OpcodeTable &table) {
  const char *single = "{.rn|.rz|.rm|.rp}{.ftz}{.sat}.f32";
  const char *wide = "{.rn|.rz|.rm|.rp}.f64";
  for (const char *pattern : {single, wide}) {
    table.add("add", {pattern, "d s s", chooseArithmetic<Op::Add>});
    table.add("sub", {pattern, "d s s", chooseArithmetic<Op::Sub>});
    table.add("mul", {pattern, "d s s", chooseArithmetic<Op::Mul>});
    table.add("fma", {pattern, "d s s s", chooseArithmetic<Op::Fma>});
    table.add("mad", {pattern, "d s s s", chooseArithmetic<Op::Fma>});
  }
  addPairs<Op::Add>(table, "add", "d s s");
  addPairs<Op::Sub>(table, "sub", "d s s");
  addPairs<Op::Mul>(table, "mul", "d s s");
  addPairs<Op::Fma>(table, "fma", "d s s s");
  for (const char *pattern :
       {"(.rn|.rz|.rm|.rp){.ftz}.f32", "(.rn|.rz|.rm|.rp).f64"}) {
    table.add("div", {pattern, "d s s", chooseArithmetic<Op::Div>});
  }
  table.add("div", {"(.approx|.full){.ftz}.f32", "d s s",
                    [](const Match &match, Instruction &i, std::string &) {
                      i.flags = getFlags(match);
                      return match.has(".full") ? Run(runDivision<true>)
                                                : Run(runDivision<false>);
                    }});
  for (const char *pattern :
       {"(.rn|.rz|.rm|.rp){.ftz}.f32", "(.rn|.rz|.rm|.rp).f64"}) {
    table.add("sqrt", {pattern, "d s", chooseArithmetic<Op::Sqrt>});
    table.add("rcp", {pattern, "d s", chooseArithmetic<Op::Rcp>});
  }
  const char *approximate = ".approx{.ftz}.f32";
  addApproximation<Approximation::Rcp>(table, "rcp", approximate);
  addApproximation<Approximation::Rsqrt>(table, "rsqrt", approximate);
  addApproximation<Approximation::Sqrt>(table, "sqrt", approximate);
  addApproximation<Approximation::Lg2>(table, "lg2", approximate);
  addApproximation<Approximation::Ex2>(table, "ex2", approximate);
  addApproximation<Approximation::Sin>(table, "sin", approximate);
  addApproximation<Approximation::Cos>(table, "cos", approximate);
  addApproximation<Approximation::Tanh>(table, "tanh", ".approx.f32");
  for (const char *pattern :
       {"{.ftz}{.NaN}.f32", "{.ftz}{.NaN}.xorsign.abs.f32", ".f64"}) {
    table.add("min", {pattern, "d s s", chooseExtreme<false>});
    table.add("max", {pattern, "d s s", chooseExtreme<true>});
  }
  for (const char *pattern : {"{.ftz}.f32", ".f64"}) {
    table.add("neg", {pattern, "d s", chooseSign<true>});
    table.add("abs", {pattern, "d s", chooseSign<false>});
  }
  table.add("setp", {"(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|"
                     ".num|.nan){.and|.or|.xor}{.ftz}(.f32|.f64)",
                     "dp s s sp?", chooseCompare});
  registerFloatSign(table);
}
