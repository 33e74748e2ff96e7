//===- Trace.cpp - A run as a timeline -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Trace.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

void Trace::beginTask(const Task &task, uint64_t step) {
  nameThread(task.name, task.rank, task.index);
  add(task.name, 'B', step, task.rank, task.index);
}

void Trace::endTask(const Task &task, uint64_t step) {
  add(task.name, 'E', step, task.rank, task.index);
}

void Trace::beginWait(const Task &task, const std::string &what,
                      uint64_t step) {
  nameThread(task.name, task.rank, task.index);
  add("wait for " + what, 'B', step, task.rank, task.index);
}

void Trace::endWait(const Task &task, uint64_t step) {
  add("wait", 'E', step, task.rank, task.index);
}

void Trace::mark(const Task &task, const std::string &what, uint64_t step) {
  nameThread(task.name, task.rank, task.index);
  add(what, 'i', step, task.rank, task.index, ",\"s\":\"t\"");
}

void Trace::span(const AsyncOp &op, const Task &task, const std::string &thread,
                 const std::string &what, uint64_t end) {
  uint32_t number = 1000 + op.epoch.agent;
  nameThread(thread, op.rank, number);
  addSpan(what + " of " + task.name, op.rank, number, op.begin, end);
}
