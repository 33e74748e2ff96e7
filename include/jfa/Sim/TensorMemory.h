//===- TensorMemory.h - Tensor memory with its history -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 128 lanes of 512 columns of 32 bits (PTX ISA 9.7.16.1), column by column, so
// that every view, which has all lanes, is one range of bytes.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_TENSORMEMORY_H
#define JFA_SIM_TENSORMEMORY_H

#include "jfa/Sim/Memory.h"

namespace mlir::jfa::sim {

/// A tile of tensor memory: `columns` elements in each of `rows` lanes from
/// column `begin` on. 128 rows have a lane each. 64 rows have 16 lanes of each
/// 32, from lane 0 or from lane 16 on.
struct TensorView {
  ElementKind kind = ElementKind::F32;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t begin = 0;
  int64_t firstLane = 0;

  /// The bytes of its columns, in all lanes.
  std::pair<int64_t, int64_t> getRange() const;
  int64_t getOffset(int64_t row, int64_t column) const;
  Shape getShape() const { return {rows, columns}; }
};

class TensorMemory {
public:
  static constexpr int64_t kLanes = 128;
  static constexpr int64_t kCellBytes = 4;

  /// What nobody has written is not a number. `hasHalfTiles` says whether there
  /// are tiles of 64 rows.
  TensorMemory(int64_t columns, bool hasHalfTiles)
      : bytes(size_t(columns * kLanes * kCellBytes), 0xFF),
        hasHalfTiles(hasHalfTiles) {}

  bool contains(const TensorView &view) const;
  TileRef load(const TensorView &view) const;
  void store(const TensorView &view, const Tile &tile);
  /// The histories that an access to `view` belongs to, by columns.
  llvm::SmallVector<History *, 2> getHistories(const TensorView &view);

private:
  std::vector<uint8_t> bytes;
  bool hasHalfTiles;
  /// Of lanes 0 to 15 of each 32, and of the others, of which there is nothing
  /// to say without tiles of 64 rows.
  History histories[2];
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_TENSORMEMORY_H
