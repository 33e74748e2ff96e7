//===- GridSemantics.cpp - Grid family in the simulator ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch is run alone, after all that comes before it, so that it need not
// wait for other grids.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

static LogicalResult buildWait(tlx::SemaphoreWaitOp op,
                               ProgramBuilder &builder) {
  builder.getProgram().hasSemaphores = true;
  builder.noteDependence(op, op.getIndex());
  builder.noteDependence(op, op.getCount());
  Slot counters = builder.getSlot(op.getCounters());
  Slot index = builder.getSlot(op.getIndex());
  Slot count = builder.getSlot(op.getCount());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    machine.waitForSemaphore(task, task[counters].integer, task[index].integer,
                             task[count].integer);
  });
  return success();
}

static LogicalResult buildPost(tlx::SemaphorePostOp op,
                               ProgramBuilder &builder) {
  Program &program = builder.getProgram();
  program.hasSemaphores = true;
  program.semaphoreSignallers.push_back(
      {builder.getTask(), builder.getSite(op), true});
  builder.noteDependence(op, op.getIndex());
  Slot counters = builder.getSlot(op.getCounters());
  Slot index = builder.getSlot(op.getIndex());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    machine.postSemaphore(task, task[counters].integer, task[index].integer);
  });
  return success();
}

template <typename Op>
static LogicalResult buildNothing(Op, ProgramBuilder &) {
  return success();
}

void sim::registerGridSemantics(MLIRContext *context) {
  using namespace tlx;
  attach<SemaphoreWaitOp, buildWait>(context);
  attach<SemaphorePostOp, buildPost>(context);
  attach<GridDependencyWaitOp, buildNothing<GridDependencyWaitOp>>(context);
  attach<GridLaunchDependentsOp, buildNothing<GridLaunchDependentsOp>>(context);
}
