//===- AttentionProblemTest.cpp - Tests of checked descriptions -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace jfa::runtime;

namespace {
using Description = jfaAttentionForwardDescription;

const int32_t kQOffsets[] = {0, 64, 64, 300};
const int32_t kKOffsets[] = {5, 133, 133, 517};

Description makeJagged() {
  Description description{};
  description.struct_size = sizeof(description);
  description.element_type = JFA_ELEMENT_TYPE_BF16;
  description.mode = JFA_ATTENTION_MODE_JAGGED;
  description.head_dim = 128;
  description.num_query_heads = 8;
  description.num_kv_heads = 2;
  description.batch_size = 3;
  description.q_offsets = kQOffsets;
  description.k_offsets = kKOffsets;
  return description;
}

Description makeDense() {
  Description description = makeJagged();
  description.mode = JFA_ATTENTION_MODE_DENSE;
  description.q_offsets = description.k_offsets = nullptr;
  description.q_length = 100;
  description.k_length = 200;
  return description;
}

Status check(const Description &description) {
  AttentionProblem problem;
  return checkAttention(description, problem);
}

/// One field that is wrong, and what the refusal says.
struct Refusal {
  std::function<void(Description &)> change;
  const char *argument;
  const char *message;
};

void expectRefusals(const Description &good,
                    const std::vector<Refusal> &refusals) {
  ASSERT_FALSE(check(good).failed()) << check(good).message;
  for (const Refusal &refusal : refusals) {
    Description description = good;
    refusal.change(description);
    Status status = check(description);
    EXPECT_TRUE(status.failed()) << refusal.message;
    EXPECT_EQ(status.argument, refusal.argument);
    EXPECT_EQ(status.message, refusal.message);
  }
}
} // namespace

TEST(AttentionProblem, FillsInDefaults) {
  AttentionProblem problem;
  ASSERT_FALSE(checkAttention(makeJagged(), problem).failed());
  EXPECT_DOUBLE_EQ(problem.scale, 1 / std::sqrt(128.0));
  EXPECT_EQ(problem.q.rows, 300);
  EXPECT_EQ(problem.q.rowStride, 8 * 128);
  EXPECT_EQ(problem.q.headStride, 128);
  EXPECT_EQ(problem.k.rows, 517);
  EXPECT_EQ(problem.k.rowStride, 2 * 128);
  EXPECT_EQ(problem.o.rows, 300);
  EXPECT_EQ(problem.lseHeadStride, 300);

  Description description = makeJagged();
  description.mode = JFA_ATTENTION_MODE_BROADCAST_QUERY;
  description.q_offsets = nullptr;
  description.q_length = 50;
  ASSERT_FALSE(checkAttention(description, problem).failed());
  EXPECT_EQ(problem.q.rows, 50);
  EXPECT_EQ(problem.o.rows, 150);
}

TEST(AttentionProblem, RefusesKinds) {
  expectRefusals(
      makeJagged(),
      {{[](Description &d) { d.head_dim = 96; }, "head_dim",
        "expected 'head_dim' to be 64 or 128, but got 96"},
       {[](Description &d) { d.element_type = 7; }, "element_type",
        "expected 'element_type' to be bf16 (0) or f16 (1), but got 7"},
       {[](Description &d) { d.mode = 3; }, "mode",
        "expected 'mode' to be dense (0), jagged (1) or broadcast query (2), "
        "but got 3"},
       {[](Description &d) { d.num_query_heads = 0; }, "num_query_heads",
        "expected 'num_query_heads' to be at least 1, but got 0"},
       {[](Description &d) { d.num_kv_heads = 3; }, "num_kv_heads",
        "expected 'num_kv_heads' to divide 'num_query_heads' = 8, but got 3"},
       {[](Description &d) { d.scale = -1; }, "scale",
        "expected 'scale' to be positive, or 0 for 1/sqrt(head_dim), but got "
        "-1"},
       {[](Description &d) { d.struct_size = 8; }, "struct_size",
        "expected 'struct_size' to be 160, but got 8"}});
}

