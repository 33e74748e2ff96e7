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
  }
}

/// How the end of asynchronous work could have been noticed.
void Explain::addCopyChain(const Access &earlier,
                           std::vector<Note> &notes) const {
  if (earlier.isTensor && earlier.isAsync) {
    notes.push_back({earlier.site, "its end is known from an mbarrier that a "
                                   "tlx.tcgen05_commit after it arrives at"});
    return;
  }
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
  return finding;
}
