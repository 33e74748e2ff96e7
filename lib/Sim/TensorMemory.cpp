//===- TensorMemory.cpp - Tensor memory with its history -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/TensorMemory.h"

#include <algorithm>
#include <cstring>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

int64_t TensorView::getOffset(int64_t row, int64_t column) const {
  constexpr int64_t kHalf = 16; // lanes, and rows, of each 32 lanes
  int64_t lane = rows == TensorMemory::kLanes
                     ? row
                     : row / kHalf * 2 * kHalf + row % kHalf + firstLane;
  int64_t byte = column * getBytes(kind);
  int64_t cell = begin + byte / TensorMemory::kCellBytes;
  return (cell * TensorMemory::kLanes + lane) * TensorMemory::kCellBytes +
         byte % TensorMemory::kCellBytes;
}

std::pair<int64_t, int64_t> TensorView::getRange() const {
  int64_t perColumn = TensorMemory::kLanes * TensorMemory::kCellBytes;
  int64_t cells = columns * getBytes(kind) / TensorMemory::kCellBytes;
  return {begin * perColumn, (begin + cells) * perColumn};
}

/// The bytes of an element, one or two cells of a lane, which are not
/// neighbours.
template <typename Bytes, typename Copy>
static void forEachCell(Bytes *bytes, const TensorView &view, int64_t row,
                        int64_t column, uint8_t *element, Copy copy) {
  int64_t stride = TensorMemory::kLanes * TensorMemory::kCellBytes;
  int64_t size =
      std::min<int64_t>(getBytes(view.kind), TensorMemory::kCellBytes);
  Bytes *cell = bytes + view.getOffset(row, column);
  for (int64_t at = 0; at < getBytes(view.kind); at += size, cell += stride) {
    copy(cell, element + at, size_t(size));
  }
}

bool TensorMemory::contains(const TensorView &view) const {
  auto [begin, end] = view.getRange();
  return begin >= 0 && end <= int64_t(bytes.size());
}

TileRef TensorMemory::load(const TensorView &view) const {
  TileRef tile(new Tile(view.kind, view.getShape()));
  for (int64_t row = 0; row < view.rows; ++row) {
    for (int64_t column = 0; column < view.columns; ++column) {
      uint8_t from[8];
      forEachCell(bytes.data(), view, row, column, from,
                  [](const uint8_t *cell, uint8_t *element, size_t size) {
                    std::memcpy(element, cell, size);
                  });
      auto to = size_t(row * view.columns + column);
      if (isReal(view.kind)) {
        tile->reals[to] = decodeReal(view.kind, from);
      } else {
        tile->integers[to] = decodeInteger(view.kind, from);
      }
    }
  }
  return tile;
}

void TensorMemory::store(const TensorView &view, const Tile &tile) {
  for (int64_t row = 0; row < view.rows; ++row) {
    for (int64_t column = 0; column < view.columns; ++column) {
      uint8_t to[8];
      auto from = size_t(row * view.columns + column);
      if (isReal(view.kind)) {
        encode(view.kind, tile.reals[from], to);
      } else {
        encode(view.kind, tile.integers[from], to);
      }
      forEachCell(bytes.data(), view, row, column, to,
                  [](uint8_t *cell, const uint8_t *element, size_t size) {
                    std::memcpy(cell, element, size);
                  });
    }
  }
}

llvm::SmallVector<History *, 2>
TensorMemory::getHistories(const TensorView &view) {
  if (view.rows != kLanes) {
    return {&histories[view.firstLane ? 1 : 0]};
  }
  llvm::SmallVector<History *, 2> all = {&histories[0]};
  if (hasHalfTiles) {
    all.push_back(&histories[1]);
  }
  return all;
}
