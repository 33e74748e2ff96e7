//===- Effects.cpp - What instructions do to a CTA -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrivals, fences, operations and accesses: each records who did it and with
// what knowledge, and notices what is wrong with it.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "jfa/Sim/Machine.h"
#include "jfa/Sim/Trace.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

int64_t Machine::addBarriers(Task &task, uint32_t array) {
  int64_t first = barriersOfCta * task.rank;
  for (uint32_t i = 0; i < array; ++i) {
    first += program.barriers[i].count;
  }
  for (int64_t i = 0; i < program.barriers[array].count; ++i) {
    barriers[size_t(first + i)].init = {task.index, task.time};
  }
  return first;
}

bool Machine::checkBarrier(Task &task, int64_t first, int64_t index,
                           int64_t count) {
  if (index >= 0 && index < count) {
    return true;
  }
  const BarrierArray &array = program.barriers[barriers[size_t(first)].array];
  fail(Fault::OutOfBounds, task.site,
       "expected an index from 0 to " + std::to_string(count - 1) + " of " +
           array.name + ", but got " + std::to_string(index),
       {{array.site, "allocated here"}});
  return false;
}

/// An arrival in a phase comes after someone has seen the one before.
void Machine::checkSeen(const MBarrier &barrier, const Knowledge &knowledge,
                        uint32_t task, Site site) {
  bool isSeen = llvm::any_of(barrier.observers, [&](const Observer &observer) {
    return knowledge.preceded.covers(observer.epoch);
  });
  if (barrier.phase == 0 || isSeen) {
    return;
  }
  report.add(Explain(*this).unseen(barrier, task, site));
}

void Machine::arrive(Task &task, int64_t number, int64_t bytes) {
  MBarrier &barrier = barriers[size_t(number)];
  Explain explain(*this);
  checkSeen(barrier, know(task), task.index, task.site);
  bool complete = barrier.arrive(know(task), bytes, {task.site, task.index});
  std::string what = "arrival at " + explain.barrier(barrier);
  tick(task, what);
  if (trace) {
    trace->mark(task, what, steps);
  }
  if (complete) {
    completed(barrier, task.site);
  }
}

void Machine::deliver(AsyncOp &op, int64_t number, int64_t bytes) {
  MBarrier &barrier = barriers[size_t(number)];
  op.phase = barrier.phase;
  if (barrier.deliver(op.epoch, op.knowledge, bytes)) {
    completed(barrier, op.site);
  }
}

/// Whoever waits for a phase knows that the one before it has completed: parity
/// would let it pass at the one before that as well.
void Machine::checkParity(const MBarrier &barrier, Task &task, Site site) {
  if (barrier.mayBeAliased(know(task).preceded)) {
    report.add(Explain(*this).aliased(barrier, task, site));
  }
}

/// A phase must not complete before everyone has seen the one before it.
void Machine::completed(MBarrier &barrier, Site site) {
  barrier.setCompletedBy(site);
  for (const Observer &observer : barrier.observersBefore) {
    if (!barrier.getCompleted().preceded.covers(observer.epoch)) {
      report.add(Explain(*this).lapped(barrier, observer, site));
    }
  }
}

bool Machine::arriveNamed(Task &task, int64_t id, int64_t threads) {
  int64_t reserved = program.firstReservedBarrier;
  if (id < 0 || id >= reserved) {
    std::string why = reserved < int64_t(ctas[task.rank].named.size())
                          ? ", since the compiler takes the rest up to 15 for "
                            "the tasks of several warps"
                          : "";
    fail(Fault::NamedBarrier, task.site,
         task.name + " expects an id from 0 to " +
             std::to_string(reserved - 1) + why + ", but got " +
             std::to_string(id),
         {{program.tasksSite, "its tasks of several warps are here"}});
    return false;
  }
  NamedBarrier &barrier = ctas[task.rank].named[size_t(id)];
  std::vector<Note> notes;
  for (const Arrival &arrival : barrier.arrivals) {
    notes.push_back(
        {arrival.site, tasks[arrival.task].name + " has arrived here"});
  }
  if (const auto *unknown = barrier.findUnknown(know(task))) {
    fail(Fault::NamedBarrier, task.site,
         task.name + " " + NamedBarrier::kUnordered + " (id " +
             std::to_string(id) + ")",
         {{unknown->site, tasks[unknown->task].name +
                              " arrives here, of which it knows nothing"}});
  }
  NamedBarrier::TimedArrival by{{task.site, task.index},
                                {task.index, task.time}};
  std::string wrong = barrier.arrive(by, task.threads, threads, know(task));
  if (!wrong.empty()) {
    fail(Fault::NamedBarrier, task.site,
         task.name + " " + wrong + " (id " + std::to_string(id) + ")", notes);
    return false;
  }
  tick(task, "arrival at named barrier " + std::to_string(id));
  return true;
}

