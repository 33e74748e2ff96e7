//===- Tcgen05DescriptorTest.cpp - What tcgen05.mma is told -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptors field by field, for every shape and layout that a product can
// have (PTX ISA 9.7.16.4), and where their addresses lead (9.7.16.3).
//
//===----------------------------------------------------------------------===//

#include "Conversion/TLXToNVVM/Tcgen05Descriptor.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::jfa::tlx;

namespace {
class Tcgen05DescriptorTest : public ::testing::Test {
protected:
  Tcgen05DescriptorTest() { context.loadDialect<TLXDialect>(); }

  SharedOperand operand(int64_t rows, int64_t columns, bool kMajor) {
    MemDescType type = MemDescType::get(
        {ExprAttr::get(&context, rows), ExprAttr::get(&context, columns)},
        TypeAttr::get(BFloat16Type::get(&context)));
    return {*getSharedLayout(type), kMajor};
  }

  MLIRContext context;
};

uint64_t field(uint64_t bits, unsigned first, unsigned count) {
  return bits >> first & ((uint64_t(1) << count) - 1);
}

/// The byte that the hardware reads for element (r, k) of an operand, of 16-bit
/// elements, whose descriptor says `lbo`, `sbo` and a swizzle of `span` bytes
/// (PTX ISA 9.7.16.3); the swizzle itself is left out.
uint64_t hardwareOffset(bool kMajor, uint64_t lbo, uint64_t sbo, uint64_t span,
                        uint64_t r, uint64_t k) {
  if (kMajor) {
    return r % 8 * span + r / 8 * sbo + k * 2;
  }
  uint64_t perPanel = span / 2;
  return r % perPanel * 2 + r / perPanel * lbo + k % 8 * span + k / 8 * sbo;
}
} // namespace

TEST_F(Tcgen05DescriptorTest, SharedMemoryFields) {
  for (bool kMajor : {false, true}) {
    for (int64_t columns : {16, 32, 64, 128, 256}) {
      for (int64_t rows : {16, 64, 128, 256}) {
        SharedOperand it = operand(rows, columns, kMajor);
        auto bits = static_cast<uint64_t>(getTcgen05FixedBits(it));
        auto span = static_cast<uint64_t>(std::min<int64_t>(128, 2 * columns));
        EXPECT_EQ(field(bits, 0, 16), 0u);
        EXPECT_EQ(field(bits, 16, 14) << 4,
                  kMajor ? 16u : static_cast<uint64_t>(rows) * span);
        EXPECT_EQ(field(bits, 30, 2), 0u);
        EXPECT_EQ(field(bits, 32, 14) << 4, 8 * span);
        EXPECT_EQ(field(bits, 46, 3), 1u);
        EXPECT_EQ(field(bits, 49, 12), 0u);
        EXPECT_EQ(field(bits, 61, 3), span == 128 ? 2u : span == 64 ? 4u : 6u);
      }
    }
  }
}

TEST_F(Tcgen05DescriptorTest, SharedMemoryExample) {
  auto bits = static_cast<uint64_t>(
      getTcgen05FixedBits(operand(128, 64, /*kMajor=*/true)));
  EXPECT_EQ(bits | static_cast<uint64_t>(SharedOperand::encode(0x400)),
            0x4000404000010040u);
}

// Every element of every step along K lies where the tile's layout puts it.
TEST_F(Tcgen05DescriptorTest, SharedMemoryElements) {
  for (bool kMajor : {false, true}) {
    for (int64_t columns : {16, 32, 64, 128}) {
      constexpr int64_t kRows = 64;
      SharedOperand it = operand(kRows, columns, kMajor);
      auto bits = static_cast<uint64_t>(getTcgen05FixedBits(it));
      uint64_t lbo = field(bits, 16, 14) << 4, sbo = field(bits, 32, 14) << 4;
      auto span = static_cast<uint64_t>(it.layout.swizzleBytes);
      int64_t extent = kMajor ? kRows : columns;
      int64_t depth = kMajor ? columns : kRows;
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t r = 0; r < extent; ++r) {
          auto start = static_cast<uint64_t>(it.getOffset(0, k / 16 * 16));
          int64_t row = kMajor ? r : k, column = kMajor ? k : r;
          uint64_t linear =
              start + hardwareOffset(kMajor, lbo, sbo, span,
                                     static_cast<uint64_t>(r),
                                     static_cast<uint64_t>(k % 16));
          EXPECT_EQ(swizzle(it.layout, static_cast<int64_t>(linear)),
                    getByteOffset(it.layout, row, column))
              << "K-major " << kMajor << ", " << columns << " columns, r " << r
              << ", k " << k;
        }
      }
    }
  }
}

