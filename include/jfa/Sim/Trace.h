//===- Trace.h - A run as a timeline -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects what happens in a run as Chrome trace events, which Perfetto reads.
// Time is the number of the schedule's step.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_TRACE_H
#define JFA_SIM_TRACE_H

#include "jfa/Sim/Machine.h"

#include <string>

namespace mlir::jfa::sim {

class Trace {
public:
  void beginWait(const Task &task, uint64_t step);
  void endWait(const Task &task, uint64_t step);
  void mark(const Task &task, const std::string &what, uint64_t step);
  /// An operation in flight from one step to another.
  void span(const AsyncOp &op, const std::string &what, uint64_t begin,
            uint64_t end);

  /// The first of the cluster that runs.
  uint32_t firstCta = 0;
  /// The JSON of all events.
  std::string finish() const { return "{\"traceEvents\":[" + events + "]}\n"; }

private:
  void add(const std::string &name, char phase, uint64_t step, uint32_t rank,
           uint32_t thread, const std::string &more = "");

  std::string events;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_TRACE_H
