//===- Warp.cpp - Lanes that part and meet again -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// A loop that waits for what no condition stands for lets others go on after
/// so many steps.
static constexpr unsigned kPatience = 4096;

Warp::Warp(Machine &machine, Cta &cta, uint32_t index, uint32_t indexInCta)
    : machine(machine), cta(cta), index(index), indexInCta(indexInCta),
      sharedStart(uint64_t(cta.rank) << kRankShift),
      inFlight(machine.code.numRegisters, 0),
      writtenAt(machine.code.numRegisters, 0),
      readAt(machine.code.numRegisters, 0),
      registers(size_t(machine.code.numRegisters) * 32, 0) {}

Knowledge &Warp::know() {
  knowledge.advanceOwn({index, time});
  return knowledge;
}

void Warp::fault(Fault kind, const std::string &text, std::vector<Note> notes) {
  machine.fault(kind, line, text, std::move(notes));
}

//===----------------------------------------------------------------------===//
// What instructions do
//===----------------------------------------------------------------------===//

void Warp::branch(uint32_t lanes, size_t target) {
  branching = lanes;
  branchTarget = target;
}

void Warp::retry(Condition condition) {
  pending = std::make_unique<Condition>(std::move(condition));
  pending->line = line;
  outcome = Outcome::Retry;
}

void Warp::wait(Condition condition) {
  pending = std::make_unique<Condition>(std::move(condition));
  pending->line = line;
  outcome = Outcome::Wait;
}

