//===- Machine.cpp - A CTA that runs a program -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Machine.h"

#include "Explain.h"
#include "jfa/Sim/Schedule.h"
#include "jfa/Sim/Trace.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

/// How many releases of a task are remembered to explain findings.
static constexpr size_t kReleases = 64;

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

// Replica t of T is agent t; its products, which complete in order, are agent
// T + t; its stores are agents 2 T + t where they read and 3 T + t where they
// write. Copies into shared memory complete in any order: each is an agent of
// its own, from 4 T on, which a later one may be again if it starts after the
// end of the former is known.

uint32_t Machine::allocateCopyAgent(const Knowledge &knowledge) {
  auto first = uint32_t(4 * tasks.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    if (knowledge.happened.covers(copies[i]->epoch)) {
      return first + uint32_t(i);
    }
  }
  copies.push_back(AsyncRef(new AsyncOp));
  return first + uint32_t(copies.size()) - 1;
}

Knowledge &Machine::know(Task &task) {
  task.knowledge.happened.advance({task.index, task.time});
  return task.knowledge;
}

/// What follows is no longer part of what has been released.
void Machine::tick(Task &task, std::string release) {
  task.releases.push_back({task.time, task.site, std::move(release)});
  if (task.releases.size() > kReleases) {
    task.releases.pop_front();
  }
  ++task.time;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Machine::Machine(const Program &program, std::vector<GlobalArray> &arrays,
                 const std::vector<Value> &values,
                 const MachineOptions &options, Report &report)
    : program(program), arrays(arrays), options(options), report(report),
      shared(program.sharedBytes), initial(program.numSlots) {
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    initial[program.arguments[i].slot] = values[i];
  }
}

Machine::~Machine() = default;

/// Runs what every thread runs before the tasks, then starts these.
static void start(Machine &machine, const Program &program,
                  std::vector<Value> &initial, std::vector<Task> &tasks) {
  Task everyone;
  everyone.name = "the kernel";
  everyone.slots = initial;
  everyone.code = &program.prologue;
  while (everyone.counter < program.prologue.size()) {
    const Instruction &next = program.prologue[everyone.counter++];
    everyone.site = next.site;
    next.run(machine, everyone);
  }
  for (uint32_t p = 0; p < program.tasks.size(); ++p) {
    const TaskProgram &role = program.tasks[p];
    for (int64_t replica = 0; replica < role.replicas; ++replica) {
      Task task;
      task.name = "@" + role.name;
      if (role.replicas > 1) {
        task.name += "#" + std::to_string(replica);
      }
      task.index = uint32_t(tasks.size());
      task.program = p;
      task.replica = replica;
      task.threads = role.threads;
      task.code = &role.code;
      task.slots = everyone.slots;
      tasks.push_back(std::move(task));
    }
  }
}

void Machine::run(Schedule &schedule, Trace *newTrace) {
  trace = newTrace;
  start(*this, program, initial, tasks);
  std::vector<Choice> choices;
  while (true) {
    choices.clear();
    for (const Task &task : tasks) {
      if (!task.isFinished && isSatisfied(task)) {
        choices.push_back({false, task.index});
      }
    }
    size_t numTasks = choices.size();
    for (size_t i = 0; i < inFlight.size(); ++i) {
      if (inFlight[i]->isReady()) {
        choices.push_back({true, i});
      }
    }
    if (choices.empty()) {
      break;
    }
    if (++steps > options.maxSteps) {
      fail(Fault::Unsupported, tasks[0].site,
           "the kernel takes more than " + std::to_string(options.maxSteps) +
               " steps");
      return;
    }
    size_t chosen = schedule.choose(choices);
    if (chosen < numTasks) {
      step(tasks[choices[chosen].id]);
      continue;
    }
    AsyncRef op = inFlight[choices[chosen].id];
    step(*op);
    if (op->isDone()) {
      if (trace) {
        trace->span(*op, program.siteNames[op->site], op->begin, steps);
      }
      op->previous = nullptr;
      inFlight.erase(inFlight.begin() + int64_t(choices[chosen].id));
    }
  }
  bool stuck = llvm::any_of(tasks, [](const Task &t) { return !t.isFinished; });
  stuck ? report.add(Explain(*this).deadlock()) : checkEnd();
}

