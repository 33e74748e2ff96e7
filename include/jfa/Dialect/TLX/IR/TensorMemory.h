//===- TensorMemory.h - Buffers in tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the elements of buffers in tensor memory lie. Tensor memory is 128
// lanes of 512 columns of 32 bits; warp w of a warpgroup reaches lanes 32 w to
// 32 w + 31 (PTX ISA 9.7.16.1).
//
// A tile has 128 rows, one for each lane, or 64. Of the latter row r lies in
// lane 32 (r / 16) + r % 16, where a product of 64 rows puts it (9.7.16.10.5,
// layout F), or 16 lanes further on: two such tiles share their columns.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TENSORMEMORY_H
#define JFA_DIALECT_TLX_IR_TENSORMEMORY_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

constexpr int64_t kTensorLanes = 128;
constexpr int64_t kTensorColumns = 512;
/// The lane of tensor memory in an address; the column is in the low bits (PTX
/// ISA 9.7.16.1.1).
constexpr int64_t kTensorLaneShift = 16;
/// Rows of a tile that has every other 16 lanes, and the lane at which the tile
/// in the lanes between begins.
constexpr int64_t kHalfTileRows = 64, kHalfTileLane = 16;
/// The fewest columns that can be allocated.
constexpr int64_t kMinTensorColumns = 32;
constexpr int64_t kTensorCellBits = 32;
/// Scales of 128 rows, four of them in a cell: the lanes that hold those of one
/// quarter of the rows, which the others repeat, and the columns of all (PTX
/// ISA 9.7.16.10.7).
constexpr int64_t kScaleLanes = 32, kScaleColumns = 4;

/// Attributes of a kernel, which tlx-allocate-memory sets: the columns that it
/// allocates, and the byte of shared memory at which the hardware writes their
/// address.
constexpr StringLiteral kTensorColumnsAttr = "tlx.tensor_memory_columns";
constexpr StringLiteral kTensorAddressAttr = "tlx.tensor_memory_address";
/// The same, where pairs of CTAs allocate together, as the products of a pair
/// demand of a kernel.
constexpr StringLiteral kTensorPairAttr = "tlx.tensor_memory_pair";

/// Whether `type` is that of a buffer in tensor memory.
inline bool isInTensorMemory(Type type) {
  auto buffer = dyn_cast<MemDescType>(type);
  return buffer && buffer.isInTensorMemory();
}

/// Whether the tiles of a buffer have 64 rows, as far as that is known.
bool hasHalfTiles(MemDescType type);

/// Columns that one tile of a buffer takes: element (r, c) lies in the lane of
/// row r and, counted from the tile's first, column c * bits / 32. Fails while
/// parameters are unbound.
FailureOr<int64_t> getTensorTileColumns(MemDescType type);

/// Columns that the whole buffer takes: its tiles lie side by side, or two and
/// two of 64 rows in the same columns, the odd one 16 lanes after the even one.
FailureOr<int64_t> getTensorColumns(MemDescType type);

/// The layout of a tile of `shape` that `threads` threads read from tensor
/// memory. Of 128 rows, with `tcgen05.ld.32x32b`, thread t of a warpgroup has
/// row t, and the columns of a row are dealt to the warpgroups in equal parts.
/// Of 64 rows, with `tcgen05.ld.16x32bx2`, warp w has rows 16 w to 16 w + 15,
/// and threads t and t + 16 of it the halves of one in the warpgroup's part.
/// Null if the columns cannot be dealt so.
LayoutAttr getTensorMemoryLayout(MLIRContext *context, ArrayRef<int64_t> shape,
                                 int64_t threads);

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_IR_TENSORMEMORY_H
