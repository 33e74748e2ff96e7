//===- TensorMemoryTest.cpp - Tiles in tensor memory ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TensorMemory.h"
#include "Emu/TensorLayout.h"
#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "mlir/IR/BuiltinTypes.h"

#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

namespace {
class TensorMemoryTest : public ::testing::Test {
protected:
  TensorMemoryTest() { context.loadDialect<TLXDialect>(); }

  MemDescType buffer(ArrayRef<int64_t> shape, Type element) {
    SmallVector<ExprAttr> extents;
    for (int64_t extent : shape) {
      extents.push_back(ExprAttr::get(&context, extent));
    }
    return MemDescType::get(extents, TypeAttr::get(element), /*allocShape=*/{},
                            /*transposed=*/false, MemorySpace::Tensor);
  }

  MLIRContext context;
};
} // namespace

/// What a load of `rows` rows gives register `reg` of thread `thread`: that its
/// instruction takes it from where a product has put the element that the
/// layout says.
static void checkLoads(MLIRContext &context, int64_t rows, int64_t columns,
                       int64_t groups) {
  LayoutAttr layout =
      getTensorMemoryLayout(&context, {rows, columns}, 128 * groups);
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout.getNumThreads(), 128 * groups);
  int64_t registers = layout.getNumRegisters();
  ASSERT_EQ(registers * 128 * groups, rows * columns);

  emu::TensorTransfer load;
  load.shape = rows == 64 ? emu::TensorShape::S16x32bx2 //
                          : emu::TensorShape::S32x32b;
  load.count = uint32_t(registers);
  load.split = uint32_t(registers);
  emu::AccumulatorLayout sums = emu::getAccumulatorLayout(
      uint32_t(rows), /*isPair=*/false, /*isStationary=*/false);
  std::set<std::pair<int64_t, int64_t>> seen;
  for (int64_t thread = 0; thread < 128 * groups; ++thread) {
    int64_t warp = thread / 32 % 4, group = thread / 128;
    for (int64_t reg = 0; reg < registers; ++reg) {
      SmallVector<int64_t> from = getThreadOffset(layout, 2, thread);
      SmallVector<int64_t> add = getRegisterOffset(layout, 2, reg);
      int64_t row = from[0] + add[0], column = from[1] + add[1];
      seen.emplace(row, column);
      emu::TensorCell cell = load.getCell(unsigned(thread % 32), unsigned(reg));
      emu::TensorCell wanted = emu::getAccumulatorCell(
          sums, uint32_t(row), uint32_t(column), uint32_t(columns));
      EXPECT_EQ(cell.lane + 32 * warp, wanted.lane);
      EXPECT_EQ(cell.column + columns / groups * group, wanted.column);
    }
  }
  EXPECT_EQ(int64_t(seen.size()), rows * columns);
}

// PTX ISA 9.7.16.8 and 9.7.16.10.5, layouts D and F.
TEST_F(TensorMemoryTest, LoadsTakeWhatProductsHavePut) {
  for (int64_t rows : {64, 128}) {
    for (int64_t columns : {8, 64, 128}) {
      for (int64_t groups : {1, 2}) {
        checkLoads(context, rows, columns, groups);
      }
    }
  }
}

TEST_F(TensorMemoryTest, PartsAreEqual) {
  EXPECT_FALSE(getTensorMemoryLayout(&context, {64, 7}, 128));
  EXPECT_FALSE(getTensorMemoryLayout(&context, {64, 6}, 256));
  EXPECT_FALSE(getTensorMemoryLayout(&context, {128, 7}, 256));
  EXPECT_FALSE(getTensorMemoryLayout(&context, {32, 8}, 128));
  EXPECT_FALSE(getTensorMemoryLayout(&context, {64, 8}, 64));
}

TEST_F(TensorMemoryTest, TwoTilesOf64RowsShareColumns) {
  Type f32 = Float32Type::get(&context), bf16 = BFloat16Type::get(&context);
  EXPECT_EQ(*getTensorColumns(buffer({64, 48}, f32)), 48);
  EXPECT_EQ(*getTensorColumns(buffer({1, 64, 48}, f32)), 48);
  EXPECT_EQ(*getTensorColumns(buffer({2, 64, 48}, f32)), 48);
  EXPECT_EQ(*getTensorColumns(buffer({3, 64, 48}, f32)), 96);
  EXPECT_EQ(*getTensorColumns(buffer({2, 64, 48}, bf16)), 24);
  EXPECT_EQ(*getTensorColumns(buffer({2, 128, 48}, f32)), 96);
  EXPECT_EQ(*getTensorTileColumns(buffer({2, 64, 48}, f32)), 48);
  EXPECT_TRUE(hasHalfTiles(buffer({2, 64, 48}, f32)));
  EXPECT_FALSE(hasHalfTiles(buffer({2, 128, 64}, f32)));
}
