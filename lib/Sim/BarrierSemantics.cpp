//===- BarrierSemantics.cpp - Barrier family in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include "jfa/Dialect/TLX/IR/NamedBarriers.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

std::optional<int64_t> BarrierElement::get(Machine &machine, Task &task) const {
  int64_t first = task[array].integer;
  int64_t at = index ? task[*index].integer : 0;
  if (!machine.checkBarrier(task, first, at, count)) {
    return std::nullopt;
  }
  return first + at;
}

BarrierElement sim::getBarrierElement(Operation *op, mlir::Value barrier,
                                      mlir::Value index, Signals signals,
                                      ProgramBuilder &builder) {
  BarrierElement element;
  element.array = builder.getSlot(barrier);
  if (index) {
    element.index = builder.getSlot(index);
    builder.noteDependence(op, index);
  }
  auto type = cast<tlx::MBarrierType>(barrier.getType());
  element.count = type.getCount().getConstant().value_or(1);
  auto array = builder.barrierArrays.find(barrier);
  if (signals != Signals::No && array != builder.barrierArrays.end()) {
    builder.getProgram().barriers[array->second].signallers.push_back(
        {builder.getTask(), builder.getSite(op), signals == Signals::Any});
  }
  return element;
}

static LogicalResult buildAlloc(tlx::AllocBarriersOp op,
                                ProgramBuilder &builder) {
  std::optional<int64_t> count =
      op.getBarrier().getType().getCount().getConstant();
  std::optional<int64_t> arrivals = op.getArrivals().getConstant();
  if (!count || !arrivals) {
    return op.emitOpError("expected parameters to be bound");
  }
  std::string name = getSourceName(op, "the mbarrier");
  auto number = uint32_t(builder.getProgram().barriers.size());
  builder.getProgram().barriers.push_back(
      {name, *count, *arrivals, builder.getSite(op), {}});
  builder.barrierArrays[op.getBarrier()] = number;
  Slot barrier = builder.getSlot(op.getBarrier());
  builder.append(op, [=](Machine &machine, Task &task) {
    task[barrier].integer = machine.addBarriers(task, number);
  });
  return success();
}

static LogicalResult buildArrive(tlx::BarrierArriveOp op,
                                 ProgramBuilder &builder) {
  BarrierElement element = getBarrierElement(op, op.getBarrier(), op.getIndex(),
                                             Signals::Own, builder);
  builder.appendVisible(op, [element](Machine &machine, Task &task) {
    if (std::optional<int64_t> barrier = element.get(machine, task)) {
      machine.arrive(task, *barrier, 0);
    }
  });
  return success();
}

static LogicalResult buildExpect(tlx::BarrierExpectBytesOp op,
                                 ProgramBuilder &builder) {
  FailureOr<int64_t> bytes = op.getExpectedBytes();
  if (failed(bytes)) {
    return op.emitOpError("expected parameters to be bound");
  }
  BarrierElement element = getBarrierElement(op, op.getBarrier(), op.getIndex(),
                                             Signals::Own, builder);
  builder.appendVisible(op, [=, size = *bytes](Machine &machine, Task &task) {
    if (std::optional<int64_t> barrier = element.get(machine, task)) {
      machine.arrive(task, *barrier, size);
    }
  });
  return success();
}

static LogicalResult buildWait(tlx::BarrierWaitOp op, ProgramBuilder &builder) {
  BarrierElement element = getBarrierElement(op, op.getBarrier(), op.getIndex(),
                                             Signals::No, builder);
  Slot phase = builder.getSlot(op.getPhase());
  builder.noteDependence(op, op.getPhase());
  bool producer = op.getProducer();
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    if (std::optional<int64_t> barrier = element.get(machine, task)) {
      Condition condition;
      condition.kind = Condition::Barrier;
      condition.barrier = *barrier;
      condition.parity = unsigned(task[phase].integer & 1) ^ producer;
      machine.wait(task, condition);
    }
  });
  return success();
}

/// Notes that the task arrives at a named barrier.
static void addNamedSignaller(Operation *op, mlir::Value id,
                              ProgramBuilder &builder) {
  builder.noteDependence(op, id);
  NamedSignaller signaller{builder.getTask(), builder.getSite(op), {}};
  APInt value;
  if (matchPattern(id, m_ConstantInt(&value))) {
    signaller.id = value.getSExtValue();
  }
  builder.getProgram().namedSignallers.push_back(signaller);
}

static LogicalResult buildNamedArrive(tlx::NamedBarrierArriveOp op,
                                      ProgramBuilder &builder) {
  addNamedSignaller(op, op.getId(), builder);
  Slot id = builder.getSlot(op.getId());
  int64_t threads = op.getThreads().getConstant().value_or(0);
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    machine.arriveNamed(task, task[id].integer, threads);
  });
  return success();
}

static LogicalResult buildNamedWait(tlx::NamedBarrierWaitOp op,
                                    ProgramBuilder &builder) {
  addNamedSignaller(op, op.getId(), builder);
  Slot id = builder.getSlot(op.getId());
  int64_t threads = op.getThreads().getConstant().value_or(0);
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    int64_t number = task[id].integer;
    Condition condition;
    condition.kind = Condition::Named;
    condition.barrier = number;
    condition.generation = number >= 0 && number <= tlx::kLastNamedBarrier
                               ? machine.getNamedGeneration(task, number)
                               : 0;
    if (machine.arriveNamed(task, number, threads)) {
      machine.wait(task, condition);
    }
  });
  return success();
}

static LogicalResult buildRing(tlx::RingOp op, ProgramBuilder &builder) {
  Slot count = builder.getSlot(op.getCount());
  Slot slot = builder.getSlot(op.getSlot());
  Slot phase = builder.getSlot(op.getPhase());
  int64_t stages = op.getStages().getConstant().value_or(1);
  builder.append(op, [=](Machine &, Task &task) {
    auto at = int64_t(uint32_t(task[count].integer));
    task[slot].integer = at % stages;
    task[phase].integer = at / stages % 2;
  });
  return success();
}

void sim::registerBarrierSemantics(MLIRContext *context) {
  attach<tlx::AllocBarriersOp, buildAlloc>(context);
  attach<tlx::BarrierArriveOp, buildArrive>(context);
  attach<tlx::BarrierExpectBytesOp, buildExpect>(context);
  attach<tlx::BarrierWaitOp, buildWait>(context);
  attach<tlx::NamedBarrierArriveOp, buildNamedArrive>(context);
  attach<tlx::NamedBarrierWaitOp, buildNamedWait>(context);
  attach<tlx::RingOp, buildRing>(context);
}
