//===- WarpWide.cpp - Instructions of whole warps -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.6, 9.7.13.2, 9.7.13.9 to 9.7.13.14.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

uint64_t emu::getUniform(Warp &warp, const Argument &argument, const char *what,
                         uint32_t lanes) {
  lanes &= warp.live;
  uint64_t value = warp.get(argument, unsigned(__builtin_ctz(lanes)));
  bool isUniform = true;
  forEachLane(lanes, [&](unsigned lane) {
    isUniform &= warp.get(argument, lane) == value;
  });
  if (!isUniform) {
    warp.fault(Fault::Illegal,
               std::string("expects the same ") + what + " in all lanes");
  }
  return value;
}

/// Waits for the lanes of a mask, which must have the executing ones.
static bool gatherMask(Warp &warp, const Argument &argument, uint32_t lanes) {
  auto mask = uint32_t(warp.get(argument, unsigned(__builtin_ctz(lanes))));
  if ((lanes & ~mask) != 0) {
    warp.fault(Fault::Convergence, "lanes " + toHex(lanes & ~mask) +
                                       " execute it, but are not in its mask " +
                                       toHex(mask));
  }
  return warp.gather(lanes, mask);
}

static void runSync(Warp &warp, const Instruction &i, uint32_t lanes) {
  gatherMask(warp, i[0], lanes);
}

enum Shuffle : uint64_t { kUp, kDown, kButterfly, kIndex };

static void runShuffle(Warp &warp, const Instruction &i, uint32_t lanes) {
  if (!gatherMask(warp, i[4], lanes)) {
    return;
  }
  std::array<uint64_t, 32> results{};
  uint32_t inRange = 0;
  forEachLane(lanes, [&](unsigned lane) {
    auto b = unsigned(warp.get(i[2], lane) & 31);
    auto c = unsigned(warp.get(i[3], lane));
    unsigned segment = c >> 8 & 31, clamp = c & 31;
    unsigned last = (lane & segment) | (clamp & ~segment);
    unsigned source = lane;
    bool isInRange = true;
    switch (Shuffle(i.flags)) {
    case kUp:
      source = lane - b;
      isInRange = int(lane) - int(b) >= int(last);
      break;
    case kDown:
      source = lane + b;
      isInRange = source <= last;
      break;
    case kButterfly:
      source = lane ^ b;
      isInRange = source <= last;
      break;
    case kIndex:
      source = (lane & segment) | (b & ~segment);
      isInRange = source <= last;
      break;
    }
    source = isInRange ? source & 31 : lane;
    if (!(lanes >> source & 1)) {
      warp.fault(Fault::Convergence,
                 "lane " + std::to_string(lane) + " reads lane " +
                     std::to_string(source) + ", which does not execute it");
    }
    results[lane] = warp.get(i[1], source);
    inRange |= uint32_t(isInRange) << lane;
  });
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(i[0], lane, results[lane]);
    if (i[0].second != kNoRegister) {
      warp.row(i[0].second)[lane] = inRange >> lane & 1;
    }
  });
}

enum Vote : uint64_t { kAll, kAny, kUniform, kBallot };

static void runVote(Warp &warp, const Instruction &i, uint32_t lanes) {
  if (!gatherMask(warp, i[2], lanes)) {
    return;
  }
  uint32_t ballot = 0;
  forEachLane(lanes, [&](unsigned lane) {
    ballot |= uint32_t(warp.getPredicate(i[1], lane)) << lane;
  });
  uint32_t result = i.flags == kAll       ? ballot == lanes
                    : i.flags == kAny     ? ballot != 0
                    : i.flags == kUniform ? ballot == lanes || ballot == 0
                                          : ballot;
  forEachLane(lanes, [&](unsigned lane) { warp.set(i[0], lane, result); });
}

/// On an H200 the lowest lane of the mask.
static void runElect(Warp &warp, const Instruction &i, uint32_t lanes) {
  if (!gatherMask(warp, i[1], lanes)) {
    return;
  }
  auto leader = unsigned(__builtin_ctz(lanes));
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(i[0], lane, leader);
    if (i[0].second != kNoRegister) {
      warp.row(i[0].second)[lane] = lane == leader;
    }
  });
}