TEST_F(Tcgen05DescriptorTest, InstructionFields) {
  for (bool isBF16 : {false, true}) {
    for (bool aIsMNMajor : {false, true}) {
      for (bool bIsMNMajor : {false, true}) {
        for (int64_t m : {64, 128, 256}) {
          for (int64_t n = 8; n <= 256; n += 8) {
            uint64_t bits =
                Tcgen05Instruction{isBF16, m, n, aIsMNMajor, bIsMNMajor}
                    .encode();
            EXPECT_EQ(field(bits, 0, 4), 0u);
            EXPECT_EQ(field(bits, 4, 3), 1u);
            EXPECT_EQ(field(bits, 7, 3), isBF16 ? 1u : 0u);
            EXPECT_EQ(field(bits, 10, 3), isBF16 ? 1u : 0u);
            EXPECT_EQ(field(bits, 13, 2), 0u);
            EXPECT_EQ(field(bits, 15, 1), aIsMNMajor ? 1u : 0u);
            EXPECT_EQ(field(bits, 16, 1), bIsMNMajor ? 1u : 0u);
            EXPECT_EQ(field(bits, 17, 6) * 8, static_cast<uint64_t>(n));
            EXPECT_EQ(field(bits, 23, 1), 0u);
            EXPECT_EQ(field(bits, 24, 5) * 16, static_cast<uint64_t>(m));
            EXPECT_EQ(field(bits, 29, 3), 0u);
          }
        }
      }
    }
  }
}

TEST_F(Tcgen05DescriptorTest, InstructionExamples) {
  EXPECT_EQ((Tcgen05Instruction{true, 128, 128}.encode()), 0x08200490u);
  EXPECT_EQ((Tcgen05Instruction{true, 128, 128, false, true}.encode()),
            0x08210490u);
  EXPECT_EQ((Tcgen05Instruction{false, 128, 128}.encode()), 0x08200010u);
  EXPECT_EQ((Tcgen05Instruction{true, 256, 256}.encode()), 0x10400490u);
}

TEST_F(Tcgen05DescriptorTest, ScaledInstructionFields) {
  for (bool aIsE5M2 : {false, true}) {
    for (bool bIsE5M2 : {false, true}) {
      for (int64_t n = 8; n <= 256; n += 8) {
        for (int64_t scale = 0; scale < 4; ++scale) {
          uint64_t bits =
              Tcgen05ScaledInstruction{aIsE5M2, bIsE5M2, 128, n}.encode(scale);
          EXPECT_EQ(field(bits, 0, 4), 0u);
          EXPECT_EQ(field(bits, 4, 2), static_cast<uint64_t>(scale));
          EXPECT_EQ(field(bits, 6, 1), 0u);
          EXPECT_EQ(field(bits, 7, 3), aIsE5M2 ? 1u : 0u);
          EXPECT_EQ(field(bits, 10, 3), bIsE5M2 ? 1u : 0u);
          EXPECT_EQ(field(bits, 13, 4), 0u);
          EXPECT_EQ(field(bits, 17, 6) * 8, static_cast<uint64_t>(n));
          EXPECT_EQ(field(bits, 23, 1), 1u);
          EXPECT_EQ(field(bits, 24, 3), 0u);
          EXPECT_EQ(field(bits, 27, 2), 1u);
          EXPECT_EQ(field(bits, 29, 2), static_cast<uint64_t>(scale));
          EXPECT_EQ(field(bits, 31, 1), 0u);
        }
      }
    }
  }
  EXPECT_EQ((Tcgen05ScaledInstruction{false, false, 128, 128}.encode(0)),
            0x08a00000u);
}

TEST_F(Tcgen05DescriptorTest, PlainRowsFields) {
  auto bits = static_cast<uint64_t>(kTcgen05PlainRows);
  EXPECT_EQ(field(bits, 0, 16), 0u);
  EXPECT_EQ(field(bits, 16, 14) * 16, 16u);
  EXPECT_EQ(field(bits, 32, 14) * 16, 128u);
  EXPECT_EQ(field(bits, 46, 3), 1u);
  EXPECT_EQ(field(bits, 49, 15), 0u);
}
