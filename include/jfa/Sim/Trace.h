//===- Trace.h - A run as a timeline -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects what happens in a run, in a timeline.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_TRACE_H
#define JFA_SIM_TRACE_H

#include "jfa/Sim/Machine.h"
#include "jfa/Sim/Timeline.h"

namespace mlir::jfa::sim {

/// Each task is a thread of its CTA, and so are its operations of each kind.
class Trace : public Timeline {
public:
  void beginTask(const Task &task, uint64_t step);
  void endTask(const Task &task, uint64_t step);
  void beginWait(const Task &task, const std::string &what, uint64_t step);
  void endWait(const Task &task, uint64_t step);
  void mark(const Task &task, const std::string &what, uint64_t step);
  /// An operation in flight that `task` has started, on the thread of that
  /// name, from its begin to a step.
  void span(const AsyncOp &op, const Task &task, const std::string &thread,
            const std::string &what, uint64_t end);
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_TRACE_H
