//===- Barrier.cpp - Barriers of a CTA -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Barrier.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

const char *sim::getName(Fault fault) {
  switch (fault) {
  case Fault::Deadlock:
    return "deadlock";
  case Fault::Race:
    return "data race";
  case Fault::MissingFence:
    return "missing proxy fence";
  case Fault::EarlyRelease:
    return "buffer overwritten while it is read";
  case Fault::PhaseLapped:
    return "phase lapped";
  case Fault::ParityAliased:
    return "parity aliased";
  case Fault::Unbalanced:
    return "unbalanced barrier";
  case Fault::OutOfBounds:
    return "out of bounds";
  case Fault::NeverWritten:
    return "memory never written";
  case Fault::NamedBarrier:
    return "named barrier misused";
  case Fault::ClusterBarrier:
    return "cluster barrier misused";
  case Fault::LaunchControl:
    return "launch control misused";
  case Fault::NotStarted:
    return "remote access before the CTA is ready";
  case Fault::Ended:
    return "remote access to a CTA that may have ended";
  case Fault::Unwaited:
    return "not waited for";
  case Fault::Endless:
    return "no end";
  case Fault::Unsupported:
    return "unsupported";
  case Fault::Misaligned:
    return "misaligned";
  case Fault::Convergence:
    return "lanes apart";
  case Fault::RegisterInFlight:
    return "register in flight";
  case Fault::Illegal:
    return "illegal operation";
  case Fault::Leak:
    return "memory leak";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// MBarrier
//===----------------------------------------------------------------------===//

std::string MBarrier::describePhase(uint64_t back) const {
  return phase < back ? "the phase before the first"
                      : "phase " + std::to_string(phase - back);
}

bool MBarrier::completeIfDone() {
  if (pending != 0 || bytes != 0) {
    return false;
  }
  ++phase;
  pending = expected;
  before = std::move(completed.preceded);
  completed = std::move(current);
  current = {};
  observersBefore = std::move(observers);
  observers.clear();
  arrivals.clear();
  return true;
}

bool MBarrier::arrive(const Knowledge &knowledge, int64_t expectedBytes,
                      Arrival by, int64_t count) {
  bytes += expectedBytes;
  pending -= count;
  current.join(knowledge);
  arrivals.push_back(by);
  return completeIfDone();
}

bool MBarrier::expect(int64_t expectedBytes) {
  bytes += expectedBytes;
  return completeIfDone();
}

bool MBarrier::deliver(Epoch copy, const Knowledge &issuer, int64_t delivered) {
  bytes -= delivered;
  current.advance(copy);
  current.preceded.join(issuer.preceded);
  return completeIfDone();
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

void RemoteAccesses::add(const RemoteAccess &access) {
  auto it = llvm::find_if(last, [&](const RemoteAccess &other) {
    return other.rank == access.rank && other.epoch.agent == access.epoch.agent;
  });
  if (it != last.end()) {
    *it = access;
  } else {
    last.push_back(access);
  }
}

//===----------------------------------------------------------------------===//
// NamedBarrier
//===----------------------------------------------------------------------===//

const NamedBarrier::TimedArrival *
NamedBarrier::findUnknown(const Knowledge &knowledge) const {
  auto it = llvm::find_if(before, [&](const TimedArrival &arrival) {
    return !knowledge.preceded.covers(arrival.epoch);
  });
  return it == before.end() ? nullptr : it;
}

std::string NamedBarrier::arrive(const TimedArrival &by, int64_t threads,
                                 int64_t expected, const Knowledge &knowledge) {
  if (arrived > 0 && expected != total) {
    return "expects " + std::to_string(expected) +
           " threads of a barrier that others use with " +
           std::to_string(total);
  }
  for (const Arrival &arrival : arrivals) {
    if (arrival.task == by.task) {
      return "arrives a second time before the barrier has completed";
    }
  }
  total = expected;
  if (arrived + threads > total) {
    return "makes " + std::to_string(arrived + threads) +
           " threads arrive at a barrier for " + std::to_string(total);
  }
  arrived += threads;
  current.join(knowledge);
  arrivals.push_back(by);
  if (arrived == total) {
    completed[generation % kRemembered] = std::move(current);
    ++generation;
    arrived = 0;
    current = {};
    before = std::move(arrivals);
    arrivals.clear();
  }
  return "";
}
