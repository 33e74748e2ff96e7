//===- Cluster.cpp - What CTAs of a cluster do to each other ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks, the cluster's barrier, the two things that can go wrong with an access
// to another CTA, it comes too early or too late, and launch control.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "jfa/Sim/Machine.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

llvm::SmallVector<uint32_t, 8> Machine::getRanks(Task &task, int64_t mask) {
  llvm::SmallVector<uint32_t, 8> ranks;
  int64_t last = (int64_t(1) << program.clusterSize) - 1;
  if (mask < 1 || mask > last) {
    fail(Fault::OutOfBounds, task.site,
         task.name + " expects a mask from 1 to " + std::to_string(last) +
             ", a bit for each of the " + std::to_string(program.clusterSize) +
             " CTAs of a cluster, but got " + std::to_string(mask),
         {{kKernelSite, "the size of its clusters is said here"}});
    return ranks;
  }
  for (uint32_t rank = 0; rank < program.clusterSize; ++rank) {
    if (mask >> rank & 1) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

std::optional<uint32_t> Machine::getRank(Task &task, int64_t rank) {
  if (rank >= 0 && rank < int64_t(program.clusterSize)) {
    return uint32_t(rank);
  }
  fail(Fault::OutOfBounds, task.site,
       task.name + " expects a rank from 0 to " +
           std::to_string(program.clusterSize - 1) + ", but got " +
           std::to_string(rank),
       {{kKernelSite, "the size of its clusters is said here"}});
  return std::nullopt;
}

void Machine::reach(Task &task, int64_t number, Epoch epoch) {
  const MBarrier &barrier = barriers[size_t(number)];
  if (barrier.rank == task.rank) {
    return;
  }
  if (barrier.init.time == 0 || !know(task).happened.covers(barrier.init)) {
    fail(Fault::NotStarted, task.site,
         task.name + " reaches " + Explain(*this).barrier(barrier) +
             ", but nothing orders that after its initialisation, as a "
             "tlx.cluster_arrive after that and a tlx.cluster_wait before the "
             "tasks would",
         {{program.barriers[barrier.array].site, "initialised here"}});
  }
  remote.add({barrier.rank, epoch, task.site, task.index});
}

void Machine::reachPeer(Task &task, Epoch epoch) {
  remote.add({task.rank ^ 1, epoch, task.site, task.index});
}

void Machine::arriveAtCluster(Task &task) {
  if (task.hasToWait) {
    fail(Fault::ClusterBarrier, task.site,
         task.name + " arrives at the cluster's barrier a second time before "
                     "it has waited for it (PTX ISA 9.7.13.3)",
         {{task.clusterSite, "the arrival before; missing: a "
                             "tlx.cluster_wait between the two"}});
    return;
  }
  clusterBarrier.arrive(know(task));
  task.clusterPhase = clusterBarrier.phase;
  task.hasArrived = task.hasToWait = true;
  task.clusterSite = task.site;
  tick(task, "arrival at the cluster's barrier");
  completeCluster();
}

void Machine::waitForCluster(Task &task) {
  if (!task.hasToWait) {
    fail(Fault::ClusterBarrier, task.site,
         task.name + " waits for the cluster's barrier, at which it has not "
                     "arrived (PTX ISA 9.7.13.3)",
         {{task.clusterSite, "it has not done so since here; missing: a "
                             "tlx.cluster_arrive between the two"}});
    return;
  }
  task.hasToWait = false;
  task.clusterSite = task.site;
  Condition condition;
  condition.kind = Condition::Cluster;
  condition.generation = task.clusterPhase;
  wait(task, condition);
}

/// Completes a phase of the cluster's barrier if all who run have arrived.
void Machine::completeCluster() {
  bool isAny = false;
  for (const Task &task : tasks) {
    if (!task.isFinished && !task.hasArrived) {
      return;
    }
    isAny |= task.hasArrived;
  }
  if (!isAny) {
    return;
  }
  clusterBarrier.complete();
  for (Task &task : tasks) {
    task.hasArrived = false;
  }
}

/// Whether someone who keeps the CTA of `rank` from ending knows of `epoch`: a
/// task of it, or, where the cluster meets at the end to free tensor memory, of
/// any.
bool Machine::isKnownAtEnd(Epoch epoch, uint32_t rank,
                           Clock Knowledge::*clock) const {
  bool meets = program.clusterSize > 1 && program.tensorColumns > 0;
  return llvm::any_of(tasks, [&](const Task &task) {
    return (meets || task.rank == rank) &&
           (task.knowledge.*clock).covers(epoch);
  });
}

/// A CTA must not end before what others do to it, so that one of its tasks has
/// to know of that.
void Machine::checkRemoteAtEnd() {
  for (const RemoteAccess &access : remote.get()) {
    if (!isKnownAtEnd(access.epoch, access.rank, &Knowledge::preceded)) {
      fail(Fault::Ended, access.site,
           tasks[access.task].name + " reaches CTA " +
               std::to_string(getCta(access.rank)) +
               " here, but that may have ended: no task of it learns of this "
               "before its end, as one would from a tlx.cluster_arrive after "
               "here and a tlx.cluster_wait of its own",
           {Explain(*this).end(access.rank, access.site)});
    }
  }
}

void Machine::checkRequest(Task &task) {
  if (std::optional<Site> failure = failures[task.rank]) {
    fail(Fault::LaunchControl, task.site,
         task.name + " asks for a cluster after its CTA has read that a "
                     "request has failed (PTX ISA 9.7.13.17)",
         {{*failure, "read here"}});
  }
}

std::optional<uint32_t> Machine::cancelCluster() {
  std::optional<uint32_t> cluster = grid->cancel(*schedule);
  return cluster ? std::optional(*cluster * program.clusterSize) : std::nullopt;
}

void Machine::noteFailure(Task &task) {
  if (!failures[task.rank]) {
    failures[task.rank] = task.site;
  }
}
