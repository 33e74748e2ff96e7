//===- MBarrier.cpp - mbarriers -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.15, on the simulator's state machine.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static constexpr int64_t kMaxCount = (1 << 20) - 1;

/// Beside the state space.
static constexpr uint64_t kDrop = 4, kExpect = 8, kParity = 16, kTest = 32,
                          kNegative = 64, kRelaxed = 128, kNoComplete = 256;

static uint64_t getBarrierAddress(Warp &warp, const Instruction &i,
                                  const Argument &argument, unsigned lane) {
  return toGeneric(warp, i, warp.getAddress(argument, lane));
}

static LiveBarrier *findBarrier(Warp &warp, uint64_t generic) {
  return warp.machine.findBarrier(generic, warp.getLine(), warp.know());
}

static void runInit(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t generic = getBarrierAddress(warp, i, i[0], lane);
    auto count = int64_t(warp.get(i[1], lane) & 0xffffffff);
    Place place = accessLane(warp, i, generic, 8, true);
    if (place.kind != Place::Shared) {
      return;
    }
    if (count < 1 || count > kMaxCount) {
      warp.fault(Fault::Illegal, "expects a count from 1 to 1048575, but got " +
                                     std::to_string(count));
      return;
    }
    Epoch epoch = warp.machine.getInitEpoch(warp, ++warp.initialised);
    warp.knowledge.advanceOwn(epoch);
    auto &barriers = warp.machine.ctas[place.rank]->barriers;
    auto [it, isNew] = barriers.emplace(
        uint32_t(place.offset),
        LiveBarrier(warp.getLine(), uint32_t(place.offset), count, epoch));
    it->second.rank = place.rank;
    if (!isNew) {
      warp.fault(Fault::Illegal, "initialises the mbarrier at " +
                                     toHex(generic) + " a second time");
    }
  });
}

static void runInval(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t generic = getBarrierAddress(warp, i, i[0], lane);
    if (findBarrier(warp, generic)) {
      Place place = warp.machine.locate(generic, 8);
      warp.machine.ctas[place.rank]->barriers.erase(uint32_t(place.offset));
    }
  });
}

/// As an H200 makes it: the phase's parity, and what was pending.
static uint64_t makeToken(const sim::MBarrier &barrier) {
  return barrier.phase << 63 |
         (uint64_t(-barrier.pending) & uint64_t(kMaxCount)) << 43;
}

/// Every phase must be seen by someone before the next one's arrivals.
static void checkSeen(Machine &machine, const sim::MBarrier &barrier,
                      const Knowledge &knowledge, uint32_t warp,
                      uint32_t line) {
  bool isSeen = llvm::any_of(barrier.observers, [&](const auto &observer) {
    return knowledge.preceded.covers(observer.epoch);
  });
  if (barrier.phase > 0 && !isSeen) {
    machine.fault(Fault::PhaseLapped, line,
                  "warp " + std::to_string(warp) + " arrives in phase " +
                      std::to_string(barrier.phase) + " of the mbarrier at " +
                      toHex(barrier.index) +
                      ", but nobody has to have seen phase " +
                      std::to_string(barrier.phase - 1) +
                      " complete before that (PTX ISA 9.7.13.15.4)");
  }
}

static std::string describeExcess(int64_t count, uint64_t generic,
                                  const sim::MBarrier &barrier) {
  return "makes " + std::to_string(count) + " arrivals at the mbarrier at " +
         toHex(generic) + ", but it waits for " +
         std::to_string(barrier.pending);
}

void emu::arriveOnce(Machine &machine, const AsyncWork &work, uint64_t generic,
                     const Knowledge &ends) {
  LiveBarrier *barrier =
      machine.findBarrier(generic, work.line, work.knowledge);
  if (!barrier) {
    return;
  }
  if (barrier->pending < 1) {
    machine.fault(Fault::Illegal, work.line,
                  describeExcess(1, generic, *barrier));
    return;
  }
  checkSeen(machine, *barrier, ends, work.warp, work.line);
  if (barrier->arrive(ends, 0, {work.line, work.warp})) {
    machine.completed(*barrier, work.line);
  }
}