enum Reduce : uint64_t { kSum, kMin, kMax, kAndAll, kOrAll, kXorAll };

static void runReduce(Warp &warp, const Instruction &i, uint32_t lanes) {
  if (!gatherMask(warp, i[2], lanes)) {
    return;
  }
  bool isFirst = true;
  uint32_t result = 0;
  forEachLane(lanes, [&](unsigned lane) {
    auto value = uint32_t(warp.get(i[1], lane));
    bool isLess =
        i.type.isSigned() ? int32_t(value) < int32_t(result) : value < result;
    switch (Reduce(i.flags)) {
    case kSum:
      result += value;
      break;
    case kMin:
      result = isFirst || isLess ? value : result;
      break;
    case kMax:
      result = isFirst || !isLess ? value : result;
      break;
    case kAndAll:
      result = isFirst ? value : result & value;
      break;
    case kOrAll:
      result |= value;
      break;
    case kXorAll:
      result ^= value;
      break;
    }
    isFirst = false;
  });
  forEachLane(lanes, [&](unsigned lane) { warp.set(i[0], lane, result); });
}

/// `match`: the lanes with the same value, or all if all have it.
template <bool isAll>
static void runMatch(Warp &warp, const Instruction &i, uint32_t lanes) {
  if (!gatherMask(warp, i[2], lanes)) {
    return;
  }
  uint64_t keep = ~uint64_t(0) >> (64 - i.type.bits);
  auto get = [&](unsigned lane) { return warp.get(i[1], lane) & keep; };
  std::array<uint32_t, 32> same{};
  forEachLane(lanes, [&](unsigned lane) {
    forEachLane(lanes, [&](unsigned other) {
      same[lane] |= uint32_t(get(lane) == get(other)) << other;
    });
  });
  forEachLane(lanes, [&](unsigned lane) {
    bool isMatch = same[lane] == lanes;
    warp.set(i[0], lane, isAll && !isMatch ? 0 : same[lane]);
    if (isAll && i[0].second != kNoRegister) {
      warp.row(i[0].second)[lane] = isMatch;
    }
  });
}

static void runActiveMask(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) { warp.set(i[0], lane, lanes); });
}

static void addKind(OpcodeTable &table, const char *opcode,
                    const std::string &pattern, const char *operands, Run run,
                    uint64_t kind) {
  table.add(opcode, {pattern, operands,
                     [=](const Match &, Instruction &i, std::string &) {
                       i.flags = kind;
                       return run;
                     }});
}

void mlir::jfa::emu::registerWarp(OpcodeTable &table) {
  table.add("bar", ".warp.sync", "s32", runSync);
  table.add("elect", ".sync", "d32 s32", runElect);
  table.add("activemask", ".b32", "d", runActiveMask);
  const char *const shuffles[] = {".up", ".down", ".bfly", ".idx"};
  for (uint64_t kind = 0; kind < 4; ++kind) {
    addKind(table, "shfl", std::string(".sync") + shuffles[kind] + ".b32",
            "d s s32 s32 s32", runShuffle, kind);
  }
  addKind(table, "vote", ".sync.all.pred", "dp sp s32", runVote, kAll);
  addKind(table, "vote", ".sync.any.pred", "dp sp s32", runVote, kAny);
  addKind(table, "vote", ".sync.uni.pred", "dp sp s32", runVote, kUniform);
  addKind(table, "vote", ".sync.ballot.b32", "d32 sp s32", runVote, kBallot);
  table.add("match", ".any.sync(.b32|.b64)", "d32 s s32", runMatch<false>);
  table.add("match", ".all.sync(.b32|.b64)", "d32 s s32", runMatch<true>);
  const char *const reductions[] = {".add", ".min", ".max",
                                    ".and", ".or",  ".xor"};
  for (uint64_t kind = 0; kind < 6; ++kind) {
    addKind(table, "redux",
            std::string(".sync") + reductions[kind] + "(.u32|.s32|.b32)",
            "d s s32", runReduce, kind);
  }
}
