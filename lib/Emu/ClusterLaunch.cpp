//===- ClusterLaunch.cpp - Cluster launch control -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.17 and 9.7.13.18. A response is 16 bytes: whether there is a
// cluster, and its first CTA.
//
//===----------------------------------------------------------------------===//

#include "TMA.h"

#include "jfa/Emu/ClusterQueue.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

namespace {
/// What one request gets, for all CTAs that hear of it.
struct Response {
  bool isMade = false;
  std::array<uint32_t, 4> words = {};

  void make(ClusterQueue *queue) {
    if (!isMade && queue) {
      if (auto first = queue->cancel()) {
        words = {1, (*first)[0], (*first)[1], (*first)[2]};
      }
    }
    isMade = true;
  }
};
} // namespace

/// Flags: whether all CTAs of the cluster get the response.
static void runTryCancel(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t to = toShared(warp.getAddress(i[0], lane));
    uint64_t barrier = toShared(warp.getAddress(i[1], lane));
    if (to % 16 != 0) {
      warp.fault(Fault::Misaligned,
                 "expects a response at a multiple of 16 bytes, but got " +
                     toHex(to));
      return;
    }
    if (warp.cta.hasSeenLast) {
      warp.fault(Fault::Illegal,
                 "tries to cancel a cluster after it has learned that none is "
                 "left");
      return;
    }
    Machine &machine = warp.machine;
    auto response = std::make_shared<Response>();
    auto copy = [=, &machine](AsyncWork &work, uint64_t target) {
      response->make(machine.options.queue);
      Place place = machine.locate(target, 16);
      if (place.kind != Place::Shared) {
        machine.fault(Fault::OutOfBounds, work.line,
                      "expects a response in shared memory, but got " +
                          toHex(target));
        return;
      }
      machine.access(work, place, 16, true);
      std::memcpy(place.bytes, response->words.data(), 16);
    };
    uint64_t offset = to & ((uint64_t(1) << kRankShift) - 1);
    for (uint64_t rank = 0; rank < machine.ctas.size(); ++rank) {
      uint64_t target =
          i.flags ? kSharedWindow + (rank << kRankShift) + offset : to;
      issueLoad(
          warp, lane, [=](AsyncWork &work) { copy(work, target); }, barrier,
          target, 16, i.flags ? Signal::Multicast : Signal::Destination);
      if (!i.flags) {
        return;
      }
    }
  });
}

static void runIsCanceled(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    bool isCanceled = warp.get(i[1].parts[0], lane) & 1;
    warp.cta.hasSeenLast |= !isCanceled;
    warp.set(i[0], lane, isCanceled);
  });
}

/// Flags: 4 for all coordinates, or which one.
static void runFirstCta(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t low = warp.get(i[1].parts[0], lane);
    uint64_t high = warp.get(i[1].parts[1], lane);
    if (!(low & 1)) {
      warp.fault(Fault::Illegal,
                 "asks for the CTA of a response that has none");
      return;
    }
    uint64_t words[] = {low >> 32, high & 0xffffffff, high >> 32, 0};
    auto parts = getParts(i[0]);
    for (size_t k = 0; k < parts.size(); ++k) {
      warp.set(parts[k], lane, words[i.flags == 4 ? k : i.flags]);
    }
  });
}

void mlir::jfa::emu::registerClusterLaunch(OpcodeTable &table) {
  const char *opcode = "clusterlaunchcontrol";
  addForm(
      table, opcode,
      ".try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes"
      "{.multicast::cluster::all}.b128",
      "m m", runTryCancel,
      [](const Match &match) {
        return uint64_t(match.has(".multicast::cluster::all"));
      },
      Architecture::Blackwell);
  auto none = [](const Match &) { return uint64_t(0); };
  addForm(table, opcode, ".query_cancel.is_canceled.pred.b128", "dp s128",
          runIsCanceled, none, Architecture::Blackwell);
  table.add(opcode,
            {".query_cancel.get_first_ctaid.v4.b32.b128", "D32 s128",
             [](const Match &, Instruction &i, std::string &error) -> Run {
               i.flags = 4;
               if (i[0].parts.size() != 4) {
                 error = "expected 4 registers";
                 return nullptr;
               }
               return runFirstCta;
             },
             false, false, Architecture::Blackwell});
  const char *const axes[] = {"::x", "::y", "::z"};
  for (uint64_t axis = 0; axis < 3; ++axis) {
    addForm(
        table, opcode,
        std::string(".query_cancel.get_first_ctaid") + axes[axis] + ".b32.b128",
        "d32 s128", runFirstCta, [=](const Match &) { return axis; },
        Architecture::Blackwell);
  }
}
