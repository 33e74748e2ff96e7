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

/// A tile of tensor memory: `columns` elements of each lane from column `begin`
/// on.
struct TensorView {
  ElementKind kind = ElementKind::F32;
  int64_t begin = 0;
  int64_t columns = 0;

  /// The bytes of the view.
  std::pair<int64_t, int64_t> getRange() const;
  int64_t getOffset(int64_t lane, int64_t column) const;
};

class TensorMemory {
public:
  static constexpr int64_t kLanes = 128;
  static constexpr int64_t kCellBytes = 4;

  /// What nobody has written is not a number.
  explicit TensorMemory(int64_t columns)
      : bytes(size_t(columns * kLanes * kCellBytes), 0xFF) {}

  bool contains(const TensorView &view) const;
  TileRef load(const TensorView &view) const;
  void store(const TensorView &view, const Tile &tile);

  History history;

private:
  std::vector<uint8_t> bytes;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_TENSORMEMORY_H
