//===- Clock.h - Who knows of whose past -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks. Every replica of a task is an agent; so is every asynchronous
// operation while it is in flight. An agent knows of a moment of another one if
// that moment happens before its own next step in every schedule.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_CLOCK_H
#define JFA_SIM_CLOCK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cstdint>

namespace mlir::jfa::sim {

/// A moment in the life of an agent. Time 0 is before everything.
struct Epoch {
  uint32_t agent = 0;
  uint32_t time = 0;
};

class Clock {
public:
  uint32_t get(uint32_t agent) const {
    return agent < times.size() ? times[agent] : 0;
  }
  void advance(Epoch epoch) {
    if (epoch.agent >= times.size()) {
      times.resize(epoch.agent + 1, 0);
    }
    times[epoch.agent] = std::max(times[epoch.agent], epoch.time);
  }
  void join(const Clock &other) {
    if (other.times.size() > times.size()) {
      times.resize(other.times.size(), 0);
    }
    for (size_t i = 0; i < other.times.size(); ++i) {
      times[i] = std::max(times[i], other.times[i]);
    }
  }
  bool covers(Epoch epoch) const { return get(epoch.agent) >= epoch.time; }
  bool covers(const Clock &other) const {
    for (size_t i = 0; i < other.times.size(); ++i) {
      if (get(uint32_t(i)) < other.times[i]) {
        return false;
      }
    }
    return true;
  }

private:
  llvm::SmallVector<uint32_t, 16> times;
};

/// What an agent knows. What has happened is not at once visible to the async
/// proxy (PTX ISA 8.6): a generic write becomes so when its own thread executes
/// a proxy fence, and that knowledge travels with the thread's releases.
///
/// A commit says that what it comes after is over, but publishes nothing else
/// of what its issuer knew, and neither does a copy. That has happened all the
/// same: `preceded` is what has, whether or not it may be relied on in memory.
///
/// Tensor memory has an order of its own (PTX ISA 9.7.16.6): a thread's
/// accesses are released by its fence before a synchronisation, which travels
/// alike, and ordered before those of another thread by that one's fence after
/// it.
struct Knowledge {
  Clock preceded;
  Clock happened;
  Clock visibleToAsync;
  Clock tensorReleased;
  Clock tensorOrdered;

  void join(const Knowledge &other) {
    preceded.join(other.preceded);
    happened.join(other.happened);
    visibleToAsync.join(other.visibleToAsync);
    tensorReleased.join(other.tensorReleased);
  }
  /// The end of asynchronous work needs no fence, or only the one after it.
  void advance(Epoch epoch) {
    advanceOwn(epoch);
    visibleToAsync.advance(epoch);
    tensorReleased.advance(epoch);
  }
  /// What an agent has done itself.
  void advanceOwn(Epoch epoch) {
    happened.advance(epoch);
    preceded.advance(epoch);
  }
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_CLOCK_H
