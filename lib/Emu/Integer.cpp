//===- Integer.cpp - Integers, logic, comparisons and selection -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.1, 9.7.5 and 9.7.8.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include <limits>

using namespace mlir::jfa::emu;

namespace {
template <typename T>
using Unsigned = std::make_unsigned_t<T>;

struct Add {
  template <typename T>
  static T apply(T a, T b) {
    return T(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct Sub {
  template <typename T>
  static T apply(T a, T b) {
    return T(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
/// Wide enough that no product overflows.
template <typename T>
using Wide =
    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;

struct MulLo {
  template <typename T>
  static T apply(T a, T b) {
    return T(Unsigned<T>(Wide<T>(a) * Wide<T>(b)));
  }
};
struct MulHi {
  template <typename T>
  static T apply(T a, T b) {
    return T((Wide<T>(a) * Wide<T>(b)) >> (sizeof(T) * 8));
  }
};
struct MadLo {
  template <typename T>
  static T apply(T a, T b, T c) {
    return Add::apply(MulLo::apply(a, b), c);
  }
};
struct MadHi {
  template <typename T>
  static T apply(T a, T b, T c) {
    return Add::apply(MulHi::apply(a, b), c);
  }
};
/// By zero, the GPU gives ones and the dividend (unspecified by the ISA).
struct Div {
  template <typename T>
  static T apply(T a, T b) {
    return b == 0 ? T(-1) : T(Wide<T>(a) / Wide<T>(b));
  }
};
struct Rem {
  template <typename T>
  static T apply(T a, T b) {
    return b == 0 ? a : T(Wide<T>(a) % Wide<T>(b));
  }
};
struct Min {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <typename T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
template <typename Op>
struct Relu {
  template <typename T>
  static T apply(T a, T b) {
    return Max::apply(Op::apply(a, b), T(0));
  }
};
struct And {
  template <typename T>
  static T apply(T a, T b) {
    return T(a & b);
  }
};
struct Or {
  template <typename T>
  static T apply(T a, T b) {
    return T(a | b);
  }
};
struct Xor {
  template <typename T>
  static T apply(T a, T b) {
    return T(a ^ b);
  }
};
struct Not {
  template <typename T>
  static T apply(T a) {
    return T(~a);
  }
};
struct Neg {
  template <typename T>
  static T apply(T a) {
    return Sub::apply(T(0), a);
  }
};
struct Abs {
  template <typename T>
  static T apply(T a) {
    return a < T(0) ? Neg::apply(a) : a;
  }
};
struct Copy {
  template <typename T>
  static T apply(T a) {
    return a;
  }
};
struct Reverse {
  template <typename T>
  static T apply(T a) {
    T result = 0;
    for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit) {
      result = T(result << 1 | (a >> bit & 1));
    }
    return result;
  }
};
} // namespace

/// Shifts by the width or more give what shifting one by one gives.
template <typename T, bool isLeft>
static void runShift(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    T a = fromBits<T>(warp.get(i[1], lane));
    uint64_t count = warp.get(i[2], lane) & 0xffffffff;
    bool isAll = count >= sizeof(T) * 8;
    T result = isLeft ? (isAll ? T(0) : T(Unsigned<T>(a) << count))
                      : (isAll ? T(a < T(0) ? -1 : 0) : T(a >> count));
    warp.set(i[0], lane, toBits<T>(result));
  });
}

template <typename T, typename To>
static void runWide(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    To product = To(fromBits<T>(warp.get(i[1], lane))) *
                 To(fromBits<T>(warp.get(i[2], lane)));
    if (i.arguments.size() > 3) {
      product = Add::apply(product, fromBits<To>(warp.get(i[3], lane)));
    }
    warp.set(i[0], lane, toBits<To>(product));
  });
}

static Run chooseWide(const Match &, Instruction &i, std::string &) {
  bool isSigned = i.type.isSigned();
  if (i.type.bits == 16) {
    return isSigned ? Run(runWide<int16_t, int32_t>)
                    : Run(runWide<uint16_t, uint32_t>);
  }
  return isSigned ? Run(runWide<int32_t, int64_t>)
                  : Run(runWide<uint32_t, uint64_t>);
}

/// The wide result has a type of its own.
static void addWide(OpcodeTable &table, const char *opcode,
                    const char *operands16, const char *operands32) {
  table.add(opcode, {".wide(.u16|.s16)", operands16, chooseWide});
  table.add(opcode, {".wide(.u32|.s32)", operands32, chooseWide});
}

template <typename T>
static void runExtract(Warp &warp, const Instruction &i, uint32_t lanes) {
  constexpr unsigned kBits = sizeof(T) * 8;
  forEachLane(lanes, [&](unsigned lane) {
    auto a = fromBits<Unsigned<T>>(warp.get(i[1], lane));
    unsigned pos = warp.get(i[2], lane) & 0xff;
    unsigned len = warp.get(i[3], lane) & 0xff;
    unsigned last = std::min(pos + len - 1, kBits - 1);
    bool sign = std::is_signed_v<T> && len > 0 && (a >> last & 1);
    Unsigned<T> result = sign ? Unsigned<T>(-1) : 0;
    for (unsigned bit = 0; bit < kBits && bit < len; ++bit) {
      bool value = pos + bit < kBits ? (a >> (pos + bit) & 1) : sign;
      Unsigned<T> one = Unsigned<T>(1) << bit;
      result = value ? result | one : result & ~one;
    }
    warp.set(i[0], lane, toBits(result));
  });
}

template <typename T>
static void runInsert(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    T a = fromBits<T>(warp.get(i[1], lane)),
      b = fromBits<T>(warp.get(i[2], lane));
    unsigned pos = warp.get(i[3], lane) & 0xff;
    unsigned len = warp.get(i[4], lane) & 0xff;
    for (unsigned bit = 0; bit < len && pos + bit < sizeof(T) * 8; ++bit) {
      T one = T(1) << (pos + bit);
      b = (a >> bit & 1) ? b | one : b & ~one;
    }
    warp.set(i[0], lane, toBits(b));
  });
}

