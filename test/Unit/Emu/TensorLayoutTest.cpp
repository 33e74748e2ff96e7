//===- TensorLayoutTest.cpp - Where tensor memory holds what -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emu/TensorLayout.h"
#include "Emu/MatrixDescriptor.h"
#include "Emu/Tcgen05Product.h"

#include "gtest/gtest.h"

#include <set>

using namespace mlir::jfa::emu;

using Cells = std::set<std::pair<uint32_t, uint32_t>>;

static Cells expand(llvm::ArrayRef<TensorCells> rectangles) {
  Cells cells;
  for (const TensorCells &rectangle : rectangles) {
    for (uint32_t l = 0; l < rectangle.lanes; ++l) {
      for (uint32_t c = 0; c < rectangle.columns; ++c) {
        cells.emplace(rectangle.lane + l, rectangle.column + c);
      }
    }
  }
  return cells;
}

/// Every register of a transfer has cells of its own, which are all that it
/// says it touches.
TEST(TensorLayoutTest, TransfersCoverTheirCells) {
  for (uint32_t shape = 0; shape < 5; ++shape) {
    for (uint32_t count = 1; count <= 32; count *= 2) {
      for (bool isPacked : {false, true}) {
        TensorTransfer transfer;
        transfer.shape = TensorShape(shape);
        transfer.count = count;
        transfer.isPacked = isPacked;
        transfer.split = count * (isPacked ? 2 : 1);
        Cells cells;
        size_t visited = 0;
        for (unsigned lane = 0; lane < 32; ++lane) {
          for (unsigned reg = 0; reg < transfer.getRegisters(); ++reg) {
            for (unsigned half = 0; half <= unsigned(isPacked); ++half) {
              TensorCell cell = transfer.getCell(lane, reg, half);
              cells.emplace(cell.lane, cell.column);
              ++visited;
            }
          }
        }
        EXPECT_EQ(cells.size(), visited);
        EXPECT_EQ(cells, expand(transfer.getCells()));
      }
    }
  }
}

/// A thread of 16x256b has what it has of the fragment of an accumulator of
/// wgmma (PTX ISA 9.7.15.5.1.1).
TEST(TensorLayoutTest, WidestShapeIsAFragment) {
  TensorTransfer transfer;
  transfer.shape = TensorShape::S16x256b;
  transfer.count = 4;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned reg = 0; reg < 16; ++reg) {
      TensorCell cell = transfer.getCell(lane, reg);
      EXPECT_EQ(cell.lane, lane / 4 + 8 * (reg / 2 % 2));
      EXPECT_EQ(cell.column, 2 * (lane % 4) + reg % 2 + 8 * (reg / 4));
    }
  }
}

TEST(TensorLayoutTest, AccumulatorsCoverTheirCells) {
  const struct {
    uint32_t m;
    bool isPair, isStationary;
    AccumulatorLayout layout;
  } kCases[] = {{64, false, false, AccumulatorLayout::Quarters},
                {128, false, false, AccumulatorLayout::Full},
                {128, true, false, AccumulatorLayout::Halves},
                {256, true, false, AccumulatorLayout::Full},
                {32, false, true, AccumulatorLayout::Fourths},
                {64, false, true, AccumulatorLayout::Halves},
                {128, false, true, AccumulatorLayout::Full}};
  for (const auto &[m, isPair, isStationary, layout] : kCases) {
    EXPECT_EQ(getAccumulatorLayout(m, isPair, isStationary), layout);
    for (uint32_t n = 16; n <= 256; n += 16) {
      Cells cells;
      uint32_t rows = m / (isPair ? 2 : 1);
      for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t column = 0; column < n; ++column) {
          TensorCell cell = getAccumulatorCell(layout, row, column, n);
          cells.emplace(cell.lane, cell.column);
        }
      }
      EXPECT_EQ(cells.size(), size_t(rows) * n);
      EXPECT_EQ(cells, expand(getAccumulatorCells(layout, n)));
    }
  }
}

