//===- Control.cpp - Branches, CTA barriers and fences -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.12, 9.7.13.1, 9.7.13.4 and 9.7.19.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static void runBranch(Warp &warp, const Instruction &i, uint32_t lanes) {
  warp.branch(lanes, i.target);
}

static void runExit(Warp &warp, const Instruction &, uint32_t lanes) {
  warp.exit(lanes);
  warp.machine.completeClusterBarrier();
}

static void runTrap(Warp &warp, const Instruction &i, uint32_t lanes) {
  warp.fault(Fault::Illegal, "executes trap");
  runExit(warp, i, lanes);
}

static void runNothing(Warp &, const Instruction &, uint32_t) {}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// Warps arrive, each for 32 threads. Returns the barrier if that was right.
static sim::NamedBarrier *arriveNamed(Warp &warp, const Instruction &i,
                                      uint32_t lanes) {
  auto first = unsigned(__builtin_ctz(lanes));
  uint64_t id = warp.get(i[0], first) & 0xffffffff;
  const auto &block = warp.machine.shape.block;
  int64_t threads = int64_t(block[0]) * block[1] * block[2];
  int64_t total = i.arguments.size() > 1 && !i[1].isSink
                      ? int64_t(warp.get(i[1], first) & 0xffffffff)
                      : (threads + 31) / 32 * 32;
  if (id >= 16) {
    warp.fault(Fault::NamedBarrier,
               "expects one of 16 barriers, but uses " + std::to_string(id));
    return nullptr;
  }
  if (total % 32 != 0 || total == 0) {
    warp.fault(Fault::NamedBarrier,
               "expects a multiple of 32 threads, but got " +
                   std::to_string(total));
    return nullptr;
  }
  sim::NamedBarrier &barrier = warp.cta.named[id];
  const sim::Knowledge &known = warp.know();
  if (const auto *unknown = barrier.findUnknown(known)) {
    warp.fault(Fault::NamedBarrier,
               "warp " + std::to_string(warp.index) + " " +
                   sim::NamedBarrier::kUnordered + " (barrier " +
                   std::to_string(id) + ")",
               {{unknown->site, "warp " + std::to_string(unknown->task) +
                                    " of the CTA arrives here, of which it "
                                    "knows nothing"}});
  }
  sim::NamedBarrier::TimedArrival by{{warp.getLine(), warp.indexInCta},
                                     {warp.index, warp.time}};
  std::string wrong = barrier.arrive(by, 32, total, known);
  warp.tick();
  if (!wrong.empty()) {
    warp.fault(Fault::NamedBarrier, "warp " + std::to_string(warp.index) + " " +
                                        wrong + " (barrier " +
                                        std::to_string(id) + ")");
    return nullptr;
  }
  return &barrier;
}

static void runBarrierArrive(Warp &warp, const Instruction &i, uint32_t lanes) {
  if (warp.gather(lanes, warp.live)) {
    arriveNamed(warp, i, lanes);
  }
}

static void runBarrierSync(Warp &warp, const Instruction &i, uint32_t lanes) {
  if (!warp.gather(lanes, warp.live)) {
    return;
  }
  uint64_t id = warp.get(i[0], unsigned(__builtin_ctz(lanes))) & 15;
  uint64_t generation = warp.cta.named[id].generation;
  sim::NamedBarrier *barrier = arriveNamed(warp, i, lanes);
  if (!barrier) {
    return;
  }
  Condition condition;
  condition.isTrue = [=] { return barrier->generation > generation; };
  condition.acquire = [=, &warp] {
    warp.knowledge.join(barrier->getCompleted(generation));
  };
  condition.describe = [=] {
    return "named barrier " + std::to_string(id) + ": " +
           std::to_string(barrier->arrived) + " of " +
           std::to_string(barrier->total) + " threads";
  };
  warp.wait(std::move(condition));
}

//===----------------------------------------------------------------------===//
// Fences and registers
//===----------------------------------------------------------------------===//

