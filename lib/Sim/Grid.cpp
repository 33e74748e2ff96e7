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

void Semaphore::post(Epoch epoch, const Knowledge &knowledge) {
  for (Post &post : posts) {
    post.numUnordered += !knowledge.happened.covers(post.epoch);
  }
  posts.push_back({epoch, knowledge, 0});
}

Knowledge Semaphore::getKnown(int64_t count) const {
  Knowledge known;
  int64_t reached = first;
  for (const Post &post : posts) {
    if (++reached + post.numUnordered <= count) {
      known.join(post.knowledge);
    }
  }
  return known;
}

/// The semaphore at an element of an array; none, with a finding, if there is
/// no such element.
Semaphore *Machine::getSemaphore(Task &task, int64_t number, int64_t index) {
  GlobalArray &array = getArray(number);
  if (!array.isBoundless && (index < 0 || index >= array.getNumElements())) {
    fail(Fault::OutOfBounds, task.site,
         "expected a semaphore from 0 to " +
             std::to_string(array.getNumElements() - 1) + " of " + array.name +
             ", but got " + std::to_string(index),
         {getDeclaration(number)});
    return nullptr;
  }
  auto it = semaphores.find({number, index});
  if (it != semaphores.end()) {
    return &it->second;
  }
  int64_t first = 0;
  if (!array.isBoundless) {
    if (!array.isComplete && !array.written[size_t(index)]) {
      fail(Fault::NeverWritten, task.site,
           task.name + " uses semaphore " + std::to_string(index) + " of " +
               array.name + ", which has no value",
           {getDeclaration(number)});
    }
    first = decodeInteger(array.kind, array.at(index));
  }
  return &semaphores.try_emplace({number, index}, first).first->second;
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
  semaphore->post({task.index, task.time}, know(task));
  GlobalArray &array = getArray(number);
  if (!array.isBoundless) {
    encode(array.kind, semaphore->getCount(), array.at(index));
  }
  tick(task,
       "post of semaphore " + std::to_string(index) + " of " + array.name);
}
