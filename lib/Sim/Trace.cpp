//===- Trace.cpp - A run as a timeline -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Trace.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

void Trace::add(const std::string &name, char phase, uint64_t step,
                uint32_t rank, uint32_t thread, const std::string &more) {
  if (!events.empty()) {
    events += ",\n";
  }
  events += "{\"name\":\"" + name + "\",\"ph\":\"" + phase +
            "\",\"ts\":" + std::to_string(step) +
            ",\"pid\":" + std::to_string(firstCta + rank) +
            ",\"tid\":" + std::to_string(thread) + more + "}";
}

void Trace::beginWait(const Task &task, uint64_t step) {
  add(task.name + " waits", 'B', step, task.rank, task.index);
}

void Trace::endWait(const Task &task, uint64_t step) {
  add(task.name + " waits", 'E', step, task.rank, task.index);
}

void Trace::mark(const Task &task, const std::string &what, uint64_t step) {
  add(what, 'i', step, task.rank, task.index, ",\"s\":\"t\"");
}

void Trace::span(const AsyncOp &op, const std::string &what, uint64_t begin,
                 uint64_t end) {
  add(what, 'X', begin, op.rank, 1000 + op.epoch.agent,
      ",\"dur\":" + std::to_string(end - begin));
}
