//===- TensorMaps.h - Tensor maps from a kernel's recipes -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map tells the copy engine where a tensor lies and how it is cut into
// boxes. The manifest says which dimensions a kernel's boxes have; the caller's
// tensor fills in sizes and strides.
//
// A ragged map bounds every copy to its own sequence, with one map for all
// sequences. Two of its dimensions walk the rows with the same stride:
// `segment` of extent S = kSegmentBound, and `position`. The map begins S rows
// before the tensor, and the kernel addresses row r of the rows [start, start +
// length) as
//
//   segment = S - length + r,   position = start + length
//
// which is row (start + r) of the tensor. A row r >= length lies outside of the
// segment dimension, so loads fill it with zeros and stores drop it. But a load
// must begin at a row r < length: for a box that lies outside altogether the
// hardware (seen on H200) touches the map's own address, which is unmapped.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_TENSORMAPS_H
#define JFA_LIB_RUNTIME_TENSORMAPS_H

#include "Bundle.h"
#include "Driver.h"
#include "Status.h"

namespace jfa::runtime {

/// The extent of a ragged map's segment dimension, and so the longest sequence.
/// Coordinates are 32-bit and signed: one tile past the end must not overflow.
constexpr int64_t kSegmentBound = int64_t(1) << 30;

/// A tensor [rows, heads, dim]; strides count elements. Of one with two axes
/// `dim` is 1, and `headStride` too.
struct TensorLayout {
  int64_t rows;
  int64_t heads;
  int64_t dim;
  int64_t rowStride;
  int64_t headStride;
  int64_t elementBytes = 2;
  /// Bytes that the L2 cache fetches together, 128 or 256. A box reads 128 in a
  /// row; where the next head's lie behind them and are read soon, 256 makes
  /// longer accesses to memory out of them.
  int32_t fetchBytes = 128;
};

/// What the driver is asked to encode.
struct TensorMapShape {
  uint32_t rank;
  uint64_t sizes[5];
  /// In bytes; the innermost dimension is contiguous and has none.
  uint64_t strides[4];
  uint32_t box[5];
  /// Bytes to subtract from the tensor's address, modulo 2^64.
  uint64_t baseShift;
  /// As of TensorLayout.
  int32_t fetchBytes;
};

/// Applies a recipe to a tensor. `name` is for the message if the result is
/// beyond what the hardware can address.
Status getTensorMapShape(const TensorMapRecipe &recipe,
                         const TensorLayout &tensor, const std::string &name,
                         TensorMapShape &shape);

/// Encodes a map. Allocates nothing.
Status encodeTensorMap(const Driver &driver, const TensorMapShape &shape,
                       const Argument &argument, const void *base,
                       TensorMap &map);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_TENSORMAPS_H
