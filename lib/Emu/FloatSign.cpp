//===- FloatSign.cpp - Signs, classes and comparisons of floats -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.3.1, 9.7.3.2, 9.7.3.12 and 9.7.6.
//
//===----------------------------------------------------------------------===//

#include "Numerics.h"
#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// `copysign d, a, b`: b with the sign of a.
template <unsigned bits>
static void runCopySign(Warp &warp, const Instruction &i, uint32_t lanes) {
  constexpr uint64_t kSign = uint64_t(1) << (bits - 1);
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(i[0], lane,
             (warp.get(i[1], lane) & kSign) |
                 (warp.get(i[2], lane) & (kSign - 1)));
  });
}

static const char *const kClasses[] = {
    ".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"};

template <typename T>
static bool isOfClass(uint64_t what, T value) {
  switch (what) {
  case 0:
    return std::isfinite(value);
  case 1:
    return std::isinf(value);
  case 2:
    return !std::isnan(value);
  case 3:
    return std::isnan(value);
  case 4:
    // Zero, too.
    return std::isnormal(value) || value == 0;
  default:
    return std::fpclassify(value) == FP_SUBNORMAL;
  }
}

template <typename T>
static void runTest(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(i[0], lane, isOfClass(i.flags, fromBits<T>(warp.get(i[1], lane))));
  });
}

static Run chooseTest(const Match &match, Instruction &i, std::string &) {
  for (uint64_t k = 0; k < std::size(kClasses); ++k) {
    i.flags = match.modifiers[0] == kClasses[k] ? k : i.flags;
  }
  return i.type.bits == 32 ? Run(runTest<float>) : Run(runTest<double>);
}

//===----------------------------------------------------------------------===//
// Halves
//===----------------------------------------------------------------------===//

static void runCompareHalves(Warp &warp, const Instruction &i, uint32_t lanes) {
  const Format &format = getFormat(i.type);
  auto compare = [&](uint64_t x, uint64_t y) {
    double a = decode(format, uint32_t(x & 0xffff));
    double b = decode(format, uint32_t(y & 0xffff));
    if (i.flags & 0x400) {
      a = flushSubnormal(format, a);
      b = flushSubnormal(format, b);
    }
    return compareOrdered(i.flags,
                          a < b   ? -1
                          : a > b ? 1
                                  : 0,
                          std::isnan(a) || std::isnan(b));
  };
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t a = warp.get(i[1], lane), b = warp.get(i[2], lane);
    bool first = compare(a, b);
    if (i.type.bits == 16) {
      setPredicates(warp, i, lane, first);
      return;
    }
    // Of two, the second predicate is that of the upper halves.
    warp.set(i[0], lane, first);
    if (i[0].second != kNoRegister) {
      warp.row(i[0].second)[lane] = compare(a >> 16, b >> 16);
    }
  });
}

static Run chooseCompareHalves(const Match &match, Instruction &i,
                               std::string &error) {
  if (i.type.bits == 32 && i.arguments.size() > 3 && !i[3].isSink) {
    error = "expected no third operand of a comparison of pairs";
    return nullptr;
  }
  return setComparison(match, i) ? runCompareHalves : nullptr;
}

void mlir::jfa::emu::registerFloatSign(OpcodeTable &table) {
  table.add("copysign", ".f32", "d s s", runCopySign<32>);
  table.add("copysign", ".f64", "d s s", runCopySign<64>);
  table.add("testp", {"(.finite|.infinite|.number|.notanumber|.normal|"
                      ".subnormal)(.f32|.f64)",
                      "dp s", chooseTest});
  table.add("setp", {"(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|"
                     ".num|.nan){.and|.or|.xor}{.ftz}(.f16|.f16x2)",
                     "dp s s sp?", chooseCompareHalves});
  table.add("setp", {"(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|"
                     ".num|.nan){.and|.or|.xor}(.bf16|.bf16x2)",
                     "dp s s sp?", chooseCompareHalves});
}
