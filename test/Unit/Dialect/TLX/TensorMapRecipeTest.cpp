//===- TensorMapRecipeTest.cpp - Hardware dimensions of maps -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TensorMapRecipe.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::jfa::tlx;

namespace {
using Kind = TensorMapDim::Kind;

class TensorMapRecipeTest : public ::testing::Test {
protected:
  TensorMapRecipeTest() { context.loadDialect<TLXDialect>(); }

  FailureOr<TensorMapRecipe> recipe(ArrayRef<int64_t> tile, bool ragged,
                                    Type element = {}) {
    SmallVector<ExprAttr> extents = llvm::map_to_vector(
        tile, [&](int64_t extent) { return ExprAttr::get(&context, extent); });
    element = element ? element : BFloat16Type::get(&context);
    auto type =
        TensorMapType::get(&context, extents, TypeAttr::get(element), ragged);
    ScopedDiagnosticHandler handler(&context,
                                    [](Diagnostic &) { return success(); });
    return getTensorMapRecipe(
        type, [&] { return emitError(UnknownLoc::get(&context)); });
  }

  static void expect(const TensorMapDim &dim, Kind kind, int64_t axis,
                     int64_t step, int64_t box) {
    EXPECT_EQ(dim.kind, kind);
    EXPECT_EQ(dim.axis, axis);
    EXPECT_EQ(dim.step, step);
    EXPECT_EQ(dim.box, box);
  }

  MLIRContext context;
};
} // namespace

TEST_F(TensorMapRecipeTest, OnePanel) {
  FailureOr<TensorMapRecipe> map = recipe({128, 64}, /*ragged=*/false);
  ASSERT_TRUE(succeeded(map));
  EXPECT_EQ(map->swizzleBytes, 128);
  ASSERT_EQ(map->dims.size(), 2u);
  expect(map->dims[0], Kind::Axis, 1, 1, 64);
  expect(map->dims[1], Kind::Axis, 0, 1, 128);
}

TEST_F(TensorMapRecipeTest, PanelsComeAfterRows) {
  FailureOr<TensorMapRecipe> map = recipe({128, 1, 128}, /*ragged=*/true);
  ASSERT_TRUE(succeeded(map));
  ASSERT_EQ(map->dims.size(), 5u);
  expect(map->dims[0], Kind::Inner, 2, 1, 64);
  expect(map->dims[1], Kind::Segment, 0, 1, 128);
  expect(map->dims[2], Kind::Panel, 2, 64, 2);
  expect(map->dims[3], Kind::Axis, 1, 1, 1);
  expect(map->dims[4], Kind::Position, 0, 1, 1);
}

TEST_F(TensorMapRecipeTest, NarrowTilesUseNarrowSwizzles) {
  EXPECT_EQ(recipe({64, 32}, false)->swizzleBytes, 64);
  EXPECT_EQ(recipe({64, 16}, false)->swizzleBytes, 32);
  EXPECT_EQ(recipe({64}, false)->swizzleBytes, 0);
  EXPECT_EQ(recipe({64, 32}, false, Float32Type::get(&context))->swizzleBytes,
            128);
}

TEST_F(TensorMapRecipeTest, RefusesWhatHardwareCannot) {
  // More than 256 rows, and rows that no swizzle fits.
  EXPECT_TRUE(failed(recipe({512, 64}, false)));
  EXPECT_TRUE(failed(recipe({64, 48}, false)));
}
