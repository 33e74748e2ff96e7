//===- Barrier.h - Barriers of a CTA -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state machines of mbarriers (PTX ISA 9.7.13.15) and of named barriers
// (9.7.13.1), with full phase numbers and with what a wait makes known.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_BARRIER_H
#define JFA_SIM_BARRIER_H

#include "jfa/Sim/Clock.h"
#include "jfa/Sim/Report.h"

namespace mlir::jfa::sim {

/// Someone who has seen a phase complete.
struct Observer {
  Epoch epoch;
  Site site;
  uint32_t task;
};

/// Someone who has arrived.
struct Arrival {
  Site site;
  uint32_t task;
};

class MBarrier {
public:
  MBarrier(uint32_t array, uint32_t index, int64_t count)
      : array(array), index(index), expected(count), pending(count) {}

  /// Whether a wait for the phase of `parity` succeeds: it is the last one
  /// completed. Before the first one lies a phase of parity 1.
  bool isComplete(unsigned parity) const { return (phase & 1) != parity; }

  /// Arrivals by someone who knows `knowledge`, together with `bytes` that
  /// copies will deliver. True if the phase is complete now.
  bool arrive(const Knowledge &knowledge, int64_t bytes, Arrival by,
              int64_t count = 1);
  /// Copies will deliver `bytes` more. True if the phase is complete now, as on
  /// an H200 if they have come already.
  bool expect(int64_t bytes);
  /// A copy has delivered `bytes`; only its own end becomes known, and that
  /// what its issuer knew has preceded.
  bool deliver(Epoch copy, const Knowledge &issuer, int64_t bytes);
  /// What a successful wait makes known.
  const Knowledge &getCompleted() const { return completed; }
  /// Whether who knows `preceded` may take the last completed phase for another
  /// of the same parity: it does not know that the phase between them, which
  /// there is after the first one, has completed.
  bool mayBeAliased(const Clock &preceded) const {
    return phase >= 2 && !preceded.covers(before);
  }
  /// Notes what has completed the last phase.
  void setCompletedBy(Site site) {
    completedBefore = completedBy;
    completedBy = site;
  }
  /// Names the phase `back` before the one that is going on.
  std::string describePhase(uint64_t back) const;

  /// The array of mbarriers that it belongs to, and its place there.
  uint32_t array, index;
  /// The rank of its CTA in the cluster, and when it has been initialised.
  uint32_t rank = 0;
  Epoch init;
  /// The phase that is going on.
  uint64_t phase = 0;
  int64_t expected, pending;
  int64_t bytes = 0;
  /// Who has seen the last completed phase, and the one before it.
  llvm::SmallVector<Observer, 4> observers, observersBefore;
  /// Who has arrived in this phase.
  llvm::SmallVector<Arrival, 4> arrivals;
  /// What has completed the last phase, and the one before it.
  Site completedBy = 0, completedBefore = 0;

private:
  bool completeIfDone();

  Knowledge current, completed;
  /// What came before the end of the phase before the last completed one.
  Clock before;
};

/// The barrier of a cluster (PTX ISA 9.7.13.3). Who has arrived is written down
/// by those who arrive.
class ClusterBarrier {
public:
  void arrive(const Knowledge &knowledge) { current.join(knowledge); }
  void complete() {
    completed = std::move(current);
    current = {};
    ++phase;
  }
  /// What a wait for the last phase completed makes known. Nobody gets further
  /// ahead of one who waits, since that one has to arrive again.
  const Knowledge &getCompleted() const { return completed; }

  /// The phase that is going on.
  uint64_t phase = 0;

private:
  Knowledge current, completed;
};

/// What a task has done to the CTA of another rank.
struct RemoteAccess {
  uint32_t rank;
  Epoch epoch;
  Site site;
  uint32_t task;
};

/// What the CTAs of a cluster have done to each other: the last of each agent,
/// since who knows of that knows of all before it.
class RemoteAccesses {
public:
  void add(const RemoteAccess &access);
  llvm::ArrayRef<RemoteAccess> get() const { return last; }

private:
  std::vector<RemoteAccess> last;
};

class NamedBarrier {
public:
  struct TimedArrival : Arrival {
    Epoch epoch;
  };

  /// Threads of a task arrive. Returns what is wrong, or nothing.
  std::string arrive(const TimedArrival &by, int64_t threads, int64_t total,
                     const Knowledge &knowledge);
  /// Who arrives knows that all have arrived that complete the barrier before:
  /// otherwise it may be counted among them. Returns one of which `knowledge`
  /// has nothing, or null.
  const TimedArrival *findUnknown(const Knowledge &knowledge) const;
  /// What is wrong then.
  static constexpr const char *kUnordered =
      "can arrive while the barrier still waits for others to arrive that it "
      "has completed with before";
  /// What waiting for the end of `generation` makes known.
  const Knowledge &getCompleted(uint64_t generation) const {
    return completed[generation % kRemembered];
  }

  /// How often it has completed.
  uint64_t generation = 0;
  int64_t arrived = 0;
  /// Of the generation going on.
  int64_t total = 0;
  llvm::SmallVector<TimedArrival, 4> arrivals;

private:
  /// Of the generation before.
  llvm::SmallVector<TimedArrival, 4> before;
  /// Who waits has arrived, so that no barrier gets further ahead of it.
  static constexpr uint64_t kRemembered = 8;
  Knowledge current;
  Knowledge completed[kRemembered];
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_BARRIER_H
