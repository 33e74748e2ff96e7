//===- Machine.cpp - A cluster that runs a program --------------*- C++ -*-===//
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

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

// Task t of T is agent t; its products, which complete in order, be it in
// registers or in tensor memory, are agent T + t; its stores are agents 2 T + t
// where they read and 3 T + t where they write. Copies into shared memory
// complete in any order: each is an agent of its own, from 4 T on, which a
// later one may be again if it starts after the end of the former is known.

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
  task.knowledge.advanceOwn({task.index, task.time});
  return task.knowledge;
}

/// What follows is no longer part of what has been released.
void Machine::tick(Task &task, std::string release) {
  task.releases.push_back({task.time, task.site, std::move(release)});
  if (task.releases.size() > kRemembered) {
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
      initial(program.numSlots) {
  for (uint32_t rank = 0; rank < options.together; ++rank) {
    ctas.emplace_back(program).shared.history.isStrict = options.strictProxy;
    for (uint32_t i = 0; i < program.barriers.size(); ++i) {
      for (int64_t index = 0; index < program.barriers[i].count; ++index) {
        barriers.emplace_back(i, uint32_t(index), program.barriers[i].arrivals);
        barriers.back().rank = rank;
      }
    }
  }
  barriersOfCta = int64_t(barriers.size()) / options.together;
  for (GlobalArray &array : arrays) {
    array.history.isStrict = options.strictProxy;
  }
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    initial[program.arguments[i].slot] = values[i];
  }
}

Machine::~Machine() = default;

void Machine::makeTasks() {
  bool isOne = options.together == 1;
  auto add = [&](uint32_t rank, std::string name) -> Task & {
    Task &task = tasks.emplace_back();
    task.index = uint32_t(tasks.size()) - 1;
    task.rank = rank;
    task.name = std::move(name);
    if (!isOne) {
      task.name += " of CTA " + std::to_string(getCta(rank));
    }
    return task;
  };
  for (uint32_t rank = 0; rank < options.together; ++rank) {
    for (uint32_t p = 0; p < program.tasks.size(); ++p) {
      const TaskProgram &role = program.tasks[p];
      for (int64_t replica = 0; replica < role.replicas; ++replica) {
        Task &task = add(
            rank, "@" + role.name +
                      (role.replicas > 1 ? "#" + std::to_string(replica) : ""));
        task.program = p;
        task.replica = replica;
        task.threads = role.threads;
        task.code = &role.code;
        task.site = task.clusterSite = role.site;
        task.isFinished = true;
      }
    }
  }
  for (uint32_t rank = 0; rank < options.together; ++rank) {
    Task &prologue = add(rank, "the kernel");
    prologue.program = kPrologue;
    prologue.code = &program.prologue;
    prologue.slots = initial;
  }
}

/// Lets the tasks of a CTA go on from what every thread of it has run.
void Machine::startTasks(Task &prologue) {
  for (Task &task : tasks) {
    if (task.rank != prologue.rank || task.program == kPrologue) {
      continue;
    }
    task.slots = prologue.slots;
    task.knowledge = know(prologue);
    task.clusterPhase = prologue.clusterPhase;
    task.hasArrived = prologue.hasArrived;
    task.hasToWait = prologue.hasToWait;
    if (prologue.clusterSite != kKernelSite) {
      task.clusterSite = prologue.clusterSite;
    }
    task.isFinished = false;
    if (trace) {
      trace->beginTask(task, steps);
    }
  }
}

void Machine::run(Schedule &newSchedule, Grid &newGrid, Trace *newTrace) {
  trace = newTrace;
  schedule = &newSchedule;
  grid = &newGrid;
  failures.resize(program.clusterSize);
  makeTasks();
  for (Task &task : tasks) {
    while (!task.isFinished && task.program == kPrologue && isSatisfied(task)) {
      if (!checkLength(task.site)) {
        return;
      }
      step(task);
    }
  }
  if (!runSteps()) {
    return;
  }
  bool stuck = llvm::any_of(tasks, [](const Task &t) { return !t.isFinished; });
  stuck ? report.add(Explain(*this).deadlock()) : checkEnd();
}

/// Until nobody can take one; false, with a finding, if that takes too long.
bool Machine::runSteps() {
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
      return true;
    }
    ++steps;
    size_t chosen = schedule->choose(choices);
    if (chosen < numTasks) {
      Task &task = tasks[choices[chosen].id];
      step(task);
      if (!checkLength(task.site)) {
        return false;
      }
      continue;
    }
    AsyncRef op = inFlight[choices[chosen].id];
    step(*op);
    if (op->isDone()) {
      if (trace) {
        const Task &task = tasks[op->task];
        trace->span(*op, task, Explain(*this).queue(*op),
                    program.siteNames[op->site], steps);
      }
      op->previous = nullptr;
      inFlight.erase(inFlight.begin() + int64_t(choices[chosen].id));
    }
  }
}

