//===- RegisterLayoutTest.cpp - Which thread holds what -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace mlir::jfa::tlx;

namespace {
class RegisterLayoutTest : public ::testing::Test {
protected:
  RegisterLayoutTest() { context.loadDialect<TLXDialect>(); }

  LayoutAttr layout(ArrayRef<LayoutMode> threads,
                    ArrayRef<LayoutMode> registers) {
    return LayoutAttr::get(&context, threads, registers);
  }

  /// The coordinate of the element that a thread holds in a register.
  static std::vector<int64_t> at(LayoutAttr layout, unsigned rank,
                                 int64_t thread, int64_t reg) {
    SmallVector<int64_t> sum = getThreadOffset(layout, rank, thread);
    for (auto [to, add] :
         llvm::zip_equal(sum, getRegisterOffset(layout, rank, reg))) {
      to += add;
    }
    return {sum.begin(), sum.end()};
  }

  bool covers(LayoutAttr layout, ArrayRef<int64_t> shape) {
    ScopedDiagnosticHandler handler(&context,
                                    [](Diagnostic &) { return success(); });
    return succeeded(verifyLayoutCovers(
        layout, shape, [&] { return emitError(UnknownLoc::get(&context)); }));
  }

  MLIRContext context;
  static constexpr int64_t kCopies = LayoutMode::kReplicated;
};
} // namespace

// PTX ISA 9.7.15.5.1, the accumulator D of wgmma.m64nNk16.
TEST_F(RegisterLayoutTest, AccumulatorIsThatOfTheInstruction) {
  for (int64_t groups : {1, 2, 3}) {
    for (int64_t n : {8, 64, 128, 256}) {
      LayoutAttr layout = getAccumulatorLayout(&context, {64 * groups, n},
                                               /*threads=*/128 * groups);
      ASSERT_EQ(layout.getNumThreads(), 128 * groups);
      ASSERT_EQ(layout.getNumRegisters(), n / 2);
      std::set<std::vector<int64_t>> seen;
      for (int64_t thread = 0; thread < 128 * groups; ++thread) {
        int64_t warp = thread / 32, lane = thread % 32;
        for (int64_t reg = 0; reg < n / 2; ++reg) {
          int64_t row = warp * 16 + lane / 4 + 8 * (reg / 2 % 2);
          int64_t column = reg / 4 * 8 + lane % 4 * 2 + reg % 2;
          EXPECT_EQ(at(layout, 2, thread, reg),
                    (std::vector<int64_t>{row, column}));
          seen.insert(at(layout, 2, thread, reg));
        }
      }
      EXPECT_EQ(static_cast<int64_t>(seen.size()), 64 * groups * n);
      EXPECT_TRUE(covers(layout, {64 * groups, n}));
    }
  }
}

TEST_F(RegisterLayoutTest, DefaultLayoutsCoverTheirTiles) {
  for (Type element :
       {Type(BFloat16Type::get(&context)), Type(Float32Type::get(&context)),
        Type(IntegerType::get(&context, 1))}) {
    const std::vector<std::vector<int64_t>> shapes = {
        {64}, {1}, {7}, {64, 4}, {64, 128}, {3, 5}, {1, 64}, {2, 8, 16}};
    for (const std::vector<int64_t> &shape : shapes) {
      for (int64_t threads : {32, 64, 128, 256}) {
        LayoutAttr layout =
            getDefaultLayout(RankedTensorType::get(shape, element), threads);
        EXPECT_EQ(layout.getNumThreads(), threads);
        EXPECT_TRUE(covers(layout, shape));
      }
    }
  }
}

TEST_F(RegisterLayoutTest, Dimensions) {
  LayoutAttr tile = layout({{4, 1, 2}, {8, 0, 1}}, {{2, 1, 1}, {2, 0, 8}});
  EXPECT_EQ(dropDim(tile, 1),
            layout({{4, kCopies, 0}, {8, 0, 1}}, {{2, 0, 8}}));
  EXPECT_EQ(dropDim(tile, 0),
            layout({{4, 0, 2}, {8, kCopies, 0}}, {{2, 0, 1}}));
  EXPECT_EQ(collapseDim(tile, 0),
            layout({{4, 1, 2}, {8, kCopies, 0}}, {{2, 1, 1}}));
  EXPECT_EQ(insertDim(tile, 0),
            layout({{4, 2, 2}, {8, 1, 1}}, {{2, 2, 1}, {2, 1, 8}}));
  EXPECT_EQ(insertDim(tile, 2), tile);
  EXPECT_EQ(dropDim(insertDim(tile, 1), 1), tile);
}

TEST_F(RegisterLayoutTest, PartialReductions) {
  LayoutAttr accumulator = getAccumulatorLayout(&context, {64, 64}, 128);
  // A quad holds a row: four groups in runs of two stay within threads.
  EXPECT_EQ(getPartialLayout(accumulator, 1, 4, 2),
            layout({{4, 1, 1}, {8, 0, 1}, {4, 0, 16}}, {{2, 0, 8}}));
  EXPECT_FALSE(getPartialLayout(accumulator, 1, 2, 4));
  EXPECT_FALSE(getPartialLayout(accumulator, 1, 4, 1));
  EXPECT_FALSE(getPartialLayout(accumulator, 0, 4, 2));
}

TEST_F(RegisterLayoutTest, Movement) {
  LayoutAttr line = layout({{32, 0, 2}}, {{2, 0, 1}});
  LayoutAttr jump = layout({{32, 0, 1}}, {{2, 0, 32}});
  EXPECT_EQ(getElementMovement(line, line, {64}),
            ElementMovement::WithinThreads);
  EXPECT_EQ(getElementMovement(line, jump, {64}), ElementMovement::WithinWarps);
  LayoutAttr two = layout({{64, 0, 2}}, {{2, 0, 1}});
  LayoutAttr far = layout({{64, 0, 1}}, {{2, 0, 64}});
  EXPECT_EQ(getElementMovement(two, far, {128}), ElementMovement::BetweenWarps);
  // Who holds everything has what anyone needs.
  LayoutAttr all = layout({{32, kCopies, 0}}, {{64, 0, 1}});
  EXPECT_EQ(getElementMovement(all, line, {64}),
            ElementMovement::WithinThreads);
}

TEST_F(RegisterLayoutTest, Coverage) {
  EXPECT_FALSE(covers(layout({{32, 0, 1}}, {}), {64}));
  EXPECT_FALSE(covers(layout({{32, 0, 2}}, {}), {64}));
  EXPECT_FALSE(covers(layout({{32, 0, 1}}, {{2, 0, 1}}), {64}));
  EXPECT_FALSE(covers(layout({{32, 1, 1}}, {}), {32}));
  EXPECT_TRUE(covers(layout({{4, kCopies, 0}, {8, 0, 1}}, {}), {8}));
}