bool Warp::gather(uint32_t lanes, uint32_t mask) {
  mask &= live;
  if (isGathered || (lanes & mask) == mask) {
    return true;
  }
  gatherMask = mask;
  outcome = Outcome::Gather;
  return false;
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

bool Warp::isRunnable(const Fragment &fragment) const {
  if (fragment.warpMask) {
    return false;
  }
  return !fragment.waiting || fragment.waiting->isTrue();
}

bool Warp::isRunnable() const {
  return llvm::any_of(fragments, [&](const Fragment &fragment) {
    return isRunnable(fragment);
  });
}

/// The fragment that ran last, as long as it can.
size_t Warp::pick() const {
  for (size_t i = 0; i < fragments.size(); ++i) {
    size_t at = (current + i) % fragments.size();
    if (isRunnable(fragments[at])) {
      return at;
    }
  }
  return fragments.size();
}

/// A fragment comes to where it has to wait for its siblings.
void Warp::arriveAtJoin(Fragment fragment) {
  while (fragment.join && fragment.join->pc == fragment.pc) {
    std::shared_ptr<Join> join = fragment.join;
    join->arrived |= fragment.lanes;
    if (join->arrived != join->expected) {
      return;
    }
    fragment.lanes = join->expected;
    fragment.join = join->parent;
  }
  if (fragment.lanes) {
    fragments.push_back(std::move(fragment));
  }
}

/// Moves fragment `at` to `pc`.
void Warp::settle(size_t at, size_t pc) {
  fragments[at].pc = pc;
  if (!fragments[at].join || fragments[at].join->pc != pc) {
    return;
  }
  Fragment fragment = std::move(fragments[at]);
  fragments.erase(fragments.begin() + int64_t(at));
  arriveAtJoin(std::move(fragment));
}

/// Some lanes of fragment `at` branch, others go to `next`.
void Warp::split(size_t at, size_t next) {
  Fragment &fragment = fragments[at];
  size_t joinPc = machine.code.joins[fragment.pc];
  std::shared_ptr<Join> join = fragment.join;
  if (joinPc < machine.code.instructions.size() &&
      (!join || join->pc != joinPc)) {
    join = std::make_shared<Join>();
    join->pc = joinPc;
    join->expected = fragment.lanes;
    join->parent = fragment.join;
  }
  Fragment taken, other;
  taken.pc = branchTarget;
  taken.lanes = branching;
  other.pc = next;
  other.lanes = fragment.lanes & ~branching;
  taken.join = other.join = join;
  fragments.erase(fragments.begin() + int64_t(at));
  arriveAtJoin(std::move(other));
  arriveAtJoin(std::move(taken));
}

/// Lanes of fragment `at` exit: nobody waits for them any more.
void Warp::removeLanes(size_t at, uint32_t lanes) {
  live &= ~lanes;
  fragments[at].lanes &= ~lanes;
  std::shared_ptr<Join> join = fragments[at].join;
  bool isEmpty = fragments[at].lanes == 0;
  if (isEmpty) {
    fragments.erase(fragments.begin() + int64_t(at));
  }
  for (; join; join = join->parent) {
    join->expected &= ~lanes;
    bool isComplete =
        isEmpty && join->expected && join->arrived == join->expected;
    if (isComplete) {
      Fragment released;
      released.pc = join->pc;
      released.lanes = join->expected;
      released.join = join->parent;
      for (auto outer = join->parent; outer; outer = outer->parent) {
        outer->expected &= ~lanes;
      }
      arriveAtJoin(std::move(released));
      return;
    }
    if (join->expected) {
      isEmpty = false;
    }
  }
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Registers of products in flight must be left alone (PTX ISA 9.7.15.7.1).
void Warp::checkRegisters(const Instruction &instruction) {
  auto name = [&](uint32_t reg) {
    return "'" + machine.code.function->registers[reg].name + "'";
  };
  for (uint32_t reg : instruction.reads) {
    if (inFlight[reg] & 1) {
      fault(Fault::RegisterInFlight,
            "reads " + name(reg) +
                ", which an operation in flight still writes");
    }
  }
  for (uint32_t reg : instruction.writes) {
    if (inFlight[reg]) {
      fault(Fault::RegisterInFlight,
            "writes " + name(reg) +
                ", which an operation in flight still uses");
    }
  }
}

/// A read of what tcgen05.ld writes waits for it, without any other order (PTX
/// ISA 9.7.16.6.4.5). Whether it has to.
static bool awaitTensorLoads(Warp &warp, const Instruction &instruction) {
  bool isNeeded = llvm::any_of(instruction.reads, [&](uint32_t reg) {
    return warp.inFlight[reg] == kTensorFlight;
  });
  if (!isNeeded) {
    return false;
  }
  if (AsyncWorkRef last = warp.tensorLoads.back(); !last->isDone()) {
    Condition condition;
    condition.isTrue = [=] { return last->isDone(); };
    condition.describe = [] {
      return std::string("registers that are loaded from tensor memory");
    };
    warp.retry(std::move(condition));
    return true;
  }
  for (uint32_t reg : warp.tensorRegisters) {
    warp.inFlight[reg] = 0;
  }
  warp.tensorRegisters.clear();
  return false;
}

void Warp::execute(Fragment &fragment, const Instruction &instruction) {
  uint32_t lanes = fragment.lanes;
  line = instruction.line;
  if (instruction.guard != kNoRegister) {
    const uint64_t *guard = row(instruction.guard);
    uint32_t mask = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      mask |= uint32_t(guard[lane] != 0) << lane;
    }
    lanes &= instruction.isGuardNegated ? ~mask : mask;
  }
  if (lanes == 0) {
    return;
  }
  if (instruction.isAligned && lanes != live) {
    fault(Fault::Convergence,
          "needs all lanes of the warp, but only those of mask " +
              toHex(lanes) + " of " + toHex(live) + " execute it");
  }
  if (!instruction.usesFlight) {
    if (anyInFlight) {
      if (awaitTensorLoads(*this, instruction)) {
        return;
      }
      checkRegisters(instruction);
    }
    for (uint32_t reg : instruction.writes) {
      writtenAt[reg] = writes;
    }
    for (uint32_t reg : instruction.reads) {
      readAt[reg] = writes;
    }
    ++writes;
  }
  instruction.run(*this, instruction, lanes);
}

void Warp::step() {
  current = pick();
  if (current == fragments.size()) {
    return;
  }
  unsigned noticed = 0;
  if (std::unique_ptr<Condition> condition =
          std::move(fragments[current].waiting)) {
    ++noticed;
    machine.traceWait(*this, condition->line, fragments[current].waitsSince);
    if (condition->acquire) {
      condition->acquire();
    }
  }
  for (unsigned count = 0; count < kPatience; ++count) {
    Fragment &fragment = fragments[current];
    size_t pc = fragment.pc;
    if (pc >= machine.code.instructions.size()) {
      removeLanes(current, fragment.lanes);
      return;
    }
    machine.countInstructions(1);
    const Instruction &instruction = machine.code.instructions[pc];
    if (instruction.isVisible && noticed++) {
      return;
    }
    outcome = Outcome::Next;
    branching = exiting = 0;
    uint32_t lanes = fragment.lanes;
    execute(fragment, instruction);
    size_t numFragments = fragments.size();
    if (exiting) {
      bool all = exiting == lanes;
      removeLanes(current, exiting);
      if (all) {
        return;
      }
      settle(current, pc + 1);
    } else if (outcome == Outcome::Retry) {
      fragment.waiting = std::move(pending);
      fragment.waitsSince = machine.getSteps();
      return;
    } else if (outcome == Outcome::Wait) {
      fragment.waiting = std::move(pending);
      fragment.waitsSince = machine.getSteps();
      settle(current, pc + 1);
      return;
    } else if (outcome == Outcome::Gather) {
      fragment.warpMask = gatherMask;
      // The last one executes it for all.
      uint32_t here = 0;
      for (const Fragment &other : fragments) {
        here |= other.warpMask && other.pc == pc ? other.lanes : 0;
      }
      if ((here & gatherMask) != gatherMask) {
        return;
      }
      isGathered = true;
      instruction.run(*this, instruction, here);
      isGathered = false;
      for (size_t i = fragments.size(); i-- > 0;) {
        if (fragments[i].warpMask && fragments[i].pc == pc) {
          fragments[i].warpMask = 0;
          settle(i, pc + 1);
        }
      }
      return;
    } else if (branching && branching != lanes) {
      split(current, pc + 1);
      return;
    } else {
      settle(current, branching ? branchTarget : pc + 1);
    }
    if (fragments.size() != numFragments || current >= fragments.size() ||
        fragments[current].warpMask || fragments[current].waiting) {
      return;
    }
  }
  // Someone else's turn.
  current = (current + 1) % fragments.size();
}
