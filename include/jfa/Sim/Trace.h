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

class Trace : public Timeline {
public:
  void beginWait(const Task &task, uint64_t step);
  void endWait(const Task &task, uint64_t step);
  void mark(const Task &task, const std::string &what, uint64_t step);
  /// An operation in flight from one step to another.
  void span(const AsyncOp &op, const std::string &what, uint64_t begin,
            uint64_t end);
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_TRACE_H
