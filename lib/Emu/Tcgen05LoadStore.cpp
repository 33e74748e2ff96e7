//===- Tcgen05LoadStore.cpp - Registers and tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.8. A load's registers and a store's cells are in flight until
// tcgen05.wait.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"
#include "TensorLayout.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Flags: shape in bits 8 to 10, count in 16 to 23, then this.
static constexpr uint64_t kPacked = 2;

static TensorTransfer getTransfer(const Instruction &i, size_t split) {
  TensorTransfer transfer;
  transfer.shape = TensorShape(i.flags >> 8 & 7);
  transfer.count = uint32_t(i.flags >> 16 & 0xff);
  transfer.isPacked = i.flags & kPacked;
  if (transfer.shape == TensorShape::S16x32bx2) {
    transfer.split = uint32_t(i[split].value);
  }
  return transfer;
}

/// Whether the warp may have its lanes: those of its quarter.
static bool checkLanes(Warp &warp, const TensorTransfer &transfer,
                       uint32_t address) {
  uint32_t lane = getTensorLane(address), quarter = warp.indexInCta % 4;
  uint32_t step = transfer.getLanes();
  if (lane / 32 != quarter) {
    warp.fault(Fault::Illegal,
               "expects lanes " + std::to_string(32 * quarter) + " to " +
                   std::to_string(32 * quarter + 31) +
                   " of tensor memory, which a warp of that rank in its "
                   "warpgroup may use, but got lane " +
                   std::to_string(lane));
    return false;
  }
  if (lane % step != 0) {
    warp.fault(Fault::Misaligned, "expects a lane that is a multiple of " +
                                      std::to_string(step) + ", but got " +
                                      std::to_string(lane));
    return false;
  }
  return true;
}

/// The cells of a transfer, at an address.
static llvm::SmallVector<TensorCells, 2>
getCells(const TensorTransfer &transfer, uint32_t address) {
  llvm::SmallVector<TensorCells, 2> all = transfer.getCells();
  for (TensorCells &cells : all) {
    cells.lane += getTensorLane(address);
    cells.column += getTensorColumn(address);
  }
  return all;
}

/// Work of a warp on tensor memory, as agent `4 W + w` or `5 W + w`.
static AsyncWorkRef issue(Warp &warp, AsyncWork::Stage stage, bool isStore) {
  uint32_t warps = warp.machine.getNumWarps(), time = warp.time;
  AsyncWorkRef work = warp.machine.issue(warp, 0, {std::move(stage)});
  work->epoch = {(isStore ? 5 : 4) * warps + warp.index, time};
  work->tensorKnowledge.happened = warp.tensorVisible;
  bool isInOrder = warp.machine.options.fences == Fences::Hardware;
  if (isStore && isInOrder) {
    work->tensorKnowledge.happened.advance(work->epoch);
  }
  auto &queue = isStore ? warp.tensorStores : warp.tensorLoads;
  if (!queue.empty() && !queue.back()->isDone()) {
    work->previous = queue.back();
  }
  queue.push_back(work);
  return work;
}

static void load(Warp &warp, AsyncWork &work, const TensorTransfer &transfer,
                 uint32_t address, llvm::ArrayRef<Argument> registers) {
  for (const TensorCells &cells : getCells(transfer, address)) {
    if (!warp.machine.accessTensor(work, warp.cta, cells, TensorAccess::Read)) {
      return;
    }
  }
  auto get = [&](unsigned lane, unsigned reg, unsigned half) {
    TensorCell cell = transfer.getCell(lane, reg, half);
    return warp.cta.tensor.at(getTensorLane(address) + cell.lane,
                              getTensorColumn(address) + cell.column);
  };
  for (unsigned reg = 0; reg < registers.size(); ++reg) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t value = get(lane, reg, 0);
      if (transfer.isPacked) {
        value = (value & 0xffff) | get(lane, reg, 1) << 16;
      }
      warp.set(registers[reg], lane, value);
    }
  }
}

static void store(Warp &warp, AsyncWork &work, const TensorTransfer &transfer,
                  uint32_t address, llvm::ArrayRef<uint32_t> values) {
  for (const TensorCells &cells : getCells(transfer, address)) {
    if (!warp.machine.accessTensor(work, warp.cta, cells,
                                   TensorAccess::Write)) {
      return;
    }
  }
  auto put = [&](unsigned lane, unsigned reg, unsigned half, uint32_t value) {
    TensorCell cell = transfer.getCell(lane, reg, half);
    warp.cta.tensor.at(getTensorLane(address) + cell.lane,
                       getTensorColumn(address) + cell.column) = value;
  };
  for (unsigned reg = 0; reg < values.size() / 32; ++reg) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      uint32_t value = values[reg * 32 + lane];
      if (transfer.isPacked) {
        put(lane, reg, 0, kUndefinedHalf << 16 | (value & 0xffff));
        put(lane, reg, 1, kUndefinedHalf << 16 | value >> 16);
      } else {
        put(lane, reg, 0, value);
      }
    }
  }
}

static uint32_t getTensorAddress(Warp &warp, const Argument &argument,
                                 uint32_t lanes) {
  return uint32_t(getUniform(warp, argument, "address", lanes) +
                  (argument.isRegister() ? argument.value : 0));
}