/// Runs a task to just before the next instruction that others can notice.
void Machine::step(Task &task) {
  bool isNoticed = task.waiting.kind != Condition::Nothing;
  acquire(task);
  while (task.counter < task.code->size()) {
    const Instruction &next = (*task.code)[task.counter];
    if (next.isVisible && isNoticed) {
      return;
    }
    isNoticed |= next.isVisible;
    ++task.counter;
    task.site = next.site;
    next.run(*this, task);
    if (task.waiting.kind != Condition::Nothing) {
      if (!isSatisfied(task)) {
        return;
      }
      acquire(task);
    }
  }
  finish(task);
}

void Machine::step(AsyncOp &op) {
  op.stages[op.done](*this, op);
  ++op.done;
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

void Machine::wait(Task &task, Condition condition) {
  condition.site = task.site;
  task.waiting = condition;
  if (trace) {
    trace->beginWait(task, steps);
  }
}

/// All but the newest `pending` have passed `stages` stages.
static bool arePassed(const std::deque<AsyncRef> &ops, unsigned pending,
                      unsigned stages) {
  return ops.size() <= pending ||
         ops[ops.size() - 1 - pending]->done >= stages;
}

bool Machine::isSatisfied(const Task &task) const {
  const Condition &condition = task.waiting;
  switch (condition.kind) {
  case Condition::Nothing:
    return true;
  case Condition::Barrier:
    return barriers[size_t(condition.barrier)].isComplete(condition.parity);
  case Condition::Named:
    return named[size_t(condition.barrier)].generation > condition.generation;
  case Condition::Dots:
    return arePassed(task.dots, condition.pending, 1);
  case Condition::Stores:
    return arePassed(task.stores, condition.pending, condition.written ? 2 : 1);
  }
  return false;
}

/// Learns what the wait makes known.
void Machine::acquire(Task &task) {
  Condition condition = task.waiting;
  task.waiting = {};
  if (condition.kind == Condition::Nothing) {
    return;
  }
  if (trace) {
    trace->endWait(task, steps);
  }
  if (condition.kind == Condition::Barrier) {
    MBarrier &barrier = barriers[size_t(condition.barrier)];
    task.knowledge.join(barrier.getCompleted());
    barrier.observers.push_back(
        {{task.index, task.time}, condition.site, task.index});
  } else if (condition.kind == Condition::Named) {
    task.knowledge.join(named[size_t(condition.barrier)].getCompleted(
        condition.generation));
  }
  bool isDots = condition.kind == Condition::Dots;
  if (!isDots && condition.kind != Condition::Stores) {
    return;
  }
  std::deque<AsyncRef> &ops = isDots ? task.dots : task.stores;
  size_t known = ops.size() - std::min<size_t>(ops.size(), condition.pending);
  for (size_t i = 0; i < known; ++i) {
    task.knowledge.advance(ops[i]->epoch);
    if (condition.written) {
      task.knowledge.advance(ops[i]->globalEpoch);
    }
  }
  // Stores that have only been read may be waited for again.
  if (isDots || condition.written) {
    ops.erase(ops.begin(), ops.begin() + int64_t(known));
  }
}

void Machine::finish(Task &task) {
  task.isFinished = true;
  if (!task.dots.empty()) {
    fail(Fault::Unwaited, task.dots.back()->site,
         task.name + " ends while this product is in flight");
  }
  for (const AsyncRef &store : task.stores) {
    if (!know(task).happened.covers(store->epoch)) {
      fail(Fault::Unwaited, store->site,
           task.name + " ends before this store has read its buffer, which "
                       "has to outlive it: tlx.async_descriptor_store_wait "
                       "is missing");
    }
  }
}

void Machine::checkEnd() {
  for (const MBarrier &barrier : barriers) {
    if (barrier.pending == barrier.expected && barrier.bytes == 0) {
      continue;
    }
    std::vector<Note> notes;
    for (const Arrival &arrival : barrier.arrivals) {
      notes.push_back({arrival.site, tasks[arrival.task].name +
                                         " has arrived here"});
    }
    Explain explain(*this);
    fail(Fault::Unbalanced, program.barriers[barrier.array].site,
         "the kernel ends while " + explain.barrier(barrier) +
             " is in the middle of a phase: " + explain.state(barrier),
         notes);
  }
  for (const AsyncRef &copy : copies) {
    bool known = llvm::any_of(tasks, [&](const Task &task) {
      return task.knowledge.happened.covers(copy->epoch);
    });
    if (!known) {
      fail(Fault::Unwaited, copy->site,
           "the kernel may end before this copy has: nobody waits for the "
           "phase in which its bytes are delivered");
    }
  }
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

int64_t Machine::addBarriers(uint32_t array, int64_t count, int64_t arrivals) {
  auto first = int64_t(barriers.size());
  for (int64_t i = 0; i < count; ++i) {
    barriers.emplace_back(array, uint32_t(i), arrivals);
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

void Machine::arrive(Task &task, int64_t number, int64_t bytes) {
  MBarrier &barrier = barriers[size_t(number)];
  Explain explain(*this);
  bool isSeen = llvm::any_of(barrier.observers, [&](const Observer &observer) {
    return know(task).happened.covers(observer.epoch);
  });
  if (barrier.phase > 0 && !isSeen) {
    fail(Fault::PhaseLapped, task.site,
         task.name + " arrives in phase " + std::to_string(barrier.phase) +
             " of " + explain.barrier(barrier) +
             ", but nobody has to have seen phase " +
             std::to_string(barrier.phase - 1) +
             " complete before that (PTX ISA 9.7.13.15.4)",
         {{program.barriers[barrier.array].site, "allocated here"}});
  }
  bool complete =
      barrier.arrive(know(task), bytes, {task.site, task.index});
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
  if (barrier.deliver(op.epoch, bytes)) {
    completed(barrier, op.site);
  }
}

/// A phase must not complete before everyone has seen the one before it.
void Machine::completed(MBarrier &barrier, Site site) {
  for (const Observer &observer : barrier.observersBefore) {
    if (!barrier.getCompleted().happened.covers(observer.epoch)) {
      report.add(Explain(*this).lapped(barrier, observer, site));
    }
  }
}

bool Machine::arriveNamed(Task &task, int64_t id, int64_t threads) {
  if (id < 0 || id > 15) {
    fail(Fault::NamedBarrier, task.site,
         "expected an id from 0 to 15, but got " + std::to_string(id));
    return false;
  }
  NamedBarrier &barrier = named[size_t(id)];
  std::vector<Note> notes;
  for (const Arrival &arrival : barrier.arrivals) {
    notes.push_back({arrival.site,
                     tasks[arrival.task].name + " has arrived here"});
  }
  std::string wrong = barrier.arrive(task.index, task.threads, threads,
                                     task.site, know(task));
  if (!wrong.empty()) {
    fail(Fault::NamedBarrier, task.site,
         task.name + " " + wrong + " (id " + std::to_string(id) + ")", notes);
    return false;
  }
  tick(task, "arrival at named barrier " + std::to_string(id));
  return true;
}

void Machine::fence(Task &task) {
  task.knowledge.visibleToAsync.advance({task.index, task.time});
  ++task.time;
}

AsyncRef Machine::issue(Task &task, Queue queue,
                        llvm::ArrayRef<AsyncOp::Stage> stages) {
  AsyncRef op(new AsyncOp);
  auto numTasks = uint32_t(tasks.size());
  op->task = task.index;
  op->site = task.site;
  op->begin = steps;
  op->knowledge = know(task);
  op->stages.assign(stages.begin(), stages.end());
  if (queue == Queue::None) {
    uint32_t agent = allocateCopyAgent(op->knowledge);
    AsyncRef &copy = copies[agent - 4 * numTasks];
    op->epoch = {agent, copy->epoch.time + 1};
    copy = op;
  } else {
    bool isDot = queue == Queue::Dots;
    std::deque<AsyncRef> &ops = isDot ? task.dots : task.stores;
    op->epoch = {(isDot ? 1 : 2) * numTasks + task.index, task.time};
    op->globalEpoch = {3 * numTasks + task.index, task.time};
    if (!ops.empty()) {
      op->previous = ops.back()->isDone() ? nullptr : ops.back();
    }
    // Old stores that are done tell nothing new.
    while (!isDot && ops.size() > kReleases && ops.front()->isDone() &&
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

void Machine::fail(Fault fault, Site site, const std::string &text,
                   std::vector<Note> notes) {
  report.add({fault, site, text, std::move(notes)});
}

std::string Machine::getName(const Access &access) const {
  return access.task < tasks.size() ? tasks[access.task].name : "the kernel";
}

bool Machine::recordShared(const Access &access, const Knowledge &knowledge,
                           const View &view) {
  if (!shared.contains(view)) {
    fail(Fault::OutOfBounds, access.site,
         getName(access) + " leaves the shared memory of " +
             std::to_string(shared.getSize()) + " bytes");
    return false;
  }
  std::string name = "a buffer";
  for (const Buffer &buffer : program.buffers) {
    if (buffer.begin <= view.base && view.base < buffer.end) {
      name = buffer.name;
    }
  }
  view.forEachRange([&](int64_t begin, int64_t end) {
    shared.history.record(
        begin, end, access, knowledge,
        [&](const Conflict &conflict) {
          report.add(
              Explain(*this).conflict(conflict, access, knowledge, name));
        },
        [&] {
          fail(Fault::NeverWritten, access.site,
               getName(access) + " reads " + name +
                   ", which nobody has written");
        });
  });
  return true;
}

bool Machine::access(Task &task, const View &view, bool isWrite) {
  Access access{{task.index, task.time}, task.site, task.index, options.cta,
                isWrite, /*isAsync=*/false, /*isReduction=*/false};
  return recordShared(access, know(task), view);
}

bool Machine::access(AsyncOp &op, const View &view, bool isWrite) {
  Access access{op.epoch, op.site, op.task, options.cta,
                isWrite,  true,    false};
  return recordShared(access, op.knowledge, view);
}

bool Machine::recordGlobal(const Access &access, const Knowledge &knowledge,
                           int64_t number, int64_t begin, int64_t end) {
  GlobalArray &array = getArray(number);
  if (array.isBoundless) {
    return false;
  }
  if (begin < 0 || end > array.getNumElements()) {
    fail(Fault::OutOfBounds, access.site,
         getName(access) + " accesses elements " +
             std::to_string(begin) + " to " + std::to_string(end - 1) + " of " +
             array.name + ", which has " +
             std::to_string(array.getNumElements()));
    return false;
  }
  if (!array.isComplete && (!access.isWrite || access.isReduction)) {
    for (int64_t i = begin; i < end; ++i) {
      if (!array.written[size_t(i)]) {
        fail(Fault::NeverWritten, access.site,
             getName(access) + " reads element " + std::to_string(i) +
                 " of " + array.name + ", which has no value");
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
        report.add(Explain(*this).conflict(conflict, access, knowledge,
                                           array.name));
      },
      [] {});
  std::fill(array.written.begin() + begin, array.written.begin() + end,
            access.isWrite || array.written[size_t(begin)]);
  return true;
}

bool Machine::access(Task &task, int64_t array, int64_t begin, int64_t end,
                     bool isWrite) {
  Access access{{task.index, task.time}, task.site, task.index, options.cta,
                isWrite, /*isAsync=*/false, /*isReduction=*/false};
  return recordGlobal(access, know(task), array, begin, end);
}

bool Machine::access(AsyncOp &op, int64_t array, int64_t begin, int64_t end,
                     bool isWrite, bool isReduction) {
  Access access{isWrite ? op.globalEpoch : op.epoch,
                op.site,
                op.task,
                options.cta,
                isWrite,
                /*isAsync=*/true,
                isReduction};
  return recordGlobal(access, op.knowledge, array, begin, end);
}
