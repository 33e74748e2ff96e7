//===- Grid.cpp - What CTAs of a grid do to each other ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Semaphores: counters in global memory, with what was known at their posts.
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Machine.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

/// The semaphore at an element of an array; none, with a finding, if there is
/// no such element.
Semaphore *Machine::getSemaphore(Task &task, int64_t number, int64_t index) {
  GlobalArray &array = getArray(number);
  if (!array.isBoundless && (index < 0 || index >= array.getNumElements())) {
    fail(Fault::OutOfBounds, task.site,
         "expected a semaphore from 0 to " +
             std::to_string(array.getNumElements() - 1) + " of " + array.name +
             ", but got " + std::to_string(index));
    return nullptr;
  }
  auto [it, isNew] = semaphores.try_emplace({number, index});
  if (isNew && !array.isBoundless) {
    if (!array.isComplete && !array.written[size_t(index)]) {
      fail(Fault::NeverWritten, task.site,
           task.name + " uses semaphore " + std::to_string(index) + " of " +
               array.name + ", which has no value");
    }
    it->second.count = decodeInteger(array.kind, array.at(index));
  }
  return &it->second;
}

void Machine::waitForSemaphore(Task &task, int64_t array, int64_t index,
                               int64_t count) {
  if (!getSemaphore(task, array, index)) {
    return;
  }
  Condition condition;
  condition.kind = Condition::Semaphore;
  condition.array = array;
  condition.barrier = index;
  condition.count = count;
  wait(task, condition);
}

void Machine::postSemaphore(Task &task, int64_t number, int64_t index) {
  Semaphore *semaphore = getSemaphore(task, number, index);
  if (!semaphore) {
    return;
  }
  ++semaphore->count;
  semaphore->released.join(know(task));
  GlobalArray &array = getArray(number);
  if (!array.isBoundless) {
    encode(array.kind, semaphore->count, array.at(index));
  }
  tick(task,
       "post of semaphore " + std::to_string(index) + " of " + array.name);
}
