//===- Deadlock.cpp - Who waits for whom -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// When nothing can go on, a report follows the waits: what a task waits for,
// who could still signal that and where, what those wait for in turn, up to
// where nobody is left to signal, or to a task that waits for itself.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

//===----------------------------------------------------------------------===//
// What a task waits for
//===----------------------------------------------------------------------===//

/// Whether a phase of the parity that `task` waits for has come and gone since
/// it last waited.
static bool isLapped(const Task &task, const MBarrier &barrier) {
  return barrier.phase >= 2 &&
         llvm::none_of(barrier.observersBefore, [&](const Observer &observer) {
           return observer.task == task.index;
         });
}

std::string Explain::awaited(const Task &task) const {
  const Condition &condition = task.waiting;
  switch (condition.kind) {
  case Condition::Barrier:
    return barrier(machine.barriers[size_t(condition.barrier)]);
  case Condition::Named:
    return "named barrier " + std::to_string(condition.barrier);
  case Condition::Cluster:
    return "the cluster's barrier";
  case Condition::Semaphore:
    return "semaphore " + std::to_string(condition.barrier) + " of " +
           machine.arrays[size_t(condition.array)].name;
  default:
    return "operations in flight";
  }
}

Note Explain::waiter(const Task &task) const {
  const Condition &condition = task.waiting;
  std::string text = task.name + " waits for ";
  if (condition.kind == Condition::Barrier) {
    const MBarrier &barrier = machine.barriers[size_t(condition.barrier)];
    text += "a phase of parity " + std::to_string(condition.parity) + " of " +
            awaited(task) + ": " + state(barrier);
    if (isLapped(task, barrier)) {
      text += ", and the one before the last has completed without it, which "
              "was of that parity";
    }
    return {condition.site, text};
  }
  text += awaited(task);
  if (condition.kind == Condition::Named) {
    const NamedBarrier &named =
        machine.ctas[task.rank].named[size_t(condition.barrier)];
    text += ": " + std::to_string(named.arrived) + " of " +
            plural(named.total, "thread");
  } else if (condition.kind == Condition::Semaphore) {
    int64_t count =
        machine.semaphores.at({condition.array, condition.barrier}).getCount();
    text +=
        ": " + std::to_string(count) + " of " + plural(condition.count, "post");
  }
  return {condition.site, text};
}

//===----------------------------------------------------------------------===//
// Who could signal it
//===----------------------------------------------------------------------===//

/// Whether `task` can still come to the op at `site`.
static bool canReach(const Task &task, Site site) {
  const Code &code = *task.code;
  std::vector<bool> isSeen(code.size() + 1, false);
  std::vector<size_t> places{task.counter};
  while (!places.empty()) {
    size_t place = places.back();
    places.pop_back();
    if (place >= code.size() || isSeen[place]) {
      continue;
    }
    isSeen[place] = true;
    const Instruction &instruction = code[place];
    if (instruction.site == site) {
      return true;
    }
    if (instruction.target) {
      places.push_back(*instruction.target);
    }
    if (!instruction.isJump) {
      places.push_back(place + 1);
    }
  }
  return false;
}

/// The ops that signal what a task waits for.
std::vector<sim::Signaller>
Explain::getSignalOps(const Condition &condition) const {
  std::vector<sim::Signaller> ops;
  if (condition.kind == Condition::Barrier) {
    const MBarrier &barrier = machine.barriers[size_t(condition.barrier)];
    ops = machine.program.barriers[barrier.array].signallers;
  } else if (condition.kind == Condition::Named) {
    for (const NamedSignaller &op : machine.program.namedSignallers) {
      if (op.id.value_or(condition.barrier) == condition.barrier) {
        ops.push_back({op.task, op.site, false});
      }
    }
  } else if (condition.kind == Condition::Cluster) {
    ops = machine.program.clusterSignallers;
  } else if (condition.kind == Condition::Semaphore) {
    ops = machine.program.semaphoreSignallers;
  }
  return ops;
}

std::vector<Explain::Signaller>
Explain::getSignallers(const Task &waiter) const {
  const Condition &condition = waiter.waiting;
  std::vector<sim::Signaller> ops = getSignalOps(condition);
  std::vector<Signaller> signallers;
  for (const Task &task : machine.tasks) {
    bool hasSignalled = condition.kind == Condition::Cluster && task.hasArrived;
    for (const sim::Signaller &op : ops) {
      if (op.task == task.program && !task.isFinished && !hasSignalled &&
          (op.isRemote || task.rank == waiter.rank) &&
          canReach(task, op.site)) {
        signallers.push_back({task.index, op.site});
      }
    }
  }
  return signallers;
}