void Machine::commit(AsyncOp &op, int64_t number) {
  MBarrier &barrier = barriers[size_t(number)];
  checkSeen(barrier, op.knowledge, op.task, op.site);
  Knowledge done;
  done.preceded = op.knowledge.preceded;
  done.advance(op.epoch);
  op.phase = barrier.phase;
  if (barrier.arrive(done, 0, {op.site, op.task})) {
    completed(barrier, op.site);
  }
}

void Machine::fenceTensorBefore(Task &task) {
  task.knowledge.tensorReleased.advance({task.index, task.time});
  ++task.time;
}

void Machine::fenceTensorAfter(Task &task) {
  task.knowledge.tensorOrdered.join(task.knowledge.tensorReleased);
}

void Machine::fence(Task &task) {
  // All that the thread knows of, its own writes or others', is fenced by what
  // is on the way from the write to the asynchronous access (PTX ISA 8.9.5).
  task.knowledge.visibleToAsync.join(know(task).happened);
  ++task.time;
}

AsyncRef Machine::issue(Task &task, Queue queue,
                        llvm::ArrayRef<AsyncOp::Stage> stages) {
  AsyncRef op(new AsyncOp);
  auto numTasks = uint32_t(tasks.size());
  op->task = task.index;
  op->rank = task.rank;
  op->site = task.site;
  op->begin = steps;
  op->knowledge = know(task);
  op->stages.assign(stages.begin(), stages.end());
  if (queue == Queue::None) {
    uint32_t agent = allocateCopyAgent(op->knowledge);
    AsyncRef &copy = copies[agent - 4 * numTasks];
    op->epoch = {agent, copy->epoch.time + 1};
    copy = op;
  } else if (queue == Queue::TensorDots) {
    op->epoch = {numTasks + task.index, task.time};
    // In order, so what the queue did before is over.
    op->knowledge.happened.advance(op->epoch);
    if (task.tensorOp && !task.tensorOp->isDone()) {
      op->previous = task.tensorOp;
    }
    task.tensorOp = op;
  } else {
    bool isDot = queue == Queue::Dots;
    std::deque<AsyncRef> &ops = isDot ? task.dots : task.stores;
    op->epoch = {(isDot ? 1 : 2) * numTasks + task.index, task.time};
    op->globalEpoch = {3 * numTasks + task.index, task.time};
    if (!ops.empty()) {
      op->previous = ops.back()->isDone() ? nullptr : ops.back();
    }
    // Old stores that are done tell nothing new.
    while (!isDot && ops.size() > kRemembered && ops.front()->isDone() &&
           task.knowledge.happened.covers(ops.front()->epoch)) {
      ops.pop_front();
    }
    ops.push_back(op);
  }
  inFlight.push_back(op);
  tick(task, "start of an operation");
  return op;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

Note Machine::getDeclaration(int64_t array) const {
  for (const Argument &argument : program.arguments) {
    if (argument.kind != ArgumentKind::Scalar &&
        initial[argument.slot].integer == array) {
      return {argument.site, argument.name + " is declared here"};
    }
  }
  return {kKernelSite, "declared here"};
}

void Machine::fail(Fault fault, Site site, const std::string &text,
                   std::vector<Note> notes) {
  report.add({fault, site, text, std::move(notes)});
}

std::string Machine::getName(const Access &access) const {
  return access.task < tasks.size() ? tasks[access.task].name : "the kernel";
}

Access Machine::makeAccess(const Task &task, bool isWrite) const {
  return {{task.index, task.time},
          task.site,
          task.index,
          getCluster(),
          task.rank,
          isWrite,
          false,
          false};
}

Access Machine::makeAccess(const AsyncOp &op, bool isWrite) const {
  return {op.epoch, op.site, op.task, getCluster(), tasks[op.task].rank,
          isWrite,  true,    false};
}

/// Where a buffer is allocated, if one is known.
static std::vector<Note> getAllocation(const Buffer *buffer) {
  return buffer ? std::vector<Note>{{buffer->site, "allocated here"}}
                : std::vector<Note>{};
}

/// The last buffer that covers a place: aliases come after what they alias.
static const Buffer *findBuffer(const std::vector<Buffer> &buffers,
                                int64_t at) {
  const Buffer *found = nullptr;
  for (const Buffer &buffer : buffers) {
    if (buffer.begin <= at && at < buffer.end) {
      found = &buffer;
    }
  }
  return found;
}

bool Machine::recordShared(SharedMemory &shared, const Access &access,
                           const Knowledge &knowledge, const View &view) {
  const Buffer *buffer = findBuffer(program.buffers, view.base);
  if (!shared.contains(view)) {
    fail(Fault::OutOfBounds, access.site,
         getName(access) + " leaves the shared memory of " +
             std::to_string(shared.getSize()) + " bytes",
         getAllocation(buffer));
    return false;
  }
  std::string name = buffer ? buffer->name : "a buffer";
  view.forEachRange([&](int64_t begin, int64_t end) {
    shared.history.record(
        begin, end, access, knowledge,
        [&](const Conflict &conflict) {
          report.add(
              Explain(*this).conflict(conflict, access, knowledge, name));
        },
        [&] { report.add(Explain(*this).neverWritten(access, buffer)); });
  });
  return true;
}

bool Machine::access(Task &task, const View &view, bool isWrite) {
  Knowledge &knowledge = know(task);
  return recordShared(getShared(task), makeAccess(task, isWrite), knowledge,
                      view);
}

bool Machine::accessResponse(Task &task, const View &view) {
  Access access = makeAccess(task, /*isWrite=*/false);
  access.isFencedRead = true;
  return recordShared(getShared(task), access, know(task), view);
}

bool Machine::access(AsyncOp &op, const View &view, bool isWrite) {
  return recordShared(getShared(op), makeAccess(op, isWrite), op.knowledge,
                      view);
}

bool Machine::recordTensor(TensorMemory &tensor, const Access &access,
                           const Knowledge &knowledge, const TensorView &view) {
  const Buffer *buffer = findBuffer(program.tensorBuffers, view.begin);
  if (!tensor.contains(view)) {
    fail(Fault::OutOfBounds, access.site,
         getName(access) + " leaves the " +
             std::to_string(program.tensorColumns) +
             " columns of tensor memory of the kernel",
         getAllocation(buffer));
    return false;
  }
  std::string name = buffer ? buffer->name : "a buffer";
  auto [begin, end] = view.getRange();
  for (History *history : tensor.getHistories(view)) {
    history->record(
        begin, end, access, knowledge,
        [&](const Conflict &conflict) {
          report.add(
              Explain(*this).conflict(conflict, access, knowledge, name));
        },
        [&] { report.add(Explain(*this).neverWritten(access, buffer)); });
  }
  return true;
}

bool Machine::access(Task &task, const TensorView &view, bool isWrite) {
  Access access = makeAccess(task, isWrite);
  access.isTensor = true;
  return recordTensor(getTensor(task), access, know(task), view);
}

bool Machine::access(AsyncOp &op, const TensorView &view, bool isWrite) {
  Access access = makeAccess(op, isWrite);
  access.isTensor = true;
  return recordTensor(getTensor(op), access, op.knowledge, view);
}

bool Machine::recordGlobal(const Access &access, const Knowledge &knowledge,
                           int64_t number, int64_t begin, int64_t end) {
  GlobalArray &array = getArray(number);
  if (array.isBoundless) {
    return false;
  }
  if (begin < 0 || end > array.getNumElements()) {
    fail(Fault::OutOfBounds, access.site,
         getName(access) + " accesses elements " + std::to_string(begin) +
             " to " + std::to_string(end - 1) + " of " + array.name +
             ", which has " + std::to_string(array.getNumElements()),
         {getDeclaration(number)});
    return false;
  }
  if (!array.isComplete && (!access.isWrite || access.isReduction)) {
    for (int64_t i = begin; i < end; ++i) {
      if (!array.written[size_t(i)]) {
        fail(Fault::NeverWritten, access.site,
             getName(access) + " reads element " + std::to_string(i) + " of " +
                 array.name + ", which has no value",
             {getDeclaration(number)});
        break;
      }
    }
  }
  if (!array.isOutput) {
    return true;
  }
  array.history.record(
      begin, end, access, knowledge,
      [&](const Conflict &conflict) {
        report.add(
            Explain(*this).conflict(conflict, access, knowledge, array.name));
      },
      [] {});
  std::fill(array.written.begin() + begin, array.written.begin() + end,
            access.isWrite || array.written[size_t(begin)]);
  return true;
}

bool Machine::access(Task &task, int64_t array, int64_t begin, int64_t end,
                     bool isWrite) {
  Knowledge &knowledge = know(task);
  return recordGlobal(makeAccess(task, isWrite), knowledge, array, begin, end);
}

bool Machine::access(AsyncOp &op, int64_t array, int64_t begin, int64_t end,
                     bool isWrite, bool isReduction, bool isOrdered) {
  Access access = makeAccess(op, isWrite);
  access.epoch = isWrite ? op.globalEpoch : op.epoch;
  access.isReduction = isReduction;
  access.isOrdered = isOrdered;
  return recordGlobal(access, op.knowledge, array, begin, end);
}