bool Machine::checkLength(Site site) {
  if (instructions <= options.maxInstructions) {
    return true;
  }
  fail(Fault::Endless, site,
       "the kernel takes more than " + std::to_string(options.maxInstructions) +
           " instructions");
  return false;
}

/// Runs a task to just before the next instruction that others can notice.
void Machine::step(Task &task) {
  bool isNoticed = task.waiting.kind != Condition::Nothing;
  acquire(task);
  while (task.counter < task.code->size() &&
         ++instructions <= options.maxInstructions) {
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
  if (task.counter == task.code->size()) {
    finish(task);
  }
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
    trace->beginWait(task, Explain(*this).awaited(task), steps);
  }
}

/// All but the newest `pending` have passed `stages` stages.
static bool arePassed(const std::deque<AsyncRef> &ops, unsigned pending,
                      unsigned stages) {
  return ops.size() <= pending || ops[ops.size() - 1 - pending]->done >= stages;
}

bool Machine::isSatisfied(const Task &task) const {
  const Condition &condition = task.waiting;
  switch (condition.kind) {
  case Condition::Nothing:
    return true;
  case Condition::Barrier:
    return barriers[size_t(condition.barrier)].isComplete(condition.parity);
  case Condition::Named:
    return getNamedGeneration(task, condition.barrier) > condition.generation;
  case Condition::Cluster:
    return clusterBarrier.phase > condition.generation;
  case Condition::Semaphore:
    return semaphores.at({condition.array, condition.barrier}).getCount() >=
           condition.count;
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
    checkParity(barrier, task, condition.site);
    task.knowledge.join(barrier.getCompleted());
    barrier.observers.push_back(
        {{task.index, task.time}, condition.site, task.index});
  } else if (condition.kind == Condition::Named) {
    task.knowledge.join(
        ctas[task.rank].named[size_t(condition.barrier)].getCompleted(
            condition.generation));
  } else if (condition.kind == Condition::Cluster) {
    task.knowledge.join(clusterBarrier.getCompleted());
  } else if (condition.kind == Condition::Semaphore) {
    task.knowledge.join(semaphores.at({condition.array, condition.barrier})
                            .getKnown(condition.count));
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
  if (task.program == kPrologue) {
    return startTasks(task);
  }
  task.end = steps;
  if (trace) {
    trace->endTask(task, steps);
  }
  // The others of the cluster no longer wait for it.
  completeCluster();
  if (!task.dots.empty()) {
    Site site = task.dots.back()->site;
    fail(Fault::Unwaited, site,
         task.name + " ends while this product is in flight",
         {Explain(*this).end(task, site)});
  }
  for (const AsyncRef &store : task.stores) {
    if (!know(task).happened.covers(store->epoch)) {
      fail(Fault::Unwaited, store->site,
           task.name + " ends before this store has read its buffer, which "
                       "has to outlive it: tlx.async_descriptor_store_wait "
                       "is missing",
           {Explain(*this).end(task, store->site)});
    }
  }
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void Machine::checkEnd() {
  checkBarriersAtEnd();
  for (const AsyncRef &copy : copies) {
    uint32_t reads = copy->readsOwn ? tasks[copy->task].rank : copy->rank;
    if (!isKnownAtEnd(copy->epoch, copy->rank, &Knowledge::happened) ||
        !isKnownAtEnd(copy->epoch, reads, &Knowledge::happened)) {
      report.add(Explain(*this).unwaited(*copy));
    }
  }
  checkProductsAtEnd();
  checkRemoteAtEnd();
}

void Machine::checkBarriersAtEnd() {
  for (size_t number = 0; number < barriers.size(); ++number) {
    const MBarrier &barrier = barriers[number];
    if (barrier.pending == barrier.expected && barrier.bytes == 0) {
      continue;
    }
    std::vector<Note> notes;
    for (const Arrival &arrival : barrier.arrivals) {
      notes.push_back(
          {arrival.site, tasks[arrival.task].name + " has arrived here"});
    }
    for (const AsyncRef &copy : copies) {
      if (copy->barrier == int64_t(number) && copy->phase == barrier.phase) {
        notes.push_back({copy->site, tasks[copy->task].name +
                                         " has started a copy here that has "
                                         "delivered its bytes"});
      }
    }
    Explain explain(*this);
    fail(Fault::Unbalanced, program.barriers[barrier.array].site,
         "the kernel ends while " + explain.barrier(barrier) +
             " is in the middle of a phase: " + explain.state(barrier),
         notes);
  }
}

void Machine::checkProductsAtEnd() {
  for (const Task &owner : tasks) {
    const AsyncRef &dot = owner.tensorDot;
    bool known = !dot || llvm::any_of(tasks, [&](const Task &task) {
      return task.knowledge.happened.covers(dot->epoch);
    });
    if (!known) {
      fail(Fault::Unwaited, dot->site,
           "the kernel may end before this product is done: nobody waits for "
           "an mbarrier that a tlx.tcgen05_commit after it arrives at",
           {Explain(*this).end(owner.rank, dot->site)});
    }
  }
}