/// `popc`, `clz` and `bfind`.
enum Count { kPopulation, kLeadingZeros, kFind };
template <typename T, Count kind>
static void runCount(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    T value = fromBits<T>(warp.get(i[1], lane));
    auto a = Unsigned<T>(kind == kFind && value < T(0) ? ~value : value);
    unsigned zeros =
        a == 0 ? sizeof(T) * 8
               : unsigned(__builtin_clzll(a)) - unsigned(64 - sizeof(T) * 8);
    uint32_t result = kind == kPopulation ? uint32_t(__builtin_popcountll(a))
                      : kind == kLeadingZeros
                          ? zeros
                          : uint32_t(sizeof(T) * 8) - 1 - zeros;
    warp.set(i[0], lane, result);
  });
}

template <Count kind>
static Run chooseCount(const Match &, Instruction &i, std::string &) {
  return chooseInteger(
      i.type, [](auto t) -> Run { return runCount<decltype(t), kind>; });
}

static void runLop3(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t a = warp.get(i[1], lane), b = warp.get(i[2], lane),
             c = warp.get(i[3], lane), table = warp.get(i[4], lane);
    uint64_t result = 0;
    for (unsigned k = 0; k < 8; ++k) {
      if (table >> k & 1) {
        result |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
      }
    }
    warp.set(i[0], lane, result & 0xffffffff);
  });
}

static void runPermute(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t bytes = (warp.get(i[1], lane) & 0xffffffff) | warp.get(i[2], lane)
                                                               << 32;
    uint64_t selector = warp.get(i[3], lane), result = 0;
    for (unsigned k = 0; k < 4; ++k) {
      uint64_t s = selector >> (4 * k);
      uint64_t byte = bytes >> (s & 7) * 8 & 0xff;
      result |= (s & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * k);
    }
    warp.set(i[0], lane, result);
  });
}

template <bool isLeft>
static void runFunnel(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t both = (warp.get(i[1], lane) & 0xffffffff) | warp.get(i[2], lane)
                                                              << 32;
    uint64_t count = warp.get(i[3], lane) & 0xffffffff;
    count = i.flags ? count & 31 : std::min<uint64_t>(count, 32);
    uint64_t result = isLeft ? both << count >> 32 : both >> count;
    warp.set(i[0], lane, result & 0xffffffff);
  });
}