/// What the warp has written becomes visible to the async proxy.
static void runProxyFence(Warp &warp, const Instruction &, uint32_t) {
  // What others have written too: the fence is on the way from the write to the
  // asynchronous access (PTX ISA 8.9.5).
  sim::Knowledge &knowledge = warp.know();
  knowledge.visibleToAsync.join(knowledge.happened);
  warp.tick();
}

/// A pool for each CTA, from which a warp takes as soon as it can.
static void runSetMaxRegisters(Warp &warp, const Instruction &i, uint32_t) {
  auto wanted = int64_t(i[0].value);
  if (wanted < 24 || wanted > 256 || wanted % 8 != 0) {
    warp.fault(Fault::Illegal, "expects a multiple of 8 from 24 to 256, but "
                               "got " +
                                   std::to_string(wanted));
    return;
  }
  if (warp.machine.shape.registersPerThread == 0) {
    return;
  }
  bool isIncrease = i.flags;
  int64_t difference = (wanted - warp.ownRegisters) * 32;
  if (isIncrease ? difference < 0 : difference > 0) {
    warp.fault(Fault::Illegal, "asks for " + std::to_string(wanted) +
                                   " registers, but has " +
                                   std::to_string(warp.ownRegisters));
    return;
  }
  Cta &cta = warp.cta;
  if (difference > cta.freeRegisters) {
    Condition condition;
    condition.isTrue = [=, &cta] { return difference <= cta.freeRegisters; };
    condition.describe = [=, &cta] {
      return std::to_string(difference) + " registers, of which " +
             std::to_string(cta.freeRegisters) + " are free";
    };
    warp.retry(std::move(condition));
    return;
  }
  cta.freeRegisters -= difference;
  warp.ownRegisters = wanted;
}

void mlir::jfa::emu::registerControl(OpcodeTable &table) {
  table.add("bra", "{.uni}", "l", runBranch);
  table.add("ret", "{.uni}", "", runExit, true);
  table.add("exit", "", "", runExit, true);
  table.add("trap", "", "", runTrap, true);
  table.add("nanosleep", ".u32", "s", runNothing, true);
  table.add("griddepcontrol", "(.wait|.launch_dependents)", "", runNothing,
            true);
  for (const char *sync : {"{.cta}.sync", "{.cta}.sync.aligned"}) {
    table.add("bar", sync, "s32 s32?", runBarrierSync, true, true);
    table.add("barrier", sync, "s32 s32?", runBarrierSync, true);
  }
  for (const char *arrive : {"{.cta}.arrive", "{.cta}.arrive.aligned"}) {
    table.add("bar", arrive, "s32 s32", runBarrierArrive, true, true);
    table.add("barrier", arrive, "s32 s32", runBarrierArrive, true);
  }
  table.add("fence",
            ".proxy.async{.global|.shared::cta|.shared::cluster|.shared}", "",
            runProxyFence, true);
  table.add("fence", ".mbarrier_init.release.cluster", "",
            [](Warp &warp, const Instruction &, uint32_t) {
              warp.fencedInitialised = warp.initialised;
            });
  table.add("fence",
            "{.sc|.acq_rel|.acquire|.release}(.cta|.cluster|.gpu|.sys)", "",
            runNothing);
  // Those that order only the shared memory of a cluster.
  for (const char *direction :
       {".acquire.sync_restrict::shared::cluster.cluster",
        ".release.sync_restrict::shared::cta.cluster"}) {
    table.add("fence", direction, "", runNothing);
    std::string proxy = std::string(".proxy.async::generic") + direction;
    table.add("fence", proxy.c_str(), "", runProxyFence, true);
  }
  table.add("fence", ".proxy.alias", "", runNothing);
  table.add("membar", "(.cta|.gl|.sys)", "", runNothing);
  for (bool isIncrease : {false, true}) {
    table.add("setmaxnreg",
              {isIncrease ? ".inc.sync.aligned.u32" : ".dec.sync.aligned.u32",
               "i",
               [isIncrease](const Match &, Instruction &i, std::string &) {
                 i.flags = isIncrease;
                 return runSetMaxRegisters;
               },
               true, true});
  }
}