TEST(AttentionProblem, RefusesOffsets) {
  static const int32_t falling[] = {0, 10, 7, 20};
  static const int32_t negative[] = {-1, 10, 10, 20};
  static const int32_t tooLong[] = {0, 1, 2, 2000000000};
  expectRefusals(
      makeJagged(),
      {{[](Description &d) { d.q_offsets = falling; }, "q_offsets",
        "expected 'q_offsets' to be non-decreasing, but got q_offsets[1] = 10 "
        "and q_offsets[2] = 7"},
       {[](Description &d) { d.k_offsets = negative; }, "k_offsets",
        "expected 'k_offsets' to begin at 0 or later, but got k_offsets[0] = "
        "-1"},
       {[](Description &d) { d.k_offsets = tooLong; }, "k_offsets",
        "expected 'k_offsets' to make sequences of at most 1073741824 rows, "
        "but sequence 2 has 1999999998"},
       {[](Description &d) { d.q_offsets = nullptr; }, "q_offsets",
        "expected 'q_offsets' to be given in this mode, but got null"},
       {[](Description &d) { d.q_length = 5; }, "q_length",
        "expected 'q_length' to be 0 in this mode, but got 5"},
       {[](Description &d) { d.batch_size = -1; }, "batch_size",
        "expected 'batch_size' to be in 0 .. 2147483646, but got -1"}});
}

TEST(AttentionProblem, RefusesLengths) {
  expectRefusals(
      makeDense(),
      {{[](Description &d) { d.q_length = int64_t(1) << 31; }, "q_length",
        "expected 'q_length' to be in 0 .. 1073741824, but got 2147483648"},
       {[](Description &d) { d.k_length = 1 << 30; }, "k_length",
        "expected 'k_length' times 'batch_size' to be at most 2147483647 rows, "
        "but got 1073741824 * 3"},
       {[](Description &d) { d.k_offsets = kKOffsets; }, "k_offsets",
        "expected 'k_offsets' to be null in this mode, but got an array"}});
}

TEST(AttentionProblem, RefusesStrides) {
  expectRefusals(
      makeJagged(),
      {{[](Description &d) { d.k_row_stride = 260; }, "k_row_stride",
        "expected 'k_row_stride' to be a multiple of 8 elements, so that rows "
        "start at 16 bytes, but got 260"},
       {[](Description &d) { d.o_head_stride = 100; }, "o_head_stride",
        "expected 'o_head_stride' to be 0 or in 128 .. 549755813887 elements, "
        "but got 100"},
       {[](Description &d) { d.work_order = 5; }, "work_order",
        "expected 'work_order' to be in 0 .. 4, but got 5"},
       {[](Description &d) { d.lse_head_stride = 299; }, "lse_head_stride",
        "expected 'lse_head_stride' to be 0 or at least the 300 rows of o, but "
        "got 299"}});
}

TEST(AttentionProblem, TakesMoreThanTwoToThe31Elements) {
  Description description = makeDense();
  description.batch_size = 1;
  description.q_length = 1 << 30;
  EXPECT_FALSE(check(description).failed());
}

TEST(AttentionProblem, TakesEmptyBatches) {
  static const int32_t none[] = {0};
  static const int32_t empty[] = {0, 0, 0, 0};
  Description description = makeJagged();
  description.q_offsets = description.k_offsets = empty;
  EXPECT_FALSE(check(description).failed());
  description.batch_size = 0;
  description.q_offsets = description.k_offsets = none;
  EXPECT_FALSE(check(description).failed());
}

TEST(AttentionProblem, ChecksBuffers) {
  AttentionProblem problem;
  ASSERT_FALSE(checkAttention(makeJagged(), problem).failed());
  auto at = [](uintptr_t address) { return reinterpret_cast<void *>(address); };
  jfaAttentionForwardBuffers good{};
  good.struct_size = sizeof(good);
  good.q = good.k = good.v = good.o = at(0x10000);
  good.lse = static_cast<float *>(at(0x20004));
  good.q_offsets = good.k_offsets = static_cast<int32_t *>(at(0x30004));
  EXPECT_FALSE(checkBuffers(problem, good).failed());

  jfaAttentionForwardBuffers buffers = good;
  buffers.v = at(0x10008);
  Status status = checkBuffers(problem, buffers);
  EXPECT_EQ(status.argument, "v");
  EXPECT_EQ(status.message,
            "expected 'v' to be aligned to 16 bytes, but got 0x10008");

  buffers = good;
  buffers.o = nullptr;
  EXPECT_EQ(checkBuffers(problem, buffers).message,
            "expected 'o' to be a device pointer, but got null");

  buffers = good;
  buffers.lse = static_cast<float *>(at(0x20002));
  EXPECT_EQ(checkBuffers(problem, buffers).argument, "lse");

  // Without a row to write nothing needs an address.
  problem.o.rows = problem.q.rows = 0;
  buffers = {};
  buffers.struct_size = sizeof(buffers);
  EXPECT_FALSE(checkBuffers(problem, buffers).failed());
}