template <bool isLeft>
static Run chooseFunnel(const Match &match, Instruction &i, std::string &) {
  i.flags = match.has(".wrap");
  return runFunnel<isLeft>;
}

//===----------------------------------------------------------------------===//
// Comparisons and selection
//===----------------------------------------------------------------------===//

static const char *const kComparisons[] = {
    ".eq", ".ne",  ".lt",  ".le",  ".gt",  ".ge",  ".lo",  ".ls",  ".hi",
    ".hs", ".equ", ".neu", ".ltu", ".leu", ".gtu", ".geu", ".num", ".nan"};

bool mlir::jfa::emu::setComparison(const Match &match, Instruction &i) {
  for (uint64_t k = 0; k < std::size(kComparisons); ++k) {
    if (match.modifiers[0] == kComparisons[k]) {
      i.flags = k;
      i.flags |= match.has(".and") ? 0x100 : match.has(".or") ? 0x200 : 0;
      i.flags |= match.has(".xor") ? 0x300 : 0;
      i.flags |= match.has(".ftz") ? 0x400 : 0;
      return true;
    }
  }
  return false;
}

bool mlir::jfa::emu::compareOrdered(uint64_t flags, int order,
                                    bool isUnordered) {
  uint64_t kind = flags & 0xff;
  if (kind >= 16) {
    return (kind == 16) != isUnordered;
  }
  if (isUnordered) {
    // Of `.ne`, too, PTX ISA 9.3.2: only the `u` forms hold.
    return kind >= 10;
  }
  switch (kind >= 10 ? kind - 10 : kind >= 6 ? kind - 4 : kind) {
  case 0:
    return order == 0;
  case 1:
    return order != 0;
  case 2:
    return order < 0;
  case 3:
    return order <= 0;
  case 4:
    return order > 0;
  default:
    return order >= 0;
  }
}

void mlir::jfa::emu::setPredicates(Warp &warp, const Instruction &i,
                                   unsigned lane, bool found) {
  bool other =
      i.arguments.size() > 3 && !i[3].isSink && warp.getPredicate(i[3], lane);
  auto combine = [&](bool value) {
    uint64_t how = i.flags >> 8 & 3;
    return how == 1   ? value && other
           : how == 2 ? value || other
           : how == 3 ? value != other
                      : value;
  };
  warp.set(i[0], lane, combine(found));
  if (i[0].second != kNoRegister) {
    warp.row(i[0].second)[lane] = combine(!found);
  }
}

template <typename T>
static void runCompare(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    T a = fromBits<T>(warp.get(i[1], lane)),
      b = fromBits<T>(warp.get(i[2], lane));
    int order = a < b ? -1 : a > b ? 1 : 0;
    setPredicates(warp, i, lane, compareOrdered(i.flags, order, false));
  });
}

static Run chooseCompare(const Match &match, Instruction &i, std::string &) {
  if (!setComparison(match, i)) {
    return nullptr;
  }
  return chooseInteger(i.type,
                       [](auto t) -> Run { return runCompare<decltype(t)>; });
}

static void runSelect(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    bool first = warp.getPredicate(i[3], lane);
    warp.set(i[0], lane, warp.get(i[first ? 1 : 2], lane));
  });
}

template <int kind>
static void runLogic(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    bool a = warp.getPredicate(i[1], lane);
    bool b = kind < 3 && warp.getPredicate(i[2], lane);
    bool result = kind == 0   ? a && b
                  : kind == 1 ? a || b
                  : kind == 2 ? a != b
                  : kind == 3 ? !a
                              : a;
    warp.set(i[0], lane, result);
  });
}

#define SIGNED_OR_NOT "(.u16|.s16|.u32|.s32|.u64|.s64)"

