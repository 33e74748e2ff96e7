//===- SharedLayoutTest.cpp - How tiles lie in shared memory ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the offsets of all elements with PTX ISA 5.5.7, computed piece by
// piece from the address.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/SharedLayout.h"

#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace mlir::jfa::tlx;

namespace {
class SharedLayoutTest : public ::testing::Test {
protected:
  SharedLayoutTest() { context.loadDialect<TLXDialect>(); }

  SmallVector<ExprAttr> extents(ArrayRef<int64_t> shape) {
    return llvm::map_to_vector(
        shape, [&](int64_t extent) { return ExprAttr::get(&context, extent); });
  }

  MemDescType type(ArrayRef<int64_t> shape, Type element,
                   ArrayRef<int64_t> of = {}, bool transposed = false) {
    return MemDescType::get(extents(shape), TypeAttr::get(element), extents(of),
                            transposed);
  }

  MLIRContext context;
  Builder b{&context};
};
} // namespace

/// Where TMA puts the 16-byte piece at `address`: each swizzle exchanges pieces
/// within rows of its width by the number of the 128-byte line in its pattern.
static int64_t referenceSwizzle(int64_t address, int64_t span) {
  int64_t piece = address / 16 % 8, line = address / 128 % 8;
  int64_t pieces = span / 16;
  int64_t moved = piece ^ (line % pieces);
  return address / 128 * 128 + moved * 16 + address % 16;
}

TEST_F(SharedLayoutTest, EveryElementOfEveryShape) {
  for (Type element : {Type(b.getIntegerType(8)), Type(b.getBF16Type()),
                       Type(b.getF32Type())}) {
    int64_t size = element.getIntOrFloatBitWidth() / 8;
    for (int64_t rowBytes : {32, 64, 128, 256, 512}) {
      for (int64_t rows : {8, 64, 72, 128}) {
        int64_t columns = rowBytes / size;
        FailureOr<SharedLayout> layout =
            getSharedLayout(type({rows, columns}, element));
        ASSERT_TRUE(succeeded(layout));
        int64_t span = std::min<int64_t>(rowBytes, 128);
        EXPECT_EQ(layout->swizzleBytes, span);
        EXPECT_EQ(layout->alignment, 8 * span);
        EXPECT_EQ(layout->getSizeInBytes(), rows * rowBytes);
        std::set<int64_t> seen;
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t column = 0; column < columns; ++column) {
            int64_t byte = column * size;
            int64_t plain =
                byte / span * rows * span + row * span + byte % span;
            int64_t offset = getByteOffset(*layout, row, column);
            EXPECT_EQ(offset, referenceSwizzle(plain, span));
            EXPECT_LE(offset + size, layout->getSizeInBytes());
            EXPECT_TRUE(seen.insert(offset).second);
          }
        }
      }
    }
  }
}

TEST_F(SharedLayoutTest, RingsAndViewsHaveTheLayoutOfTheirTile) {
  Type bf16 = b.getBF16Type();
  FailureOr<SharedLayout> tile = getSharedLayout(type({128, 64}, bf16));
  ASSERT_TRUE(succeeded(tile));
  for (MemDescType view :
       {type({3, 128, 64}, bf16), type({64, 64}, bf16, {128, 64}),
        type({64, 128}, bf16, {}, /*transposed=*/true),
        type({64, 64}, bf16, {64, 128}, /*transposed=*/true)}) {
    FailureOr<SharedLayout> layout = getSharedLayout(view);
    ASSERT_TRUE(succeeded(layout));
    EXPECT_EQ(layout->rows, 128);
    EXPECT_EQ(layout->columns, 64);
    EXPECT_EQ(getByteOffset(*layout, 77, 33), getByteOffset(*tile, 77, 33));
  }
}

TEST_F(SharedLayoutTest, ArraysArePlain) {
  FailureOr<SharedLayout> layout = getSharedLayout(type({100}, b.getF32Type()));
  ASSERT_TRUE(succeeded(layout));
  EXPECT_EQ(layout->swizzleBytes, 0);
  EXPECT_EQ(layout->getSizeInBytes(), 400);
  for (int64_t column = 0; column < 100; ++column) {
    EXPECT_EQ(getByteOffset(*layout, 0, column), 4 * column);
  }
}

TEST_F(SharedLayoutTest, RefusesWhatNoSwizzleFits) {
  Type bf16 = b.getBF16Type();
  EXPECT_TRUE(failed(getSharedLayout(type({64, 48}, bf16))));
  EXPECT_TRUE(failed(getSharedLayout(type({64, 8}, bf16))));
  EXPECT_TRUE(failed(getSharedLayout(type({12, 64}, bf16))));
}
