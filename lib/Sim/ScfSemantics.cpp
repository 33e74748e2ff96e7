//===- ScfSemantics.cpp - scf in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions become jumps. Terminators are copies that the op around them makes.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

using Target = std::shared_ptr<size_t>;

static void appendJump(Operation *op, ProgramBuilder &builder, Target target) {
  builder.appendBranch(op, target, /*always=*/true,
                       [target](Machine &, Task &task) { task.jump(*target); });
}

/// Notes what decides on whether, or how often, a region runs that does more
/// than compute.
static void noteControl(Operation *op, ValueRange control,
                        ProgramBuilder &builder) {
  if (isMemoryEffectFree(op)) {
    return;
  }
  for (mlir::Value value : control) {
    builder.noteDependence(op, value);
  }
}

static LogicalResult buildFor(scf::ForOp op, ProgramBuilder &builder) {
  Slot induction = builder.getSlot(op.getInductionVar());
  Slot lower = builder.getSlot(op.getLowerBound());
  Slot upper = builder.getSlot(op.getUpperBound());
  Slot step = builder.getSlot(op.getStep());
  FailureOr<ElementKind> kind = getKind(op, op.getInductionVar().getType());
  if (failed(kind)) {
    return failure();
  }
  noteControl(op, {op.getLowerBound(), op.getUpperBound(), op.getStep()},
              builder);
  builder.append(op, [=](Machine &, Task &task) {
    task[induction].integer = task[lower].integer;
  });
  builder.appendCopies(op, op.getInitArgs(), op.getRegionIterArgs());
  Target begin = builder.makeTarget(), end = builder.makeTarget();
  builder.appendBranch(
      op, end, /*always=*/false, [=](Machine &machine, Task &task) {
        if (task[step].integer <= 0) {
          machine.fail(Fault::Unsupported, task.site,
                       task.name + " expects a step of at least 1, but got " +
                           std::to_string(task[step].integer));
          task.jump(*end);
        }
      });
  *begin = builder.getPlace();
  bool isUnsigned = op.getUnsignedCmp();
  builder.appendBranch(op, end, /*always=*/false, [=](Machine &, Task &task) {
    int64_t at = task[induction].integer, last = task[upper].integer;
    if (isUnsigned ? uint64_t(at) >= uint64_t(last) : at >= last) {
      task.jump(*end);
    }
  });
  if (failed(builder.appendBlock(*op.getBody()))) {
    return failure();
  }
  builder.appendCopies(op, op.getYieldedValues(), op.getRegionIterArgs());
  builder.appendBranch(
      op, begin, /*always=*/true, [=, k = *kind](Machine &, Task &task) {
        task[induction].integer =
            wrapTo(k, task[induction].integer + task[step].integer);
        task.jump(*begin);
      });
  *end = builder.getPlace();
  builder.appendCopies(op, op.getRegionIterArgs(), op.getResults());
  return success();
}

static LogicalResult buildIf(scf::IfOp op, ProgramBuilder &builder) {
  Slot condition = builder.getSlot(op.getCondition());
  noteControl(op, op.getCondition(), builder);
  Target otherwise = builder.makeTarget(), end = builder.makeTarget();
  builder.appendBranch(op, otherwise, /*always=*/false,
                       [=](Machine &, Task &task) {
                         if (!task[condition].integer) {
                           task.jump(*otherwise);
                         }
                       });
  if (failed(builder.appendBlock(*op.thenBlock()))) {
    return failure();
  }
  builder.appendCopies(op, op.thenYield().getOperands(), op.getResults());
  appendJump(op, builder, end);
  *otherwise = builder.getPlace();
  if (op.elseBlock()) {
    if (failed(builder.appendBlock(*op.elseBlock()))) {
      return failure();
    }
    builder.appendCopies(op, op.elseYield().getOperands(), op.getResults());
  }
  *end = builder.getPlace();
  return success();
}

static LogicalResult buildWhile(scf::WhileOp op, ProgramBuilder &builder) {
  Slot condition = builder.getSlot(op.getConditionOp().getCondition());
  noteControl(op, op.getConditionOp().getCondition(), builder);
  builder.appendCopies(op, op.getInits(), op.getBeforeArguments());
  Target begin = builder.makeTarget(), end = builder.makeTarget();
  *begin = builder.getPlace();
  if (failed(builder.appendBlock(*op.getBeforeBody()))) {
    return failure();
  }
  ValueRange passed = op.getConditionOp().getArgs();
  builder.appendBranch(op, end, /*always=*/false, [=](Machine &, Task &task) {
    if (!task[condition].integer) {
      task.jump(*end);
    }
  });
  builder.appendCopies(op, passed, op.getAfterArguments());
  if (failed(builder.appendBlock(*op.getAfterBody()))) {
    return failure();
  }
  builder.appendCopies(op, op.getYieldOp().getResults(),
                       op.getBeforeArguments());
  appendJump(op, builder, begin);
  *end = builder.getPlace();
  builder.appendCopies(op, passed, op.getResults());
  return success();
}

void sim::registerScfSemantics(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    attach<scf::ForOp, buildFor>(context);
    attach<scf::IfOp, buildIf>(context);
    attach<scf::WhileOp, buildWhile>(context);
  });
}