void mlir::jfa::emu::registerInteger(OpcodeTable &table) {
  const char *all = SIGNED_OR_NOT;
  const char *bits = "(.b16|.b32|.b64)";
  table.add("add", {all, "d s s", chooseBinary<Add>});
  table.add("sub", {all, "d s s", chooseBinary<Sub>});
  table.add("mul", {".lo" SIGNED_OR_NOT, "d s s", chooseBinary<MulLo>});
  table.add("mul", {".hi" SIGNED_OR_NOT, "d s s", chooseBinary<MulHi>});
  table.add("mad", {".lo" SIGNED_OR_NOT, "d s s s", chooseTernary<MadLo>});
  table.add("mad", {".hi" SIGNED_OR_NOT, "d s s s", chooseTernary<MadHi>});
  addWide(table, "mul", "d32 s s", "d64 s s");
  addWide(table, "mad", "d32 s s s32", "d64 s s s64");
  table.add("div", {all, "d s s", chooseBinary<Div>});
  table.add("rem", {all, "d s s", chooseBinary<Rem>});
  table.add("min", {all, "d s s", chooseBinary<Min>});
  table.add("max", {all, "d s s", chooseBinary<Max>});
  table.add("min", {".relu.s32", "d s s", chooseBinary<Relu<Min>>});
  table.add("max", {".relu.s32", "d s s", chooseBinary<Relu<Max>>});
  table.add("abs", {"(.s16|.s32|.s64)", "d s", chooseUnary<Abs>});
  table.add("neg", {"(.s16|.s32|.s64)", "d s", chooseUnary<Neg>});
  table.add("and", {bits, "d s s", chooseBinary<And>});
  table.add("or", {bits, "d s s", chooseBinary<Or>});
  table.add("xor", {bits, "d s s", chooseBinary<Xor>});
  table.add("not", {bits, "d s", chooseUnary<Not>});
  table.add("and", ".pred", "dp sp sp", runLogic<0>);
  table.add("or", ".pred", "dp sp sp", runLogic<1>);
  table.add("xor", ".pred", "dp sp sp", runLogic<2>);
  table.add("not", ".pred", "dp sp", runLogic<3>);
  table.add("mov", ".pred", "dp sp", runLogic<4>);
  table.add("shl",
            {bits, "d s s32", [](const Match &, Instruction &i, std::string &) {
               return chooseInteger(i.type, [](auto t) -> Run {
                 return runShift<decltype(t), true>;
               });
             }});
  table.add("shr", {"(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)", "d s s32",
                    [](const Match &, Instruction &i, std::string &) {
                      return chooseInteger(i.type, [](auto t) -> Run {
                        return runShift<decltype(t), false>;
                      });
                    }});
  table.add("bfe", {"(.u32|.s32|.u64|.s64)", "d s s32 s32",
                    [](const Match &, Instruction &i, std::string &) {
                      return chooseInteger(i.type, [](auto t) -> Run {
                        return runExtract<decltype(t)>;
                      });
                    }});
  table.add("bfi", ".b32", "d s s s32 s32", runInsert<uint32_t>);
  table.add("bfi", ".b64", "d s s s32 s32", runInsert<uint64_t>);
  table.add("brev", {"(.b32|.b64)", "d s", chooseUnary<Reverse>});
  table.add("popc", {"(.b32|.b64)", "d32 s", chooseCount<kPopulation>});
  table.add("clz", {"(.b32|.b64)", "d32 s", chooseCount<kLeadingZeros>});
  table.add("bfind", {"(.u32|.s32|.u64|.s64)", "d32 s", chooseCount<kFind>});
  table.add("lop3", ".b32", "d s s s i", runLop3);
  table.add("prmt", ".b32", "d s s s", runPermute);
  table.add("shf", {".l(.clamp|.wrap).b32", "d s s s32", chooseFunnel<true>});
  table.add("shf", {".r(.clamp|.wrap).b32", "d s s s32", chooseFunnel<false>});
  table.add("setp", {"(.eq|.ne|.lt|.le|.gt|.ge|.lo|.ls|.hi|.hs){.and|.or|.xor}"
                     "(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)",
                     "dp s s sp?", chooseCompare});
  table.add("selp", "(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)",
            "d s s sp", runSelect);
}
