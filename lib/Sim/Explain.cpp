//===- Explain.cpp - Findings in words -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

std::string Explain::plural(int64_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

std::string Explain::barrier(const MBarrier &barrier) const {
  const BarrierArray &array = machine.program.barriers[barrier.array];
  std::string name = array.name;
  if (array.count > 1) {
    name += "[" + std::to_string(barrier.index) + "]";
  }
  if (machine.options.together > 1) {
    name += " of CTA " + std::to_string(machine.getCta(barrier.rank));
  }
  return name;
}

std::string Explain::state(const MBarrier &barrier) const {
  std::string text = "phase " + std::to_string(barrier.phase) + " has " +
                     std::to_string(barrier.expected - barrier.pending) +
                     " of " + plural(barrier.expected, "arrival");
  if (barrier.bytes > 0) {
    text += " and lacks " + plural(barrier.bytes, "byte");
  } else if (barrier.bytes < 0) {
    text += " and got " + plural(-barrier.bytes, "byte") + " too many";
  }
  return text;
}

Finding Explain::lapped(const MBarrier &barrier, const Observer &observer,
                        Site site) const {
  std::string phase = barrier.describePhase(1);
  std::string before = barrier.describePhase(2);
  return {Fault::PhaseLapped,
          site,
          phase + " of " + this->barrier(barrier) + " can complete before " +
              task(observer.task) +
              " has seen the phase before it, which its parity cannot tell "
              "from the one after",
          {{observer.site, task(observer.task) + " waits for " + before +
                               " here; whoever completes " + phase +
                               " has to wait for it"}}};
}

Finding Explain::unseen(const MBarrier &barrier, uint32_t task,
                        Site site) const {
  std::string phase = std::to_string(barrier.phase - 1);
  std::string arrival = this->task(task) + " arrives in phase " +
                        std::to_string(barrier.phase) + " of " +
                        this->barrier(barrier);
  Finding finding{
      Fault::PhaseLapped,
      site,
      arrival + ", but nobody has to have seen phase " + phase +
          " complete before that (PTX ISA 9.7.13.15.4)",
      {{machine.program.barriers[barrier.array].site, "allocated here"}}};
  for (const Observer &observer : barrier.observers) {
    finding.notes.push_back(
        {observer.site, this->task(observer.task) + " sees phase " + phase +
                            " here; missing: after this, an arrival of it at a "
                            "barrier for which " +
                            this->task(task) + " waits"});
  }
  return finding;
}

Finding Explain::neverWritten(const Access &access,
                              const Buffer *buffer) const {
  Finding finding{Fault::NeverWritten,
                  access.site,
                  machine.getName(access) + " reads " +
                      (buffer ? buffer->name : "a buffer") +
                      ", which nobody has written",
                  {}};
  if (buffer) {
    finding.notes.push_back({buffer->site, "allocated here"});
  }
  return finding;
}

Finding Explain::unwaited(const AsyncOp &copy) const {
  Finding finding{
      Fault::Unwaited,
      copy.site,
      "the kernel may end before this copy has: nobody waits for the phase in "
      "which its bytes are delivered",
      {}};
  if (copy.barrier >= 0) {
    const MBarrier &barrier = machine.barriers[size_t(copy.barrier)];
    finding.notes.push_back(
        {machine.program.barriers[barrier.array].site,
         "missing: a wait for phase " + std::to_string(copy.phase) + " of " +
             this->barrier(barrier) + ", or for something after it"});
  }
  finding.notes.push_back(end(copy.rank, copy.site));
  return finding;
}

Note Explain::end(const Task &task, Site site) const {
  if (task.site == site && task.program != kPrologue) {
    return {machine.program.tasks[task.program].site,
            task.name + " does nothing after that"};
  }
  return {task.site, "the last that " + task.name + " does before its end"};
}

Note Explain::end(uint32_t rank, Site site) const {
  const Task *last = nullptr;
  for (const Task &task : machine.tasks) {
    if (task.rank == rank && (!last || task.end >= last->end)) {
      last = &task;
    }
  }
  Note note = end(*last, site);
  note.text +=
      ", with which CTA " + std::to_string(machine.getCta(rank)) + " ends";
  return note;
}

Finding Explain::aliased(const MBarrier &barrier, const Task &waiter,
                         Site site) const {
  std::string between = barrier.describePhase(2);
  return {Fault::ParityAliased,
          site,
          waiter.name + " can wait for " + barrier.describePhase(1) + " of " +
              this->barrier(barrier) + " before " + between +
              " has completed, when its parity is that of " +
              barrier.describePhase(3) + " too, which lets it pass",
          {{barrier.completedBefore,
            "this completes " + between + "; " + waiter.name +
                " has to wait for it, or for something after it, first"}}};
}

std::string Explain::queue(const AsyncOp &op) const {
  auto numTasks = uint32_t(machine.tasks.size());
  if (op.epoch.agent >= 4 * numTasks) {
    return "copies " + std::to_string(op.epoch.agent - 4 * numTasks);
  }
  return (op.epoch.agent < 2 * numTasks ? "products of " : "stores of ") +
         task(op.task);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

std::string Explain::describe(const Access &access) const {
  std::string verb = access.isReduction ? "adds to"
                     : access.isWrite   ? "writes"
                                        : "reads";
  std::string who = access.isAsync
                        ? "the operation that " + task(access.task) + " starts"
                        : task(access.task);
  return who + " " + verb;
}

/// What the later side knows of the task of the earlier one.
void Explain::addChain(const Access &earlier, const Access &later,
                       const Knowledge &knowledge,
                       std::vector<Note> &notes) const {
  if (earlier.task == later.task) {
    return;
  }
  const Task &task = machine.tasks[earlier.task];
  uint32_t known = knowledge.happened.get(earlier.task);
  const Release *latest = nullptr;
  for (const Release &release : task.releases) {
    if (release.time <= known) {
      latest = &release;
    }
  }
  if (latest) {
    notes.push_back({latest->site, "the last that " + this->task(later.task) +
                                       " has learnt from " + task.name +
                                       " is this " + latest->what});
  } else {
    notes.push_back({task.site, this->task(later.task) +
                                    " has learnt nothing from " + task.name});
  }
}

/// The wait for an operation that a task has started, by its queue.
std::string Explain::waitFor(const Access &access) const {
  auto numTasks = uint32_t(machine.tasks.size());
  if (access.epoch.agent >= 2 * numTasks) {
    return "tlx.async_descriptor_store_wait";
  }
  return machine.program.tensorColumns > 0
             ? "a wait for an mbarrier that a tlx.tcgen05_commit arrives at"
             : "tlx.async_dot_wait";
}

/// Where what would order the two sides belongs.
void Explain::addMissing(const Access &earlier, const Access &later,
                         std::vector<Note> &notes) const {
  // A copy is known by its mbarrier.
  if (earlier.isAsync && earlier.epoch.agent >= 4 * machine.tasks.size()) {
    return;
  }
  std::string first = task(earlier.task), second = task(later.task);
  std::string arrival =
      "an arrival of " + first + " at a barrier for which " + second + " waits";
  if (!earlier.isAsync) {
    notes.push_back({earlier.site, "missing: after this, " + arrival});
    return;
  }
  std::string wait =
      "missing: after this, " + waitFor(earlier) + " in " + first;
  if (earlier.task != later.task) {
    wait += ", and then " + arrival;
  }
  notes.push_back({earlier.site, wait});
}

/// How the end of asynchronous work could have been noticed.
void Explain::addCopyChain(const Access &earlier,
                           std::vector<Note> &notes) const {
  for (const AsyncRef &copy : machine.copies) {
    if (copy->epoch.agent != earlier.epoch.agent ||
        copy->epoch.time != earlier.epoch.time || copy->barrier < 0) {
      continue;
    }
    const MBarrier &barrier = machine.barriers[size_t(copy->barrier)];
    uint64_t phase = copy->isDone() ? copy->phase : barrier.phase;
    notes.push_back({copy->site, "its end completes phase " +
                                     std::to_string(phase) + " of " +
                                     this->barrier(barrier) +
                                     ", which has to be waited for"});
  }
}

Finding Explain::conflict(const Conflict &conflict, const Access &later,
                          const Knowledge &knowledge,
                          const std::string &what) const {
  const Access &earlier = conflict.earlier;
  Finding finding{conflict.fault, later.site, "", {}};
  finding.notes.push_back({earlier.site, describe(earlier) + " it here"});
  if (earlier.cluster != later.cluster) {
    std::string group = machine.program.clusterSize > 1 ? "cluster " : "CTA ";
    finding.text = describe(later) + " " + what + " of " + group +
                   std::to_string(later.cluster) + " and " + group +
                   std::to_string(earlier.cluster) + ", which nothing orders";
    return finding;
  }
  if (conflict.fault == Fault::MissingFence && later.isTensor) {
    finding.text = describe(later) + " " + what +
                   ", but no fence of tensor memory lies on both sides of what "
                   "orders that after the " +
                   (earlier.isWrite ? "write" : "read");
    finding.notes.push_back(
        {earlier.site,
         task(earlier.task) + " needs tlx.tcgen05_fence before its release"});
    finding.notes.push_back(
        {later.site,
         task(later.task) + " needs tlx.tcgen05_fence after its wait"});
    return finding;
  }
  if (conflict.fault == Fault::MissingFence) {
    finding.text = describe(later) + " " + what +
                   " through the async proxy, but no fence follows the " +
                   (earlier.isWrite ? "write" : "read");
    finding.notes.push_back({earlier.site, task(earlier.task) +
                                               " needs tlx.fence_async_shared "
                                               "between here and its release"});
    return finding;
  }
  finding.text = describe(later) + " " + what +
                 ", but nothing orders that "
                 "after " +
                 (earlier.isAsync ? "an operation" : task(earlier.task)) +
                 (earlier.isWrite ? " has written it" : " has read it");
  addCopyChain(earlier, finding.notes);
  addChain(earlier, later, knowledge, finding.notes);
  addMissing(earlier, later, finding.notes);
  return finding;
}
