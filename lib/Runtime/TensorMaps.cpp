//===- TensorMaps.cpp - Tensor maps from a kernel's recipes -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"

#include <algorithm>

using namespace jfa::runtime;

static uint64_t getAxisSize(const TensorLayout &tensor, int axis) {
  int64_t size = axis == 0   ? tensor.rows
                 : axis == 1 ? tensor.heads
                             : tensor.dim;
  return static_cast<uint64_t>(size);
}

static uint64_t getAxisStride(const TensorLayout &tensor, int axis) {
  int64_t stride = axis == 0   ? tensor.rowStride
                   : axis == 1 ? tensor.headStride
                               : 1;
  return static_cast<uint64_t>(stride);
}

static uint64_t getExtent(const TensorMapDimension &dimension,
                          const TensorLayout &tensor) {
  uint64_t size = getAxisSize(tensor, dimension.axis);
  auto step = static_cast<uint64_t>(dimension.step);
  switch (dimension.extent) {
  case Extent::Fixed:
    return dimension.fixedExtent;
  case Extent::Axis:
    // The hardware knows no empty dimension; no box of an empty tensor is used.
    return std::max<uint64_t>(1, (size + step - 1) / step);
  case Extent::Segment:
    return static_cast<uint64_t>(kSegmentBound);
  case Extent::Position:
    return size + 1;
  }
  return 0;
}

Status jfa::runtime::getTensorMapShape(const TensorMapRecipe &recipe,
                                       const TensorLayout &tensor,
                                       const std::string &name,
                                       TensorMapShape &shape) {
  constexpr uint64_t kMaxExtent = uint64_t(1) << 32;
  constexpr uint64_t kMaxStride = (uint64_t(1) << 40) - 16;
  shape = {};
  shape.fetchBytes = tensor.fetchBytes;
  shape.rank = static_cast<uint32_t>(recipe.dimensions.size());
  for (uint32_t i = 0; i < shape.rank; ++i) {
    const TensorMapDimension &dimension = recipe.dimensions[i];
    shape.sizes[i] = getExtent(dimension, tensor);
    shape.box[i] = dimension.box;
    if (shape.sizes[i] > kMaxExtent) {
      return invalid(name, "to have at most 2^32 rows or heads, but got ",
                     shape.sizes[i]);
    }
    if (i == 0) {
      continue;
    }
    uint64_t stride = getAxisStride(tensor, dimension.axis) *
                      static_cast<uint64_t>(dimension.step) *
                      static_cast<uint64_t>(tensor.elementBytes);
    if (stride % 16 != 0 || stride > kMaxStride) {
      return invalid(name,
                     "to have strides that are multiples of 16 bytes below "
                     "2^40, but got ",
                     stride, " bytes");
    }
    shape.strides[i - 1] = stride;
    if (dimension.extent == Extent::Segment) {
      shape.baseShift = static_cast<uint64_t>(kSegmentBound) * stride;
    }
  }
  return success();
}

Status jfa::runtime::encodeTensorMap(const Driver &driver,
                                     const TensorMapShape &shape,
                                     const Argument &argument, const void *base,
                                     TensorMap &map) {
  constexpr int kFloat16 = 6;
  constexpr int kFloat32 = 7;
  constexpr int kBFloat16 = 9;
  constexpr int kPromote128Bytes = 2;
  constexpr int kPromote256Bytes = 3;
  constexpr uint32_t ones[5] = {1, 1, 1, 1, 1};
  int type = argument.element == ElementType::BF16  ? kBFloat16
             : argument.element == ElementType::F16 ? kFloat16
                                                    : kFloat32;
  // CU_TENSOR_MAP_SWIZZLE_{NONE,32B,64B,128B} are 0 to 3.
  int bytes = argument.recipe.swizzleBytes;
  int swizzle = bytes == 0 ? 0 : bytes == 32 ? 1 : bytes == 64 ? 2 : 3;
  int promotion = shape.fetchBytes == 256 ? kPromote256Bytes : kPromote128Bytes;
  Status status =
      driver.check(driver.tensorMapEncodeTiled(
                       &map, type, shape.rank, const_cast<void *>(base),
                       shape.sizes, shape.strides, shape.box, ones,
                       /*interleave=*/0, swizzle, promotion,
                       /*fill=*/0),
                   "encode a tensor map");
  if (status.failed()) {
    status.argument = argument.name;
    return status;
  }
  if (shape.baseShift == 0) {
    return success();
  }
  // The shifted address may wrap below zero. The hardware adds modulo 2^64 and
  // takes that, but the driver refuses to encode it, so the true address is
  // encoded and replaced. It is the map's first word, which is checked, as the
  // layout is documented nowhere.
  auto address = reinterpret_cast<uint64_t>(base);
  if (map.words[0] != address) {
    return failure(JFA_STATUS_UNSUPPORTED,
                   "expected this driver's tensor maps to begin with the "
                   "tensor's address, but they do not");
  }
  map.words[0] = address - shape.baseShift;
  return success();
}
