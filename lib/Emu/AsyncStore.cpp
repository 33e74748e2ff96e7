//===- AsyncStore.cpp - Stores that signal an mbarrier -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.12 and 9.7.13.7: into the shared memory of a CTA of the
// cluster, whose mbarrier gets the bytes.
//
//===----------------------------------------------------------------------===//

#include "Atomic.h"
#include "TMA.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Flags are 0, or 1 and the operation of a reduction.
static void runAsyncStore(Warp &warp, const Instruction &i, uint32_t lanes) {
  llvm::ArrayRef<Argument> parts(i[1].parts);
  parts = parts.empty() ? llvm::ArrayRef(i[1]) : parts;
  uint64_t step = i.type.bits / 8, size = step * parts.size();
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t to = toShared(warp.getAddress(i[0], lane));
    uint64_t barrier = toShared(warp.getAddress(i[2], lane));
    Machine &machine = warp.machine;
    if (to % size != 0 || machine.locate(to, size).kind != Place::Shared) {
      warp.fault(Fault::Misaligned,
                 "expects an address in shared memory that is a multiple of " +
                     std::to_string(size) + ", but got " + toHex(to));
      return;
    }
    llvm::SmallVector<uint64_t, 4> values;
    for (const Argument &part : parts) {
      values.push_back(warp.get(part, lane));
    }
    auto store = [=, &machine, &i](AsyncWork &work) {
      Place place = machine.locate(to, size);
      machine.access(work, place, int64_t(size), true, i.flags != 0);
      for (size_t k = 0; k < values.size(); ++k) {
        uint64_t value = values[k];
        uint8_t *bytes = place.bytes + k * step;
        if (i.flags) {
          uint64_t old = 0;
          std::memcpy(&old, bytes, step);
          value = reduce(AtomicOp(i.flags - 1), i.type, old, value, 0, false);
        }
        std::memcpy(bytes, &value, step);
      }
    };
    issueLoad(warp, lane, store, barrier, to, size, Signal::Destination);
  });
}

static Run chooseAsyncStore(const Match &match, Instruction &i,
                            std::string &error) {
  size_t width = match.has(".v2") ? 2 : match.has(".v4") ? 4 : 1;
  if (std::max<size_t>(1, i[1].parts.size()) != width) {
    error = "expected " + std::to_string(width) + " registers";
    return nullptr;
  }
  std::optional<AtomicOp> op = getAtomicOp(match);
  i.flags = op ? *op + 1 : 0;
  return runAsyncStore;
}

void mlir::jfa::emu::registerAsyncStore(OpcodeTable &table) {
  const std::string where = ".shared::cluster.mbarrier::complete_tx::bytes";
  table.add("st", {".async{.weak}" + where +
                       "{.v2|.v4}(.b32|.b64|.u32|.u64|.s32|.s64|.f32|.f64)",
                   "m S m", chooseAsyncStore, true});
  for (const char *op :
       {"(.inc|.dec|.min|.max|.add).u32", "(.min|.max|.add).s32",
        "(.and|.or|.xor).b32", ".add.u64"}) {
    table.add("red", {".async{.relaxed}{.cluster}" + where + op, "m s m",
                      chooseAsyncStore, true});
  }
}
