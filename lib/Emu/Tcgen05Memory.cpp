//===- Tcgen05Memory.cpp - Allocation of tensor memory, fences -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.7 and 9.7.16.11. For pairs of CTAs, a warp of each allocates
// and frees together with one of the other.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

Cta *emu::findPeer(Warp &warp) {
  Cta *peer = warp.machine.findPeer(warp.cta);
  if (!peer) {
    warp.fault(Fault::Illegal, "expects a pair of CTAs for .cta_group::2, but "
                               "the cluster has one CTA");
  }
  return peer;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static bool checkColumns(Warp &warp, uint32_t columns) {
  if (columns < 32 || columns > kTensorColumns ||
      !llvm::isPowerOf2_32(columns)) {
    warp.fault(Fault::Illegal, "expects a power of two from 32 to 512 columns, "
                               "but got " +
                                   std::to_string(columns));
    return false;
  }
  return true;
}

static bool checkPermit(Warp &warp, uint32_t columns) {
  const TensorMemory &tensor = warp.cta.tensor;
  if (!tensor.hasPermit) {
    warp.fault(Fault::Illegal,
               "allocates tensor memory, but the CTA has relinquished that");
    return false;
  }
  if (columns > tensor.limit) {
    warp.fault(Fault::Illegal, "allocates " + std::to_string(columns) +
                                   " columns, more than the " +
                                   std::to_string(tensor.limit) +
                                   " of the CTA's allocation before");
    return false;
  }
  return true;
}

/// The columns that a warp may have now, or nothing: then it waits.
static std::optional<uint32_t> takeAlone(Warp &warp, uint32_t columns) {
  TensorMemory &tensor = warp.cta.tensor;
  std::optional<uint32_t> first = tensor.findFree(columns, nullptr);
  if (first) {
    tensor.allocate(*first, columns);
    return first;
  }
  Condition condition;
  condition.isTrue = [=, &tensor] {
    return tensor.findFree(columns, nullptr).has_value();
  };
  condition.describe = [=] {
    return std::to_string(columns) + " free columns of tensor memory";
  };
  warp.retry(std::move(condition));
  return std::nullopt;
}

static std::optional<uint32_t> takeTogether(Warp &warp, Cta &peer,
                                            uint32_t columns) {
  TensorMemory &tensor = warp.cta.tensor, &other = peer.tensor;
  TensorMemory::Request &own = tensor.allocation;
  if (std::optional<uint32_t> answer = own.answer) {
    own = {};
    return answer;
  }
  auto find = [=, &tensor, &other]() -> std::optional<uint32_t> {
    bool isOther = other.allocation.isOpen && !other.allocation.answer;
    return isOther ? tensor.findFree(columns, &other) : std::nullopt;
  };
  if (other.allocation.isOpen && other.allocation.columns != columns) {
    warp.fault(Fault::Illegal,
               "allocates " + std::to_string(columns) +
                   " columns, but the other CTA of the pair allocates " +
                   std::to_string(other.allocation.columns));
    return std::nullopt;
  }
  if (std::optional<uint32_t> first = find()) {
    tensor.allocate(*first, columns);
    other.allocate(*first, columns);
    other.allocation.answer = first;
    own = {};
    return first;
  }
  own.isOpen = true;
  own.columns = columns;
  Condition condition;
  condition.isTrue = [=, &own] { return own.answer || find(); };
  condition.describe = [=] {
    return std::to_string(columns) +
           " free columns of tensor memory, and the other CTA of the pair";
  };
  warp.retry(std::move(condition));
  return std::nullopt;
}

static void runAllocate(Warp &warp, const Instruction &i, uint32_t lanes) {
  auto columns = uint32_t(getUniform(warp, i[1], "number of columns", lanes));
  Cta *peer = i.flags & kPair ? findPeer(warp) : nullptr;
  if (!checkColumns(warp, columns) || !checkPermit(warp, columns) ||
      ((i.flags & kPair) && !peer)) {
    return;
  }
  std::optional<uint32_t> first =
      peer ? takeTogether(warp, *peer, columns) : takeAlone(warp, columns);
  if (!first) {
    return;
  }
  TensorMemory &tensor = warp.cta.tensor;
  tensor.limit = columns;
  tensor.lines[*first] = warp.getLine();
  warp.knowledge.join(tensor.released);
  uint64_t address =
      warp.getAddress(i[0], unsigned(__builtin_ctz(lanes))) & 0xffffffff;
  Place place = accessLane(warp, i, kSharedWindow + address, 4, true);
  if (place.bytes) {
    std::memcpy(place.bytes, &*first, 4);
  }
}

/// Whether a pair frees together now; else the warp waits.
static bool freeTogether(Warp &warp, Cta &peer, uint32_t first) {
  TensorMemory::Request &own = warp.cta.tensor.deallocation;
  TensorMemory::Request &other = peer.tensor.deallocation;
  if (own.answer) {
    own = {};
    return true;
  }
  if (other.isOpen && !other.answer && other.first == first) {
    other.answer = first;
    own = {};
    return true;
  }
  own.isOpen = true;
  own.first = first;
  Condition condition;
  condition.isTrue = [=, &own, &other] {
    return own.answer ||
           (other.isOpen && !other.answer && other.first == first);
  };
  condition.describe = [] {
    return std::string("the other CTA of the pair to free tensor memory too");
  };
  warp.retry(std::move(condition));
  return false;
}

/// A CTA of a pair does not free before the other one has done with its tensor
/// memory (PTX ISA 9.7.16.7.1). This only looks: each frees its own.
static void checkPeer(Warp &warp, Cta &peer, const TensorCells &cells) {
  auto history = peer.tensor.history;
  warp.machine.releaseTensor(warp, peer, cells);
  peer.tensor.history = std::move(history);
}

static void runFree(Warp &warp, const Instruction &i, uint32_t lanes) {
  auto address = uint32_t(getUniform(warp, i[0], "address", lanes));
  auto columns = uint32_t(getUniform(warp, i[1], "number of columns", lanes));
  TensorMemory &tensor = warp.cta.tensor;
  if (!checkColumns(warp, columns)) {
    return;
  }
  if (!tensor.isAllocation(address, columns)) {
    warp.fault(Fault::Illegal, "frees " + std::to_string(columns) +
                                   " columns at " + toHex(address) +
                                   ", which have not been allocated together");
    return;
  }
  TensorCells cells{0, address, kTensorLanes, columns};
  if (i.flags & kPair) {
    Cta *peer = findPeer(warp);
    if (peer && !tensor.deallocation.isOpen) {
      checkPeer(warp, *peer, cells);
    }
    if (!peer || !freeTogether(warp, *peer, address)) {
      return;
    }
  }
  warp.machine.releaseTensor(warp, warp.cta, cells);
  tensor.released.join(warp.know());
  tensor.release(address, columns);
  warp.tick();
}

static void runRelinquish(Warp &warp, const Instruction &, uint32_t) {
  warp.cta.tensor.hasPermit = false;
}

//===----------------------------------------------------------------------===//
// Fences
//===----------------------------------------------------------------------===//

/// What has been waited for can be passed on.
static void runFenceBefore(Warp &warp, const Instruction &, uint32_t) {
  warp.knowledge.happened.join(warp.tensorUnpublished);
}

/// What has been passed on holds for what follows.
static void runFenceAfter(Warp &warp, const Instruction &, uint32_t) {
  warp.tensorVisible.join(warp.know().happened);
}

void mlir::jfa::emu::registerTcgen05Memory(OpcodeTable &table) {
  const std::string group = "(.cta_group::1|.cta_group::2)";
  addTcgen05(table, ".alloc" + group + ".sync.aligned{.shared::cta}.b32",
             "m s32", runAllocate, true);
  addTcgen05(table, ".dealloc" + group + ".sync.aligned.b32", "s32 s32",
             runFree, true);
  addTcgen05(table, ".relinquish_alloc_permit" + group + ".sync.aligned", "",
             runRelinquish, true);
  addTcgen05(table, ".fence::before_thread_sync", "", runFenceBefore, false);
  addTcgen05(table, ".fence::after_thread_sync", "", runFenceAfter, false);
}
