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

#include "Atomic.h"
#include "Numerics.h"
#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static constexpr unsigned kOpShift = 8;

static const char *const kOps[] = {".add", ".min",  ".max", ".and", ".or",
                                   ".xor", ".exch", ".cas", ".inc", ".dec"};

std::optional<AtomicOp> emu::getAtomicOp(const Match &match) {
  for (uint64_t op = 0; op < std::size(kOps); ++op) {
    if (match.has(kOps[op])) {
      return AtomicOp(op);
    }
  }
  return std::nullopt;
}

static uint64_t addFloat(Type type, uint64_t old, uint64_t value,
                         bool flushes) {
  if (type.bits == 64) {
    return toBits(fromBits<double>(old) + fromBits<double>(value));
  }
  float a = fromBits<float>(old), b = fromBits<float>(value);
  float sum =
      flushes ? flushSubnormal(flushSubnormal(a) + flushSubnormal(b)) : a + b;
  return std::isnan(sum) ? 0x7fffffff : toBits(sum);
}

/// f16 and bf16, one or two in a word; subnormals are kept.
static uint64_t reduceHalves(AtomicOp op, Type type, uint64_t old,
                             uint64_t value) {
  const Format &format = getFormat(type);
  uint64_t result = 0;
  for (unsigned shift = 0; shift < type.bits; shift += 16) {
    double a = decode(format, uint32_t(old >> shift & 0xffff));
    double b = decode(format, uint32_t(value >> shift & 0xffff));
    double sum = a + b;
    if (op != kAdd) {
      bool takesA = std::isnan(b) || (op == kMin ? a < b : a > b) ||
                    (a == b && std::signbit(a) == (op == kMin));
      sum = takesA ? a : b;
    }
    result |= uint64_t(encode(format, sum, Rounding::Nearest)) << shift;
  }
  return result;
}

uint64_t emu::reduce(AtomicOp op, Type type, uint64_t old, uint64_t value,
                     uint64_t third, bool flushes) {
  unsigned unused = 64 - type.bits;
  uint64_t mask = ~uint64_t(0) >> unused;
  value &= mask;
  if (type.isFloat() && (type.bits == 16 || type.name.ends_with("x2"))) {
    return reduceHalves(op, type, old, value);
  }
  bool isLess = type.isSigned()
                    ? int64_t(value << unused) < int64_t(old << unused)
                    : value < old;
  switch (op) {
  case kAdd:
    return type.isFloat() ? addFloat(type, old, value, flushes)
                          : (old + value) & mask;
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
    // On an H200 red and atom flush subnormals in global memory only.
    bool flushes = (i.flags & kSpaceMask) != kSharedSpace;
    uint64_t result = reduce(AtomicOp(i.flags >> kOpShift), i.type, old,
                             warp.get(i[first + 1], lane), third, flushes);
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
  AtomicOp op = *getAtomicOp(match);
  i.flags = getSpace(match) | uint64_t(op) << kOpShift;
  bool isCas = op == kCas;
  bool hasThird = returns && !i[3].isSink;
  if (isCas != hasThird || (i.type.isFloat() && op != kAdd)) {
    error = "expected other operands of '" + std::string(kOps[op]) + "'";
    return nullptr;
  }
  return runAtomic<returns>;
}

/// Several elements in a row, each for itself.
static void runVector(Warp &warp, const Instruction &i, uint32_t lanes) {
  const auto &parts = i[1].parts;
  uint64_t size = i.type.bits / 8;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t address = toGeneric(warp, i, warp.getAddress(i[0], lane));
    Place place = accessLane(warp, i, address, size * parts.size(), true, true);
    for (size_t k = 0; k < parts.size() && place.bytes; ++k) {
      uint64_t old = 0;
      std::memcpy(&old, place.bytes + k * size, size);
      old = reduce(AtomicOp(i.flags >> kOpShift), i.type, old,
                   warp.get(parts[k], lane), 0, true);
      std::memcpy(place.bytes + k * size, &old, size);
    }
  });
  warp.tick();
}

static Run chooseVector(const Match &match, Instruction &i,
                        std::string &error) {
  i.flags = kGlobalSpace | uint64_t(*getAtomicOp(match)) << kOpShift;
  size_t width = match.has(".v8") ? 8 : match.has(".v4") ? 4 : 2;
  if (i[1].parts.size() != width || width * i.type.bits > 128) {
    error =
        "expected " + std::to_string(width) + " registers of at most 128 bits";
    return nullptr;
  }
  return runVector;
}

#define ORDER "{.relaxed|.acquire|.release|.acq_rel}{.cta|.cluster|.gpu|.sys}"
#define SPACE "{.global|.shared|.shared::cta|.shared::cluster}"
#define ATOMIC                                                                 \
  ORDER SPACE "(.add|.min|.max|.and|.or|.xor|.exch|.cas|.inc|.dec)"            \
              "(.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64)"
#define HALVES ORDER SPACE ".add.noftz(.f16|.f16x2|.bf16|.bf16x2)"

void mlir::jfa::emu::registerAtomic(OpcodeTable &table) {
  for (const char *pattern : {ATOMIC, ORDER SPACE ".cas.b16", HALVES}) {
    table.add("atom", {pattern, "d m s s?", chooseAtomic<true>, true});
  }
  for (const char *pattern : {ATOMIC, HALVES}) {
    table.add("red", {pattern, "m s", chooseAtomic<false>, true});
  }
  for (const char *pattern : {ORDER "{.global}.add(.v2|.v4).f32", ORDER
                              "{.global}(.add|.min|.max).noftz(.v2|.v4|.v8)"
                              "(.f16|.f16x2|.bf16|.bf16x2)"}) {
    table.add("red", {pattern, "m S", chooseVector, true});
  }
  registerAsyncStore(table);
}
