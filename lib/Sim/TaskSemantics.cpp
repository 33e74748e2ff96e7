//===- TaskSemantics.cpp - Task family in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include "jfa/Dialect/TLX/IR/NamedBarriers.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

static LogicalResult buildTask(tlx::AsyncTaskOp op, ProgramBuilder &builder) {
  TaskProgram task;
  task.name = op.getTaskName().str();
  task.replicas = op.getNumReplicas();
  task.threads = 32 * op.getNumWarps();
  task.site = builder.getSite(op);
  builder.getProgram().tasks.push_back(std::move(task));
  Code code;
  builder.setCode(code);
  if (failed(builder.appendBlock(op.getBody().front()))) {
    return failure();
  }
  builder.getProgram().tasks.back().code = std::move(code);
  builder.setCode(builder.getProgram().prologue);
  return success();
}

static LogicalResult buildTasks(tlx::AsyncTasksOp op, ProgramBuilder &builder) {
  // Refuses register budgets that cannot be granted.
  FailureOr<tlx::TaskPlacement> placement = op.getPlacement();
  if (failed(placement)) {
    return failure();
  }
  builder.getProgram().firstReservedBarrier =
      tlx::getFirstReservedBarrier(*placement);
  builder.getProgram().tasksSite = builder.getSite(op);
  return builder.appendBlock(op.getBody().front());
}

static LogicalResult buildReplicaId(tlx::AsyncTaskReplicaIdOp op,
                                    ProgramBuilder &builder) {
  Slot id = builder.getSlot(op.getId());
  builder.append(
      op, [id](Machine &, Task &task) { task[id].integer = task.replica; });
  return success();
}

static LogicalResult buildCtaId(tlx::CtaIdOp op, ProgramBuilder &builder) {
  Slot id = builder.getSlot(op.getId());
  builder.append(op, [id](Machine &machine, Task &task) {
    task[id].integer = machine.getOptions().firstCta + task.rank;
  });
  return success();
}

static LogicalResult buildCtaCount(tlx::CtaCountOp op,
                                   ProgramBuilder &builder) {
  Slot count = builder.getSlot(op.getCount());
  builder.append(op, [count](Machine &machine, Task &task) {
    task[count].integer = machine.getOptions().ctas;
  });
  return success();
}

/// A replica is one thread here: nobody to meet.
static LogicalResult buildTaskBarrier(tlx::TaskBarrierOp, ProgramBuilder &) {
  return success();
}

void sim::registerTaskSemantics(MLIRContext *context) {
  attach<tlx::AsyncTasksOp, buildTasks>(context);
  attach<tlx::AsyncTaskOp, buildTask>(context);
  attach<tlx::AsyncTaskReplicaIdOp, buildReplicaId>(context);
  attach<tlx::CtaIdOp, buildCtaId>(context);
  attach<tlx::CtaCountOp, buildCtaCount>(context);
  attach<tlx::TaskBarrierOp, buildTaskBarrier>(context);
}
