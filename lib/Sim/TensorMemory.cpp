//===- TensorMemory.cpp - Tensor memory with its history -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/TensorMemory.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

int64_t TensorView::getOffset(int64_t lane, int64_t column) const {
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

bool TensorMemory::contains(const TensorView &view) const {
  auto [begin, end] = view.getRange();
  return begin >= 0 && end <= int64_t(bytes.size());
}

TileRef TensorMemory::load(const TensorView &view) const {
  TileRef tile(new Tile(view.kind, {kLanes, view.columns}));
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t column = 0; column < view.columns; ++column) {
      const uint8_t *from = bytes.data() + view.getOffset(lane, column);
      auto to = size_t(lane * view.columns + column);
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
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    for (int64_t column = 0; column < view.columns; ++column) {
      uint8_t *to = bytes.data() + view.getOffset(lane, column);
      auto from = size_t(lane * view.columns + column);
      if (isReal(view.kind)) {
        encode(view.kind, tile.reals[from], to);
      } else {
        encode(view.kind, tile.integers[from], to);
      }
    }
  }
}
