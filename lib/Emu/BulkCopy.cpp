//===- BulkCopy.cpp - Bulk copies of bytes in a row, and groups -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.25.
//
//===----------------------------------------------------------------------===//

#include "Atomic.h"
#include "TMA.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Where the mbarrier is that a copy to `to` signals.
static uint64_t findSignalled(uint64_t barrier, uint64_t to, Signal where) {
  uint64_t rank = to >> kRankShift;
  if (where == Signal::Pair) {
    rank = (rank & ~uint64_t(1)) | (barrier >> kRankShift & 1);
  }
  return rank << kRankShift | (barrier & ((1 << kRankShift) - 1));
}

static void signal(Machine &machine, AsyncWork &work, uint64_t generic,
                   uint64_t bytes) {
  LiveBarrier *found = machine.findBarrier(generic, work.line, work.knowledge);
  if (found && found->deliver(work.epoch, work.knowledge, int64_t(bytes))) {
    machine.completed(*found, work.line);
  }
}

void emu::issueLoad(Warp &warp, unsigned lane,
                    std::function<void(AsyncWork &)> copy, uint64_t barrier,
                    uint64_t to, uint64_t bytes, Signal where) {
  Machine &machine = warp.machine;
  uint64_t signalled = findSignalled(barrier, to, where);
  if (where == Signal::Destination && signalled != barrier) {
    warp.fault(
        Fault::Illegal,
        "expects an mbarrier in the CTA that the copy goes to, but got " +
            toHex(barrier));
  }
  AsyncWorkRef work = machine.issue(
      warp, lane, {std::move(copy), [=, &machine](AsyncWork &work) {
                     signal(machine, work, signalled, bytes);
                   }});
  work->epoch = machine.makeCopyEpoch(work);
  machine.reach(warp, uint32_t(to >> kRankShift & 0xff), work->epoch);
}

void emu::issueStore(Warp &warp, unsigned lane,
                     std::function<void(AsyncWork &)> read,
                     std::function<void(AsyncWork &)> write) {
  uint32_t warps = warp.machine.getNumWarps(), time = warp.time;
  AsyncWorkRef work =
      warp.machine.issue(warp, lane, {std::move(read), std::move(write)});
  work->epoch = {2 * warps + warp.index, time};
  work->globalEpoch = {3 * warps + warp.index, time};
  if (warp.lastStore && !warp.lastStore->isDone()) {
    work->previous = warp.lastStore;
  }
  warp.lastStore = work;
  warp.openStores[lane].push_back(work);
}

//===----------------------------------------------------------------------===//
// Copies of bytes in a row
//===----------------------------------------------------------------------===//

/// Whether a copy's places are right: multiples of 16, inside of memory.
static bool checkBulk(Warp &warp, uint64_t to, uint64_t from, uint64_t size) {
  if (to % 16 || from % 16 || size % 16 || size == 0) {
    warp.fault(Fault::Misaligned,
               "expects addresses and a size that are multiples of 16");
    return false;
  }
  for (uint64_t address : {to, from}) {
    if (warp.machine.locate(address, size).kind == Place::Nowhere) {
      warp.fault(Fault::OutOfBounds, "copies " + std::to_string(size) +
                                         " bytes at " + toHex(address) +
                                         ", where there is no memory");
      return false;
    }
  }
  return true;
}

static void issueBulkLoad(Warp &warp, unsigned lane, uint64_t to, uint64_t from,
                          uint64_t size, uint64_t barrier, Signal where) {
  if (!checkBulk(warp, to, from, size)) {
    return;
  }
  Machine &machine = warp.machine;
  auto copy = [=, &machine](AsyncWork &work) {
    Place source = machine.locate(from, size);
    Place target = machine.locate(to, size);
    machine.access(work, source, int64_t(size), false);
    machine.access(work, target, int64_t(size), true);
    std::memmove(target.bytes, source.bytes, size);
  };
  issueLoad(warp, lane, copy, barrier, to, size, where);
}

/// Flags of a load: the source is shared memory too; to several CTAs.
static constexpr uint64_t kMulticast = 1, kFromShared = 2;

static void runBulkLoad(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t to = toShared(warp.getAddress(i[0], lane));
    uint64_t from = warp.getAddress(i[1], lane);
    from = i.flags & kFromShared ? toShared(from) : from;
    uint64_t size = warp.get(i[2], lane) & 0xffffffff;
    uint64_t barrier = toShared(warp.getAddress(i[3], lane));
    if (!(i.flags & kMulticast)) {
      issueBulkLoad(warp, lane, to, from, size, barrier, Signal::Destination);
      return;
    }
    uint64_t offset = to & ((1 << kRankShift) - 1);
    for (uint64_t rank = 0; rank < 16; ++rank) {
      if (warp.get(i[4], lane) >> rank & 1) {
        issueBulkLoad(warp, lane, kSharedWindow + (rank << kRankShift) + offset,
                      from, size, barrier, Signal::Multicast);
      }
    }
  });
}

