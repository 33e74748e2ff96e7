//===- WgmmaDescriptorTest.cpp - Matrix operands in shared memory -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptors bit for bit (PTX ISA 9.7.15.5.1.2.2), and the steps along K.
//
//===----------------------------------------------------------------------===//

#include "Conversion/TLXToNVVM/WgmmaDescriptor.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::jfa::tlx;

namespace {
class WgmmaDescriptorTest : public ::testing::Test {
protected:
  WgmmaDescriptorTest() { context.loadDialect<TLXDialect>(); }

  SharedOperand operand(int64_t rows, int64_t columns, bool kMajor) {
    MemDescType type = MemDescType::get(
        {ExprAttr::get(&context, rows), ExprAttr::get(&context, columns)},
        TypeAttr::get(BFloat16Type::get(&context)));
    return {*getSharedLayout(type), kMajor};
  }

  /// The whole descriptor of an operand at `address`.
  static uint64_t descriptor(const SharedOperand &operand, int64_t address) {
    return static_cast<uint64_t>(operand.getFixedBits()) |
           static_cast<uint64_t>(SharedOperand::encode(address));
  }

  MLIRContext context;
};
} // namespace

TEST_F(WgmmaDescriptorTest, KMajor) {
  SharedOperand wide = operand(128, 64, /*kMajor=*/true);
  EXPECT_EQ(descriptor(wide, 0x400), 0x4000004000010040u);
  // 64-byte and 32-byte rows have swizzles of their own.
  EXPECT_EQ(descriptor(operand(128, 32, true), 0), 0x8000002000010000u);
  EXPECT_EQ(descriptor(operand(128, 16, true), 0), 0xC000001000010000u);
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(wide.getOffset(0, 16 * step), 32 * step);
  }
  // The next panel is all rows further on, the next rows of M in the panel.
  EXPECT_EQ(operand(128, 128, true).getOffset(0, 64), 128 * 128);
  EXPECT_EQ(wide.getOffset(64, 0), 64 * 128);
}

TEST_F(WgmmaDescriptorTest, MNMajor) {
  // Two panels of 64 columns: 64 rows of 128 bytes apart.
  SharedOperand operand = this->operand(64, 128, /*kMajor=*/false);
  EXPECT_EQ(descriptor(operand, 0), 0x4000004002000000u);
  EXPECT_EQ((operand.getFixedBits() >> 16 & 0x3FFF) << 4, 8192);
  EXPECT_EQ((operand.getFixedBits() >> 32 & 0x3FFF) << 4, 1024);
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(operand.getOffset(0, 16 * step), 2048 * step);
  }
  EXPECT_EQ(operand.getOffset(64, 0), 8192);
}

TEST_F(WgmmaDescriptorTest, AddressesAreCutToTheirWindow) {
  EXPECT_EQ(SharedOperand::encode(0x3FFF0), 0x3FFF);
  EXPECT_EQ(SharedOperand::encode(0x40010), 1);
  // No step leaves the bits of the address.
  SharedOperand operand = this->operand(64, 64, /*kMajor=*/true);
  EXPECT_EQ(operand.getFixedBits() & 0xFFFF, 0);
}
