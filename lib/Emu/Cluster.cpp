//===- Cluster.cpp - Instructions of clusters -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.23, 9.7.9.24 and 9.7.13.3.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static void runMap(Warp &warp, const Instruction &i, uint32_t lanes) {
  constexpr uint64_t kRankMask = uint64_t(0xff) << kRankShift;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t rank = warp.get(i[2], lane) & 0xff;
    if (rank >= warp.machine.ctas.size()) {
      warp.fault(Fault::OutOfBounds, "expects a CTA of the cluster, but got " +
                                         std::to_string(rank));
      rank = 0;
    }
    uint64_t address = warp.get(i[1], lane);
    warp.set(i[0], lane, (address & ~kRankMask) | rank << kRankShift);
  });
}

static void runRank(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(i[0], lane, warp.get(i[1], lane) >> kRankShift & 0xff);
  });
}

static void runArrive(Warp &warp, const Instruction &i, uint32_t lanes) {
  Machine &machine = warp.machine;
  if (!warp.gather(lanes, warp.live)) {
    return;
  }
  if (warp.clusterArrived) {
    warp.fault(Fault::ClusterBarrier, "warp " + std::to_string(warp.index) +
                                          " arrives at the cluster's barrier a "
                                          "second time in one phase");
    return;
  }
  bool isRelaxed = i.flags;
  if (!isRelaxed) {
    machine.clusterCurrent.join(warp.know());
  } else if (warp.fencedInitialised) {
    // PTX ISA 9.7.13.4: what a fence.mbarrier_init precedes needs no other.
    machine.clusterCurrent.advanceOwn(
        machine.getInitEpoch(warp, warp.fencedInitialised));
  }
  warp.tick();
  warp.clusterArrived = warp.clusterHasToWait = true;
  warp.clusterPhase = machine.clusterPhase;
  ++machine.clusterArrivals;
  machine.completeClusterBarrier();
}

static void runWait(Warp &warp, const Instruction &, uint32_t) {
  Machine &machine = warp.machine;
  uint64_t phase = warp.clusterPhase;
  if (!warp.clusterHasToWait) {
    warp.fault(Fault::ClusterBarrier,
               "warp " + std::to_string(warp.index) +
                   " waits for the cluster's barrier, at which it has not "
                   "arrived");
    return;
  }
  if (machine.clusterPhase > phase) {
    warp.clusterHasToWait = false;
    warp.knowledge.join(machine.clusterCompleted);
    return;
  }
  Condition condition;
  condition.isTrue = [=, &machine] { return machine.clusterPhase > phase; };
  condition.describe = [&machine] {
    return "the cluster's barrier, with " +
           std::to_string(machine.clusterArrivals) + " warps";
  };
  warp.retry(std::move(condition));
}

void Machine::reach(Warp &warp, uint32_t rank, Epoch epoch) {
  if (rank != warp.cta.rank) {
    remote.add({rank, epoch, warp.getLine(), warp.index});
  }
}

/// A CTA must not end before what others do to it, so that one of its warps has
/// to know of that.
void Machine::checkRemoteAtEnd() {
  for (const sim::RemoteAccess &access : remote.get()) {
    bool isKnown = llvm::any_of(warps, [&](const auto &warp) {
      return warp->cta.rank == access.rank &&
             warp->knowledge.preceded.covers(access.epoch);
    });
    if (!isKnown) {
      fault(Fault::Ended, access.site,
            "warp " + std::to_string(access.task) +
                " reaches the CTA of rank " + std::to_string(access.rank) +
                " here, but that may have ended: none of its warps learns of "
                "this before its end");
    }
  }
}

void mlir::jfa::emu::registerCluster(OpcodeTable &table) {
  table.add("mapa", "{.shared::cluster}(.u32|.u64)", "d s s32", runMap);
  table.add("getctarank", "{.shared::cluster}(.u32|.u64)", "d32 s", runRank);
  table.add("barrier", {".cluster.arrive{.release|.relaxed}{.aligned}", "",
                        [](const Match &match, Instruction &i, std::string &) {
                          i.flags = match.has(".relaxed");
                          return runArrive;
                        },
                        true});
  table.add("barrier", ".cluster.wait{.acquire}{.aligned}", "", runWait, true);
}