/// What an arrival releases: without order nothing, though it has happened.
static Knowledge getReleased(Warp &warp, const Instruction &i) {
  if (!(i.flags & kRelaxed)) {
    return warp.know();
  }
  Knowledge released;
  released.preceded = warp.know().preceded;
  return released;
}

/// With kExpect, operand 2 counts bytes and not arrivals.
static void runArrive(Warp &warp, const Instruction &i, uint32_t lanes) {
  bool expects = i.flags & kExpect;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t generic = getBarrierAddress(warp, i, i[1], lane);
    LiveBarrier *barrier = findBarrier(warp, generic);
    if (!barrier) {
      return;
    }
    int64_t value =
        i[2].isSink ? 1 : int64_t(warp.get(i[2], lane) & 0xffffffff);
    int64_t count = expects ? 1 : value, bytes = expects ? value : 0;
    if (count < 1 || count > barrier->pending || bytes > kMaxCount) {
      warp.fault(Fault::Illegal, describeExcess(count, generic, *barrier));
      return;
    }
    if ((i.flags & kNoComplete) && count == barrier->pending &&
        barrier->bytes == 0) {
      warp.fault(Fault::Illegal, "completes a phase of the mbarrier at " +
                                     toHex(generic) +
                                     " with .noComplete, which must not");
    }
    warp.set(i[0], lane, makeToken(*barrier));
    checkSeen(warp.machine, *barrier, warp.know(), warp.index, warp.getLine());
    warp.machine.reach(warp, barrier->rank, {warp.index, warp.time});
    barrier->expected -= i.flags & kDrop ? count : 0;
    bool isComplete = barrier->arrive(getReleased(warp, i), bytes,
                                      {warp.getLine(), warp.index}, count);
    warp.tick();
    if (isComplete) {
      warp.machine.completed(*barrier, warp.getLine());
    }
  });
}

/// `expect_tx`, and with kNegative `complete_tx`.
static void runExpect(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t generic = getBarrierAddress(warp, i, i[0], lane);
    LiveBarrier *barrier = findBarrier(warp, generic);
    auto bytes = int64_t(warp.get(i[1], lane) & 0xffffffff);
    if (barrier && barrier->expect(i.flags & kNegative ? -bytes : bytes)) {
      warp.machine.completed(*barrier, warp.getLine());
    }
  });
}

/// Whoever waits for a parity knows that the phase before the one that it waits
/// for has completed: the one before both has the same parity.
static void checkParity(Warp &warp, const sim::MBarrier &barrier) {
  if (!barrier.mayBeAliased(warp.know().preceded)) {
    return;
  }
  std::string between = barrier.describePhase(2);
  warp.machine.fault(Fault::ParityAliased, warp.getLine(),
                     "warp " + std::to_string(warp.index) + " can wait for " +
                         barrier.describePhase(1) + " of the mbarrier at " +
                         toHex(barrier.index) + " before " + between +
                         " has completed, when its parity is that of " +
                         barrier.describePhase(3) + " too, which lets it pass",
                     {{barrier.completedBefore, "this completes " + between}});
}

static void acquire(Warp &warp, LiveBarrier &barrier, bool isRelaxed) {
  if (isRelaxed) {
    warp.knowledge.preceded.join(barrier.getCompleted().preceded);
  } else {
    warp.knowledge.join(barrier.getCompleted());
  }
  bool isKnown = llvm::any_of(barrier.observers, [&](const auto &observer) {
    return observer.task == warp.index;
  });
  if (!isKnown) {
    barrier.observers.push_back(
        {{warp.index, warp.time}, warp.getLine(), warp.index});
  }
}

static std::string describe(const sim::MBarrier &barrier, unsigned parity) {
  return "a phase of parity " + std::to_string(parity) +
         " of the mbarrier at " + toHex(barrier.index) + ": phase " +
         std::to_string(barrier.phase) + " has " +
         std::to_string(barrier.expected - barrier.pending) + " of " +
         std::to_string(barrier.expected) + " arrivals and lacks " +
         std::to_string(barrier.bytes) + " bytes";
}

