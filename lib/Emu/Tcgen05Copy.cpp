//===- Tcgen05Copy.cpp - Shared memory to tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.9. For pairs, each CTA's shared memory goes to its own tensor
// memory.
//
//===----------------------------------------------------------------------===//

#include "MatrixDescriptor.h"
#include "Tcgen05.h"
#include "TensorLayout.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Flags: the shape in bits 8 to 10.
static TensorCopyShape getShape(const Instruction &i) {
  return TensorCopyShape(i.flags >> 8 & 7);
}

/// The CTAs that work for a pair, or the warp's own.
static llvm::SmallVector<Cta *, 2> getCtas(Warp &warp, const Instruction &i) {
  llvm::SmallVector<Cta *, 2> ctas = {&warp.cta};
  if (i.flags & kPair) {
    if (Cta *peer = findPeer(warp)) {
      ctas.push_back(peer);
    }
  }
  return ctas;
}

/// The cells of a copy. With 4x256b, lane 0 of each quarter.
static llvm::SmallVector<TensorCells, 4> getCells(TensorCopyShape shape,
                                                  uint32_t address) {
  uint32_t lane = getTensorLane(address), column = getTensorColumn(address);
  uint32_t columns = getCopyColumns(shape);
  if (shape != TensorCopyShape::S4x256b) {
    return {{lane, column, kTensorLanes, columns}};
  }
  llvm::SmallVector<TensorCells, 4> cells;
  for (uint32_t quarter = 0; quarter < 4; ++quarter) {
    cells.push_back({lane + 32 * quarter, column, 1, columns});
  }
  return cells;
}

namespace {
/// What a copy has read: words of each row, for each CTA.
struct CopySource {
  std::vector<uint32_t> words[2];
};
} // namespace

static uint32_t getRows(TensorCopyShape shape) {
  static const uint32_t kRows[] = {128, 128, 64, 64, 32, 4};
  return kRows[unsigned(shape)];
}

static void write(Machine &machine, AsyncWork &work, Cta &cta,
                  TensorCopyShape shape, uint32_t address,
                  llvm::ArrayRef<uint32_t> words) {
  for (const TensorCells &cells : getCells(shape, address)) {
    if (!machine.accessTensor(work, cta, cells, TensorAccess::Write)) {
      return;
    }
  }
  uint32_t columns = getCopyColumns(shape);
  for (uint32_t lane = 0; lane < kTensorLanes; ++lane) {
    std::optional<uint32_t> row = getCopyRow(shape, lane);
    for (uint32_t c = 0; row && c < columns; ++c) {
      cta.tensor.at(getTensorLane(address) + lane,
                    getTensorColumn(address) + c) = words[*row * columns + c];
    }
  }
}

static void runCopy(Warp &warp, const Instruction &i, uint32_t lanes) {
  TensorCopyShape shape = getShape(i);
  forEachLane(lanes, [&](unsigned lane) {
    auto address = uint32_t(warp.getAddress(i[0], lane));
    MatrixDescriptor descriptor;
    std::string wrong =
        MatrixDescriptor::makeBlackwell(warp.get(i[1], lane), descriptor);
    if (!wrong.empty()) {
      warp.fault(Fault::Illegal, "expects a matrix descriptor " + wrong +
                                     ", but got " +
                                     toHex(warp.get(i[1], lane)));
      return;
    }
    uint32_t most = shape == TensorCopyShape::S4x256b ? 31 : 0;
    if (getTensorLane(address) > most) {
      warp.fault(Fault::Misaligned, "expects a lane up to " +
                                        std::to_string(most) +
                                        " as the first of a copy, but got " +
                                        std::to_string(getTensorLane(address)));
      return;
    }
    auto ctas = getCtas(warp, i);
    auto source = std::make_shared<CopySource>();
    Machine &machine = warp.machine;
    OperandFormat format;
    format.elementBytes = 4;
    format.k = getCopyColumns(shape);
    auto read = [=, &machine](AsyncWork &work) {
      for (size_t c = 0; c < ctas.size(); ++c) {
        if (checkRunning(machine, work, *ctas[c])) {
          source->words[c] = readOperand(machine, work, *ctas[c], descriptor,
                                         format, 0, getRows(shape));
        }
      }
    };
    auto put = [=, &machine](AsyncWork &work) {
      for (size_t c = 0; c < ctas.size(); ++c) {
        if (!source->words[c].empty()) {
          write(machine, work, *ctas[c], shape, address, source->words[c]);
        }
      }
    };
    AsyncWorkRef work =
        issueTensorWork(warp, lane, {read, put}, TensorWork::Copy);
    reachAll(warp, work, ctas);
  });
}

/// Elements of 32 bytes move down by one lane; the last one of 32 stays.
static void shift(Machine &machine, AsyncWork &work, Cta &cta,
                  uint32_t address) {
  TensorCells cells{getTensorLane(address), getTensorColumn(address), 32, 8};
  if (!checkRunning(machine, work, cta) ||
      !machine.accessTensor(work, cta, cells, TensorAccess::ReadWrite)) {
    return;
  }
  for (uint32_t lane = 0; lane + 1 < cells.lanes; ++lane) {
    for (uint32_t c = 0; c < cells.columns; ++c) {
      cta.tensor.at(cells.lane + lane, cells.column + c) =
          cta.tensor.at(cells.lane + lane + 1, cells.column + c);
    }
  }
}

static void runShift(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    auto address = uint32_t(warp.getAddress(i[0], lane));
    if (getTensorLane(address) % 32 != 0) {
      warp.fault(Fault::Misaligned,
                 "expects a lane that is a multiple of 32, but got " +
                     std::to_string(getTensorLane(address)));
      return;
    }
    auto ctas = getCtas(warp, i);
    Machine &machine = warp.machine;
    AsyncWorkRef work =
        issueTensorWork(warp, lane, {[=, &machine](AsyncWork &work) {
                          for (Cta *cta : ctas) {
                            shift(machine, work, *cta, address);
                          }
                        }},
                        TensorWork::Shift);
    reachAll(warp, work, ctas);
  });
}

void mlir::jfa::emu::registerTcgen05Copy(OpcodeTable &table) {
  const std::string group = "(.cta_group::1|.cta_group::2)";
  const char *const shapes[] = {".128x256b",
                                ".128x128b",
                                ".64x128b.warpx2::02_13",
                                ".64x128b.warpx2::01_23",
                                ".32x128b.warpx4",
                                ".4x256b"};
  for (uint64_t shape = 0; shape < std::size(shapes); ++shape) {
    addTcgen05(table, ".cp" + group + shapes[shape], "m s64", runCopy, false,
               [=](const Match &, Instruction &i, std::string &) {
                 i.flags |= shape << 8;
                 return true;
               });
  }
  addTcgen05(
      table, ".shift" + group + ".down", "m", runShift, false,
      [](const Match &, Instruction &, std::string &) { return true; },
      Architecture::BlackwellOnly);
}
