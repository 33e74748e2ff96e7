//===- Atomic.cpp - Atomics and reductions -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.5 and 9.7.13.6.
//
//===----------------------------------------------------------------------===//

#include "Numerics.h"
#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

enum AtomicOp : uint64_t {
  kAdd,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kExchange,
  kCas,
  kInc,
  kDec
};
static constexpr unsigned kOpShift = 8;

static const char *const kOps[] = {".add", ".min",  ".max", ".and", ".or",
                                   ".xor", ".exch", ".cas", ".inc", ".dec"};

static uint64_t addFloat(const Instruction &i, uint64_t old, uint64_t value) {
  if (i.type.bits == 64) {
    return toBits(fromBits<double>(old) + fromBits<double>(value));
  }
  // On an H200 red and atom flush subnormals in global memory only.
  bool flushes = (i.flags & kSpaceMask) != kSharedSpace;
  float a = fromBits<float>(old), b = fromBits<float>(value);
  float sum =
      flushes ? flushSubnormal(flushSubnormal(a) + flushSubnormal(b)) : a + b;
  return std::isnan(sum) ? 0x7fffffff : toBits(sum);
}

static uint64_t compute(const Instruction &i, uint64_t old, uint64_t value,
                        uint64_t third) {
  unsigned unused = 64 - i.type.bits;
  uint64_t mask = ~uint64_t(0) >> unused;
  value &= mask;
  bool isLess = i.type.isSigned()
                    ? int64_t(value << unused) < int64_t(old << unused)
                    : value < old;
  switch (AtomicOp(i.flags >> kOpShift)) {
  case kAdd:
    return i.type.isFloat() ? addFloat(i, old, value) : (old + value) & mask;
  case kMin:
    return isLess ? value : old;
  case kMax:
    return isLess ? old : value;
  case kAnd:
    return old & value;
  case kOr:
    return old | value;
  case kXor:
    return old ^ value;
  case kExchange:
    return value;
  case kCas:
    return old == value ? third & mask : old;
  case kInc:
    return old >= value ? 0 : old + 1;
  case kDec:
    return old == 0 || old > value ? value : old - 1;
  }
  return old;
}

template <bool returns>
static void runAtomic(Warp &warp, const Instruction &i, uint32_t lanes) {
  size_t first = returns ? 1 : 0;
  uint64_t size = i.type.bits / 8;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t address = toGeneric(warp, i, warp.getAddress(i[first], lane));
    Knowledge &released = warp.machine.strongAccesses[address];
    released.join(warp.know());
    warp.knowledge.join(released);
    Place place = accessLane(warp, i, address, size, true, true);
    uint64_t old = 0;
    if (!place.bytes) {
      return;
    }
    std::memcpy(&old, place.bytes, size);
    uint64_t third = i.arguments.size() > first + 2 && !i[first + 2].isSink
                         ? warp.get(i[first + 2], lane)
                         : 0;
    uint64_t result = compute(i, old, warp.get(i[first + 1], lane), third);
    std::memcpy(place.bytes, &result, size);
    if (returns) {
      warp.set(i[0], lane, old);
    }
  });
  warp.tick();
}

template <bool returns>
static Run chooseAtomic(const Match &match, Instruction &i,
                        std::string &error) {
  i.flags = getSpace(match);
  for (uint64_t op = 0; op < std::size(kOps); ++op) {
    if (match.has(kOps[op])) {
      bool isCas = op == kCas;
      bool hasThird = returns && !i[3].isSink;
      if (isCas != hasThird || (i.type.isFloat() && op != kAdd)) {
        error = "expected other operands of '" + std::string(kOps[op]) + "'";
        return nullptr;
      }
      i.flags |= op << kOpShift;
    }
  }
  return runAtomic<returns>;
}

#define ATOMIC                                                                 \
  "{.relaxed|.acquire|.release|.acq_rel}{.cta|.cluster|.gpu|.sys}{.global|"    \
  ".shared|.shared::cta|.shared::cluster}(.add|.min|.max|.and|.or|.xor|.exch|" \
  ".cas|.inc|.dec)(.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64)"

void mlir::jfa::emu::registerAtomic(OpcodeTable &table) {
  table.add("atom", {ATOMIC, "d m s s?", chooseAtomic<true>, true});
  table.add("red", {ATOMIC, "m s", chooseAtomic<false>, true});
}
