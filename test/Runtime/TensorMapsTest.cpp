//===- TensorMapsTest.cpp - Tests of tensor maps ----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"

#include <gtest/gtest.h>

using namespace jfa::runtime;

namespace {
TensorMapRecipe makeRagged() {
  TensorMapRecipe recipe{};
  recipe.ragged = true;
  recipe.swizzleBytes = 128;
  recipe.dimensions = {{2, 1, 64, Extent::Fixed, 64},
                       {0, 1, 64, Extent::Segment, 0},
                       {2, 64, 2, Extent::Axis, 0},
                       {1, 1, 1, Extent::Axis, 0},
                       {0, 1, 1, Extent::Position, 0}};
  return recipe;
}

/// A driver that writes down what it is asked, and answers as the true one: the
/// address is the map's first word, and one beyond the user's half is refused.
int encodeFake(TensorMap *map, int, uint32_t, void *base, const uint64_t *,
               const uint64_t *, const uint32_t *, const uint32_t *, int, int,
               int, int) {
  *map = {};
  map->words[0] = reinterpret_cast<uint64_t>(base);
  return map->words[0] >> 47 ? 1 : 0;
}

Driver makeFakeDriver() {
  Driver driver{};
  driver.tensorMapEncodeTiled = encodeFake;
  return driver;
}
} // namespace

TEST(TensorMaps, RaggedShape) {
  TensorMapShape shape;
  TensorLayout tensor{1000, 4, 128, 512, 128};
  ASSERT_FALSE(getTensorMapShape(makeRagged(), tensor, "q", shape).failed());
  EXPECT_EQ(shape.rank, 5u);
  const uint64_t sizes[] = {64, uint64_t(kSegmentBound), 2, 4, 1001};
  const uint64_t strides[] = {1024, 128, 256, 1024};
  const uint32_t box[] = {64, 64, 2, 1, 1};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(shape.sizes[i], sizes[i]);
    EXPECT_EQ(shape.box[i], box[i]);
    if (i < 4) {
      EXPECT_EQ(shape.strides[i], strides[i]);
    }
  }
  EXPECT_EQ(shape.baseShift, uint64_t(1024) << 30);
}

TEST(TensorMaps, EmptyTensorsHaveALegalShape) {
  TensorMapRecipe recipe{};
  recipe.dimensions = {{2, 1, 64, Extent::Fixed, 64},
                       {0, 1, 64, Extent::Axis, 0}};
  TensorMapShape shape;
  ASSERT_FALSE(
      getTensorMapShape(recipe, {0, 1, 64, 64, 64}, "k", shape).failed());
  EXPECT_EQ(shape.sizes[1], 1u);
  EXPECT_EQ(shape.baseShift, 0u);
}

TEST(TensorMaps, RefusesWideStrides) {
  TensorMapShape shape;
  TensorLayout tensor{1000, 4, 128, int64_t(1) << 39, 128};
  Status status = getTensorMapShape(makeRagged(), tensor, "o", shape);
  EXPECT_EQ(status.argument, "o");
  EXPECT_EQ(status.message,
            "expected 'o' to have strides that are multiples of 16 bytes below "
            "2^40, but got 1099511627776 bytes");
}

TEST(TensorMaps, ShiftedAddressWrapsAround) {
  Driver driver = makeFakeDriver();
  Argument argument{};
  argument.element = ElementType::BF16;
  argument.recipe = makeRagged();
  TensorMapShape shape;
  // A row stride of 1 MiB moves the base 2^50 bytes down, below zero.
  TensorLayout tensor{1000, 4, 128, 1 << 19, 128};
  ASSERT_FALSE(getTensorMapShape(argument.recipe, tensor, "q", shape).failed());
  TensorMap map;
  const uint64_t address = 0x7f0000000000;
  Status status = encodeTensorMap(driver, shape, argument,
                                  reinterpret_cast<void *>(address), map);
  ASSERT_FALSE(status.failed()) << status.message;
  EXPECT_EQ(map.words[0], address - (uint64_t(1) << 50));
  // The kernel's row 3 of a sequence at row 10 with 7 rows.
  uint64_t row = map.words[0] + ((uint64_t(kSegmentBound) - 7 + 3) << 20) +
                 (uint64_t(10 + 7) << 20);
  EXPECT_EQ(row, address + (uint64_t(13) << 20));
}