/// `try_wait` is in a loop always: instead of saying no it waits, as long as
/// all lanes ask the same.
static void runWait(Warp &warp, const Instruction &i, uint32_t lanes) {
  sim::MBarrier *refused = nullptr;
  unsigned refusedParity = 0, numRefused = 0;
  bool isUniform = true;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t generic = getBarrierAddress(warp, i, i[1], lane);
    LiveBarrier *barrier = findBarrier(warp, generic);
    uint64_t asked = warp.get(i[2], lane);
    unsigned parity = i.flags & kParity ? asked & 1 : asked >> 63;
    bool isComplete = !barrier || barrier->isComplete(parity);
    warp.set(i[0], lane, isComplete);
    if (!isComplete) {
      isUniform &= !refused || (refused == barrier && refusedParity == parity);
      refused = barrier;
      refusedParity = parity;
      ++numRefused;
    } else if (barrier) {
      if (i.flags & kParity) {
        checkParity(warp, *barrier);
      }
      acquire(warp, *barrier, i.flags & kRelaxed);
    }
  });
  bool all = numRefused == unsigned(__builtin_popcount(lanes));
  if (!refused || !all || !isUniform || (i.flags & kTest)) {
    return;
  }
  Condition condition;
  condition.isTrue = [=] { return refused->isComplete(refusedParity); };
  condition.describe = [=] { return describe(*refused, refusedParity); };
  warp.retry(std::move(condition));
}

static void runPending(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t field = warp.get(i[1], lane) >> 43 & uint64_t(kMaxCount);
    warp.set(i[0], lane, uint64_t(kMaxCount) + 1 - field);
  });
}

static void addBarrierForm(OpcodeTable &table, const std::string &pattern,
                           const char *operands, Run run, uint64_t flags) {
  table.add("mbarrier",
            {pattern, operands,
             [=](const Match &match, Instruction &i, std::string &) {
               i.flags = getSpace(match) | flags |
                         (match.has(".relaxed") ? kRelaxed : 0);
               return run;
             },
             true});
}

void mlir::jfa::emu::registerMBarrier(OpcodeTable &table) {
  const std::string own = "{.shared|.shared::cta}.b64";
  const std::string any = "{.shared|.shared::cta|.shared::cluster}.b64";
  const std::string release = "{.release|.relaxed}{.cta|.cluster}";
  const std::string acquire = "{.acquire|.relaxed}{.cta|.cluster}";
  addBarrierForm(table, ".init" + own, "m s32", runInit, 0);
  addBarrierForm(table, ".inval" + own, "m", runInval, 0);
  addBarrierForm(table, ".arrive" + release + any, "d64 m s32?", runArrive, 0);
  addBarrierForm(table, ".arrive.noComplete" + release + own, "d64 m s32",
                 runArrive, kNoComplete);
  addBarrierForm(table, ".arrive_drop.noComplete" + release + own, "d64 m s32",
                 runArrive, kDrop | kNoComplete);
  addBarrierForm(table, ".arrive_drop.expect_tx" + release + any, "d64 m s32",
                 runArrive, kDrop | kExpect);
  addBarrierForm(table, ".arrive_drop" + release + any, "d64 m s32?", runArrive,
                 kDrop);
  addBarrierForm(table, ".arrive.expect_tx" + release + any, "d64 m s32",
                 runArrive, kExpect);
  addBarrierForm(table, ".expect_tx{.relaxed}{.cta|.cluster}" + any, "m s32",
                 runExpect, 0);
  addBarrierForm(table, ".complete_tx{.relaxed}{.cta|.cluster}" + any, "m s32",
                 runExpect, kNegative);
  addBarrierForm(table, ".try_wait.parity" + acquire + own, "dp m s32 s32?",
                 runWait, kParity);
  addBarrierForm(table, ".test_wait.parity" + acquire + own, "dp m s32",
                 runWait, kParity | kTest);
  addBarrierForm(table, ".try_wait" + acquire + own, "dp m s64 s32?", runWait,
                 0);
  addBarrierForm(table, ".test_wait" + acquire + own, "dp m s64", runWait,
                 kTest);
  addBarrierForm(table, ".pending_count.b64", "d32 s64", runPending, 0);
}