/// Why nobody is left to signal.
std::string Explain::nobody(const Task &waiter) const {
  if (waiter.waiting.kind == Condition::Cluster) {
    std::string names;
    for (const Task &task : machine.tasks) {
      if (!task.isFinished && !task.hasArrived) {
        names += (names.empty() ? "" : ", ") + task.name;
      }
    }
    return "no arrival at it is left for " + names +
           ", which it waits for until they end";
  }
  return "every task that signals " + awaited(waiter) + " has ended";
}

/// Adds why nobody is left to signal, and who has done so where.
void Explain::addNobody(const Task &waiter, std::vector<Note> &notes) const {
  const Condition &condition = waiter.waiting;
  const Program &program = machine.program;
  notes.push_back({condition.site, nobody(waiter)});
  if (condition.kind == Condition::Cluster) {
    for (const Task &task : machine.tasks) {
      if (!task.isFinished && !task.hasArrived) {
        notes.push_back({task.site, task.name + " is here"});
      }
    }
    return;
  }
  bool isOther = false;
  for (const sim::Signaller &op : getSignalOps(condition)) {
    bool isPrologue = op.task == kPrologue;
    isOther |= op.task != waiter.program;
    notes.push_back({op.site, (isPrologue ? "the kernel"
                                          : "@" + program.tasks[op.task].name) +
                                  " signals it here"});
  }
  if (isOther) {
    return;
  }
  Site declared = program.tasksSite;
  if (condition.kind == Condition::Barrier) {
    const MBarrier &barrier = machine.barriers[size_t(condition.barrier)];
    declared = program.barriers[barrier.array].site;
  }
  notes.push_back({declared, "no other task signals it"});
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

/// Adds who could signal what `waiter` waits for, and what these wait for.
void Explain::follow(const Task &waiter, std::vector<bool> &isFollowed,
                     std::vector<Note> &notes) const {
  isFollowed[waiter.index] = true;
  if (waiter.waiting.kind == Condition::Barrier) {
    const MBarrier &barrier = machine.barriers[size_t(waiter.waiting.barrier)];
    if (isLapped(waiter, barrier)) {
      notes.push_back({barrier.completedBefore,
                       "this completed " + barrier.describePhase(2) + " of " +
                           awaited(waiter) + ", which it may mean"});
    }
  }
  std::vector<Signaller> signallers = getSignallers(waiter);
  if (signallers.empty()) {
    addNobody(waiter, notes);
  }
  for (const Signaller &signaller : signallers) {
    bool isSelf = signaller.task == waiter.index;
    notes.push_back({signaller.site, task(signaller.task) +
                                         " could still signal " +
                                         awaited(waiter) + " here" +
                                         (isSelf ? ", after this wait" : "")});
  }
  for (const Signaller &signaller : signallers) {
    if (!isFollowed[signaller.task]) {
      const Task &next = machine.tasks[signaller.task];
      notes.push_back(this->waiter(next));
      follow(next, isFollowed, notes);
    }
  }
}

/// Extends `path` by `task` until it ends where it has been before.
bool Explain::findCircle(uint32_t task, std::vector<uint32_t> &path) const {
  bool isClosed = llvm::is_contained(path, task);
  path.push_back(task);
  if (isClosed) {
    return true;
  }
  for (const Signaller &next : getSignallers(machine.tasks[task])) {
    if (findCircle(next.task, path)) {
      return true;
    }
  }
  path.pop_back();
  return false;
}

void Explain::addCircle(std::vector<Note> &notes) const {
  for (const Task &task : machine.tasks) {
    std::vector<uint32_t> path;
    if (task.isFinished || !findCircle(task.index, path)) {
      continue;
    }
    path.erase(path.begin(), llvm::find(path, path.back()));
    std::string text = "they wait in a circle: " + this->task(path.front());
    for (size_t i = 1; i < path.size(); ++i) {
      text += (i == 1 ? " for " : ", which waits for ") + this->task(path[i]) +
              " to signal " + awaited(machine.tasks[path[i - 1]]);
    }
    notes.push_back({machine.tasks[path.front()].waiting.site, text});
    return;
  }
}

Finding Explain::deadlock() const {
  Finding finding{Fault::Deadlock, 0, "", {}};
  std::vector<bool> isFollowed(machine.tasks.size(), false);
  for (const Task &task : machine.tasks) {
    if (task.isFinished || isFollowed[task.index]) {
      continue;
    }
    Note note = waiter(task);
    if (finding.text.empty()) {
      finding.site = note.site;
      finding.text = note.text + ", and nothing can go on";
    } else {
      finding.notes.push_back(note);
    }
    follow(task, isFollowed, finding.notes);
  }
  addCircle(finding.notes);
  return finding;
}