TEST(TensorLayoutTest, CopiesRepeatTheirRows) {
  const struct {
    TensorCopyShape shape;
    uint32_t rows, repeats, columns;
  } kCases[] = {{TensorCopyShape::S128x256b, 128, 1, 8},
                {TensorCopyShape::S128x128b, 128, 1, 4},
                {TensorCopyShape::S64x128b02, 64, 2, 4},
                {TensorCopyShape::S64x128b01, 64, 2, 4},
                {TensorCopyShape::S32x128b, 32, 4, 4},
                {TensorCopyShape::S4x256b, 4, 1, 8}};
  for (const auto &[shape, rows, repeats, columns] : kCases) {
    EXPECT_EQ(getCopyColumns(shape), columns);
    std::map<uint32_t, uint32_t> lanes;
    for (uint32_t lane = 0; lane < kTensorLanes; ++lane) {
      if (auto row = getCopyRow(shape, lane)) {
        ++lanes[*row];
      }
    }
    EXPECT_EQ(lanes.size(), rows);
    for (auto [row, count] : lanes) {
      EXPECT_LT(row, rows);
      EXPECT_EQ(count, repeats);
    }
  }
  // Warps 0 and 2 have the same rows, or warps 0 and 1.
  EXPECT_EQ(getCopyRow(TensorCopyShape::S64x128b02, 65), 1u);
  EXPECT_EQ(getCopyRow(TensorCopyShape::S64x128b01, 33), 1u);
}

static TensorForm form(TensorKind kind, bool isPair = false,
                       unsigned scales = 0) {
  return {kind, isPair, /*isStationary=*/false, scales};
}

/// Examples of CUTLASS and of PTX ISA 9.7.16.4.2.
TEST(TensorLayoutTest, DecodesInstructionDescriptors) {
  InstructionDescriptor shape;
  EXPECT_EQ(decodeInstruction(0x08200490, form(TensorKind::F16), shape), "");
  EXPECT_EQ(shape.m, 128u);
  EXPECT_EQ(shape.n, 128u);
  EXPECT_EQ(shape.a, &kBF16);
  EXPECT_FALSE(shape.isF16);
  EXPECT_FALSE(shape.isMNB);
  EXPECT_EQ(shape.getK(), 16u);
  EXPECT_EQ(decodeInstruction(0x08210490, form(TensorKind::F16), shape), "");
  EXPECT_TRUE(shape.isMNB);
  EXPECT_EQ(decodeInstruction(0x04100000, form(TensorKind::F16), shape), "");
  EXPECT_EQ(shape.m, 64u);
  EXPECT_TRUE(shape.isF16);
  EXPECT_EQ(decodeInstruction(0x10400490, form(TensorKind::F16, true), shape),
            "");
  EXPECT_EQ(shape.m, 256u);
  EXPECT_EQ(shape.n, 256u);
  EXPECT_EQ(decodeInstruction(0x08200910, form(TensorKind::TF32), shape), "");
  EXPECT_EQ(shape.getK(), 8u);
  EXPECT_EQ(decodeInstruction(0x08200010, form(TensorKind::F8F6F4), shape), "");
  EXPECT_EQ(shape.getK(), 32u);
  EXPECT_EQ(decodeInstruction(0x08a00000, form(TensorKind::MXF8F6F4, false, 1),
                              shape),
            "");
  EXPECT_EQ(shape.m, 128u);
}

/// Of every word that differs from a good one in one bit, the reserved ones are
/// refused.
TEST(TensorLayoutTest, RefusesReservedBits) {
  for (unsigned bit : {0, 1, 2, 3, 6, 23, 29, 30, 31}) {
    InstructionDescriptor shape;
    EXPECT_NE(decodeInstruction(0x08200490 ^ (1u << bit), form(TensorKind::F16),
                                shape),
              "");
  }
  MatrixDescriptor descriptor;
  uint64_t good = 0x4000404000010040;
  EXPECT_EQ(MatrixDescriptor::makeBlackwell(good, descriptor), "");
  EXPECT_EQ(descriptor.start, 0x400u);
  EXPECT_EQ(descriptor.stride, 1024u);
  EXPECT_EQ(descriptor.swizzle, 3u);
  for (unsigned bit : {14, 15, 30, 31, 46, 47, 48, 52, 53, 60, 63}) {
    bool isLayout = bit == 63; // 2 becomes 6, which is another swizzle.
    EXPECT_EQ(MatrixDescriptor::makeBlackwell(good ^ (uint64_t(1) << bit),
                                              descriptor) == "",
              isLayout);
  }
}