/// Element by element. An H200 keeps subnormals here.
static void reduceBytes(const Instruction &i, uint8_t *to, const uint8_t *from,
                        uint64_t size) {
  uint64_t step = i.type.bits / 8;
  for (uint64_t at = 0; at < size; at += step) {
    uint64_t old = 0, value = 0;
    std::memcpy(&old, to + at, step);
    std::memcpy(&value, from + at, step);
    old = reduce(AtomicOp(i.flags - 1), i.type, old, value, 0, false);
    std::memcpy(to + at, &old, step);
  }
}

/// Flags are 0, or 1 and the operation of a reduction.
static void runBulkStore(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t to = warp.getAddress(i[0], lane);
    uint64_t from = toShared(warp.getAddress(i[1], lane));
    uint64_t size = warp.get(i[2], lane) & 0xffffffff;
    if (!checkBulk(warp, to, from, size)) {
      return;
    }
    Machine &machine = warp.machine;
    auto bytes = std::make_shared<std::vector<uint8_t>>(size);
    issueStore(
        warp, lane,
        [=, &machine](AsyncWork &work) {
          Place source = machine.locate(from, size);
          machine.access(work, source, int64_t(size), false);
          std::memcpy(bytes->data(), source.bytes, size);
        },
        [=, &machine, &i](AsyncWork &work) {
          Place target = machine.locate(to, size);
          machine.access(work, target, int64_t(size), true, i.flags != 0);
          machine.markWritten(target, int64_t(size));
          if (i.flags) {
            reduceBytes(i, target.bytes, bytes->data(), size);
          } else {
            std::memcpy(target.bytes, bytes->data(), size);
          }
        });
  });
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static void runCommit(Warp &warp, const Instruction &, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    warp.storeGroups[lane].push_back({std::move(warp.openStores[lane])});
    warp.openStores[lane].clear();
  });
}

/// Whether all but the newest `pending` groups have passed: read their sources,
/// or written too.
static bool arePassed(const std::deque<BulkGroup> &groups, uint64_t pending,
                      bool onlyRead) {
  for (size_t g = 0; g + pending < groups.size(); ++g) {
    for (const AsyncWorkRef &work : groups[g].work) {
      if (onlyRead ? work->done < 1 : !work->isDone()) {
        return false;
      }
    }
  }
  return true;
}

static void runWaitGroup(Warp &warp, const Instruction &i, uint32_t lanes) {
  uint64_t pending = i[0].value;
  bool onlyRead = i.flags;
  auto isTrue = [=, &warp] {
    bool all = true;
    forEachLane(lanes, [&](unsigned lane) {
      all &= arePassed(warp.storeGroups[lane], pending, onlyRead);
    });
    return all;
  };
  if (!isTrue()) {
    Condition condition;
    condition.isTrue = isTrue;
    condition.describe = [] { return std::string("stores in flight"); };
    warp.retry(std::move(condition));
    return;
  }
  forEachLane(lanes, [&](unsigned lane) {
    auto &groups = warp.storeGroups[lane];
    for (size_t g = 0; g + pending < groups.size(); ++g) {
      for (const AsyncWorkRef &work : groups[g].work) {
        warp.knowledge.advance(work->epoch);
        if (!onlyRead) {
          warp.knowledge.advance(work->globalEpoch);
        }
      }
    }
    // What has only been read may be waited for again.
    while (groups.size() > pending &&
           (!onlyRead || arePassed(groups, groups.size() - 1, false))) {
      groups.pop_front();
    }
  });
}

void mlir::jfa::emu::registerBulkCopy(OpcodeTable &table) {
  const std::string complete = ".mbarrier::complete_tx::bytes";
  auto none = [](const Match &) { return uint64_t(0); };
  addForm(table, "cp",
          ".async.bulk(.shared::cluster|.shared::cta).global" + complete +
              "{.L2::cache_hint}",
          "m m s32 m s64?", runBulkLoad, none);
  addForm(table, "cp",
          ".async.bulk.shared::cluster.global" + complete +
              ".multicast::cluster{.L2::cache_hint}",
          "m m s32 m s0 s64?", runBulkLoad,
          [](const Match &) { return kMulticast; });
  addForm(table, "cp", ".async.bulk.shared::cluster.shared::cta" + complete,
          "m m s32 m", runBulkLoad, [](const Match &) { return kFromShared; });
  addForm(table, "cp",
          ".async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}",
          "m m s32 s64?", runBulkStore, none);
  auto reduction = [](const Match &match) { return *getAtomicOp(match) + 1; };
  for (const char *op : {".add(.u32|.s32|.u64|.f32|.f64)",
                         "(.min|.max)(.u32|.s32|.u64|.s64|.f16|.bf16)",
                         "(.and|.or|.xor)(.b32|.b64)", "(.inc|.dec).u32",
                         ".add.noftz(.f16|.bf16)"}) {
    addForm(table, "cp",
            std::string(".reduce.async.bulk.global.shared::cta.bulk_group"
                        "{.L2::cache_hint}") +
                op,
            "m m s32 s64?", runBulkStore, reduction);
  }
  table.add("cp", ".async.bulk.commit_group", "", runCommit, true);
  addForm(table, "cp", ".async.bulk.wait_group{.read}", "i", runWaitGroup,
          [](const Match &match) { return uint64_t(match.has(".read")); });
}
