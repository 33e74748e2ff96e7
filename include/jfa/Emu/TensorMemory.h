//===- TensorMemory.h - The tensor memory of a CTA -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.1: 128 lanes of 512 columns of 32 bits, which are allocated in
// whole columns. Every cell has a history, and a value or none.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_TENSORMEMORY_H
#define JFA_EMU_TENSORMEMORY_H

#include "jfa/Sim/Memory.h"

#include <array>
#include <optional>

namespace mlir::jfa::emu {

constexpr uint32_t kTensorLanes = 128, kTensorColumns = 512;
/// What the half of a cell holds that an operation leaves open.
constexpr uint32_t kUndefinedHalf = 0x7fff;

/// A rectangle of cells.
struct TensorCells {
  uint32_t lane = 0, column = 0, lanes = 0, columns = 0;
};

/// Where an address leads (PTX ISA 9.7.16.1.1): lanes in the upper half.
inline uint32_t getTensorLane(uint64_t address) {
  return uint32_t(address) >> 16;
}
inline uint32_t getTensorColumn(uint64_t address) {
  return uint32_t(address) & 0xffff;
}

class TensorMemory {
public:
  TensorMemory() { owners.fill(kFree); }

  /// The first of `columns` free ones in a row, in this memory and, for CTA
  /// pairs, in the other one's.
  std::optional<uint32_t> findFree(uint32_t columns,
                                   const TensorMemory *peer) const;
  void allocate(uint32_t first, uint32_t columns);
  /// Whether exactly these have been allocated together.
  bool isAllocation(uint32_t first, uint32_t columns) const;
  void release(uint32_t first, uint32_t columns);
  bool isAllocated(const TensorCells &cells) const;

  uint32_t &at(uint32_t lane, uint32_t column) {
    return values[size_t(column) * kTensorLanes + lane];
  }
  /// Notes that cells have values; the first one that has none, or nothing.
  void define(const TensorCells &cells);
  std::optional<uint32_t> findUndefined(const TensorCells &cells) const;

  /// By column, then lane.
  sim::History history;
  /// For each column, the first of its allocation.
  static constexpr uint32_t kFree = ~0u;
  std::array<uint32_t, kTensorColumns> owners;
  /// By the line of each allocation that has not been freed.
  std::map<uint32_t, uint32_t> lines;
  /// Whether the CTA may still allocate, and how much at most.
  bool hasPermit = true;
  uint32_t limit = kTensorColumns;

  /// What those knew who have freed some of it.
  sim::Knowledge released;

  /// What a warp of this CTA asks of a pair of CTAs, and the answer.
  struct Request {
    bool isOpen = false;
    uint32_t first = 0, columns = 0;
    std::optional<uint32_t> answer;
  };
  Request allocation, deallocation;

private:
  std::vector<uint32_t> values =
      std::vector<uint32_t>(size_t(kTensorLanes) * kTensorColumns, 0);
  std::vector<bool> defined =
      std::vector<bool>(size_t(kTensorLanes) * kTensorColumns, false);
};

} // namespace mlir::jfa::emu

#endif // JFA_EMU_TENSORMEMORY_H