static void runLoad(Warp &warp, const Instruction &i, uint32_t lanes) {
  TensorTransfer transfer = getTransfer(i, 2);
  uint32_t address = getTensorAddress(warp, i[1], lanes);
  if (!checkLanes(warp, transfer, address)) {
    return;
  }
  const Instruction *instruction = &i;
  issue(
      warp,
      [=, &warp](AsyncWork &work) {
        load(warp, work, transfer, address, getParts((*instruction)[0]));
      },
      false);
  for (const Argument &part : getParts(i[0])) {
    if (part.isRegister()) {
      warp.inFlight[part.reg] = kTensorFlight;
      warp.tensorRegisters.push_back(part.reg);
    }
  }
  warp.anyInFlight = true;
}

static void runStore(Warp &warp, const Instruction &i, uint32_t lanes) {
  bool hasSplit = TensorShape(i.flags >> 8 & 7) == TensorShape::S16x32bx2;
  TensorTransfer transfer = getTransfer(i, 1);
  uint32_t address = getTensorAddress(warp, i[0], lanes);
  if (!checkLanes(warp, transfer, address)) {
    return;
  }
  std::vector<uint32_t> values;
  for (const Argument &part : getParts(i[hasSplit ? 2 : 1])) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      values.push_back(uint32_t(warp.get(part, lane)));
    }
  }
  issue(
      warp,
      [=, &warp](AsyncWork &work) {
        store(warp, work, transfer, address, values);
      },
      true);
}

/// Flags: whether it waits for stores.
static void runWait(Warp &warp, const Instruction &i, uint32_t) {
  bool isStore = i.flags;
  auto &queue = isStore ? warp.tensorStores : warp.tensorLoads;
  if (!queue.empty() && !queue.back()->isDone()) {
    Condition condition;
    AsyncWorkRef last = queue.back();
    condition.isTrue = [=] { return last->isDone(); };
    condition.describe = [=] {
      return std::string(isStore ? "stores to" : "loads from") +
             " tensor memory";
    };
    warp.retry(std::move(condition));
    return;
  }
  for (const AsyncWorkRef &work : queue) {
    warp.knowledge.advance(warp.machine.getCompletion(work->epoch));
    warp.tensorVisible.advance(work->epoch);
    warp.tensorUnpublished.advance(work->epoch);
  }
  queue.clear();
  if (!isStore) {
    for (uint32_t reg : warp.tensorRegisters) {
      warp.inFlight[reg] = 0;
    }
    warp.tensorRegisters.clear();
    warp.anyInFlight = false;
  }
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static bool setTransfer(const Match &match, Instruction &i,
                        std::string &error) {
  static const std::pair<const char *, unsigned> kShapes[] = {
      {".32x32b", 128},
      {".16x64b", 128},
      {".16x128b", 64},
      {".16x256b", 32},
      {".16x32bx2", 128}};
  bool isLoad = match.has(".ld");
  for (uint64_t shape = 0; shape < std::size(kShapes); ++shape) {
    if (!match.has(kShapes[shape].first)) {
      continue;
    }
    TensorTransfer transfer;
    transfer.shape = TensorShape(shape);
    for (llvm::StringRef modifier : match.modifiers) {
      if (modifier.consume_front(".x")) {
        modifier.getAsInteger(10, transfer.count);
      }
    }
    if (transfer.count > kShapes[shape].second) {
      error = std::string("expected at most '.x") +
              std::to_string(kShapes[shape].second) + "' of '" +
              kShapes[shape].first + "', but got '.x" +
              std::to_string(transfer.count) + "'";
      return false;
    }
    i.flags =
        shape << 8 | uint64_t(transfer.count) << 16 |
        (match.has(".pack::16b") || match.has(".unpack::16b") ? kPacked : 0);
    bool hasSplit = transfer.shape == TensorShape::S16x32bx2;
    if (hasSplit && i[isLoad ? 2 : 1].value >= kTensorColumns) {
      error = "expected less than 512 columns from one half to the other";
      return false;
    }
    size_t found = getParts(i[isLoad ? 0 : hasSplit ? 2 : 1]).size();
    if (found != transfer.getRegisters()) {
      error = "expected " + std::to_string(transfer.getRegisters()) +
              " registers, but got " + std::to_string(found);
      return false;
    }
    return true;
  }
  return false;
}

void mlir::jfa::emu::registerTcgen05LoadStore(OpcodeTable &table) {
  const std::string count = "(.x1|.x2|.x4|.x8|.x16|.x32|.x64|.x128)";
  const std::string shape = "(.32x32b|.16x64b|.16x128b|.16x256b)";
  addTcgen05(table, ".ld.sync.aligned" + shape + count + "{.pack::16b}.b32",
             "D32 m", runLoad, true, setTransfer);
  addTcgen05(table, ".ld.sync.aligned.16x32bx2" + count + "{.pack::16b}.b32",
             "D32 m i", runLoad, true, setTransfer);
  addTcgen05(table, ".st.sync.aligned" + shape + count + "{.unpack::16b}.b32",
             "m S32", runStore, true, setTransfer);
  addTcgen05(table, ".st.sync.aligned.16x32bx2" + count + "{.unpack::16b}.b32",
             "m i S32", runStore, true, setTransfer);
  auto setWait = [](const Match &match, Instruction &i, std::string &) {
    i.flags = match.has(".wait::st");
    return true;
  };
  addTcgen05(table, "(.wait::ld|.wait::st).sync.aligned", "", runWait, true,
             setWait);
}
