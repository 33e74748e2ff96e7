//===- ReferenceAttentionTest.cpp - Tests of the CPU reference --*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceAttention.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace jfa::runtime;

TEST(ReferenceAttention, TwoKeys) {
  // Scores 0 and log(3): weights 1/4 and 3/4.
  float q[] = {1}, k[] = {0, std::log(3.0f)}, v[] = {4, 8}, o[1], lse[1];
  computeReference({1, 2, 1, false, 1.0}, q, k, v, o, lse);
  EXPECT_NEAR(o[0], 7.0f, 1e-6f);
  EXPECT_NEAR(lse[0], std::log(4.0f), 1e-6f);
}

TEST(ReferenceAttention, CausalIsAlignedBottomRight) {
  // Three queries, two keys: they see 0, 1 and 2 of them.
  float q[] = {1, 1, 1}, k[] = {0, 0}, v[] = {2, 4}, o[3], lse[3];
  computeReference({3, 2, 1, true, 1.0}, q, k, v, o, lse);
  EXPECT_EQ(o[0], 0.0f);
  EXPECT_EQ(lse[0], -INFINITY);
  EXPECT_EQ(o[1], 2.0f);
  EXPECT_EQ(lse[1], 0.0f);
  EXPECT_EQ(o[2], 3.0f);
}

TEST(ReferenceAttention, NoKeys) {
  float q[] = {1}, o[1] = {NAN}, lse[1] = {NAN};
  computeReference({1, 0, 1, false, 1.0}, q, nullptr, nullptr, o, lse);
  EXPECT_EQ(o[0], 0.0f);
  EXPECT_EQ(lse[0], -INFINITY);
}

TEST(ReferenceAttention, BFloat16RoundsToEven) {
  EXPECT_EQ(toBFloat16(1.0f), 0x3f80);
  EXPECT_EQ(toBFloat16(1.00390625f), 0x3f80);
  EXPECT_EQ(toBFloat16(1.01171875f), 0x3f82);
  EXPECT_EQ(fromBFloat16(0xc000), -2.0f);
  EXPECT_TRUE(std::isnan(fromBFloat16(toBFloat16(NAN))));
}
