//===- Timeline.h - Events of a run -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chrome trace events, which Perfetto reads. Time is the number of the
// schedule's step.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_TIMELINE_H
#define JFA_SIM_TIMELINE_H

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace mlir::jfa::sim {

class Timeline {
public:
  /// The first of the cluster that runs.
  uint32_t firstCta = 0;
  /// The JSON of all events.
  std::string finish() const { return "{\"traceEvents\":[" + events + "]}\n"; }

protected:
  /// Of a thread of the CTA of a rank.
  void add(const std::string &name, char phase, uint64_t step, uint32_t rank,
           uint32_t thread, const std::string &more = "");
  /// What the timeline calls that thread, and its CTA.
  void nameThread(const std::string &name, uint32_t rank, uint32_t thread);
  /// From one step to another.
  void addSpan(const std::string &name, uint32_t rank, uint32_t thread,
               uint64_t begin, uint64_t end) {
    add(name, 'X', begin, rank, thread,
        ",\"dur\":" + std::to_string(end - begin));
  }

private:
  std::string events;
  /// Threads that have names.
  std::set<std::pair<uint32_t, uint32_t>> named;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_TIMELINE_H
