//===- BlockAttentionTest.cpp - Tests of block attention --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockAttention.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

using namespace jfa::runtime;

namespace {
using Description = jfaBlockAttentionForwardDescription;

const int32_t kOffsets[] = {5, 5, 69, 70, 70, 200, 200};

Description makeDescription() {
  Description description{};
  description.struct_size = sizeof(description);
  description.element_type = JFA_ELEMENT_TYPE_BF16;
  description.head_dim = 128;
  description.num_query_heads = description.num_kv_heads = 4;
  description.batch_size = 6;
  description.offsets = kOffsets;
  return description;
}

Status check(const Description &description) {
  AttentionProblem problem;
  BlockList blocks;
  Rotation rotation;
  return checkBlockAttention(description, problem, blocks, rotation);
}

/// One field that is wrong, and what the refusal says.
struct Refusal {
  std::function<void(Description &)> change;
  const char *argument;
  const char *message;
};
} // namespace

TEST(BlockList, ListsSequencesWithRows) {
  BlockList list;
  ASSERT_FALSE(makeBlockList(kOffsets, 6, 4, list).failed());
  EXPECT_EQ(list.numSequences, 3);
  EXPECT_EQ(list.numBlocks, 5);
  EXPECT_EQ(list.starts, (std::vector<int32_t>{0, 5, 1, 69, 2, 70, 5, 200}));
}

TEST(BlockList, EndsWithTheEnd) {
  BlockList list;
  const int32_t none[] = {7};
  ASSERT_FALSE(makeBlockList(none, 0, 1, list).failed());
  EXPECT_EQ(list.numSequences, 0);
  EXPECT_EQ(list.starts, (std::vector<int32_t>{0, 7}));
  const int32_t empty[] = {3, 3, 3};
  ASSERT_FALSE(makeBlockList(empty, 2, 1, list).failed());
  EXPECT_EQ(list.numBlocks, 0);
  EXPECT_EQ(list.starts, (std::vector<int32_t>{0, 3}));
}

TEST(BlockList, CutsAtMultiplesOf64) {
  for (int32_t length : {1, 63, 64, 65, 127, 128, 129, 1000000}) {
    const int32_t offsets[] = {0, length};
    BlockList list;
    ASSERT_FALSE(makeBlockList(offsets, 1, 1, list).failed());
    EXPECT_EQ(list.numBlocks, (length - 1) / 64 + 1) << length;
  }
}

TEST(BlockAttention, FillsInDefaults) {
  AttentionProblem problem;
  BlockList blocks;
  Rotation rotation;
  ASSERT_FALSE(checkBlockAttention(makeDescription(), problem, blocks, rotation)
                   .failed());
  EXPECT_EQ(rotation.rotary, JFA_ROTARY_NONE);
  EXPECT_EQ(rotation.sinCos.rowStride, 128);
  EXPECT_EQ(problem.q.rows, 200);
  EXPECT_EQ(problem.o.rowStride, 4 * 128);
  EXPECT_EQ(blocks.numBlocks, 5);
}

TEST(BlockAttention, RefusesByName) {
  static const int32_t falling[] = {0, 64, 60, 70, 80, 90, 100};
  static const int32_t negative[] = {-1, 64, 64, 70, 80, 90, 100};
  static const int32_t many[] = {0,       1 << 30, 1 << 30, 1 << 30,
                                 1 << 30, 1 << 30, 1 << 30};
  const Refusal refusals[] = {
      {[](Description &d) { d.struct_size = 8; }, "struct_size",
       "expected 'struct_size' to be 128, but got 8"},
      {[](Description &d) { d.offsets = nullptr; }, "offsets",
       "expected 'offsets' to be a pointer, but got null"},
      {[](Description &d) { d.offsets = falling; }, "offsets",
       "expected 'offsets' to be non-decreasing, but got offsets[1] = 64 and "
       "offsets[2] = 60"},
      {[](Description &d) { d.offsets = negative; }, "offsets",
       "expected 'offsets' to begin at 0 or later, but got offsets[0] = -1"},
      {[](Description &d) {
         d.offsets = many;
         d.num_query_heads = d.num_kv_heads = 128;
       },
       "offsets",
       "expected 'offsets' to make at most 8388608 blocks of 64 rows for 128 "
       "heads, but got 16777216"},
      {[](Description &d) { d.num_kv_heads = 2; }, "num_kv_heads",
       "expected 'num_kv_heads' to be 'num_query_heads' = 4 in block "
       "attention, but got 2"},
      {[](Description &d) { d.num_query_heads = 0; }, "num_query_heads",
       "expected 'num_query_heads' to be at least 1, but got 0"},
      {[](Description &d) { d.head_dim = 96; }, "head_dim",
       "expected 'head_dim' to be 64 or 128, but got 96"},
      {[](Description &d) { d.element_type = 7; }, "element_type",
       "expected 'element_type' to be bf16 (0) or f16 (1), but got 7"},
      {[](Description &d) { d.scale = -1; }, "scale",
       "expected 'scale' to be positive, or 0 for 1/sqrt(head_dim), but got "
       "-1"},
      {[](Description &d) { d.batch_size = -1; }, "batch_size",
       "expected 'batch_size' to be in 0 .. 2147483646, but got -1"},
      {[](Description &d) { d.v_row_stride = 129; }, "v_row_stride",
       "expected 'v_row_stride' to be a multiple of 8 elements, so that rows "
       "start at 16 bytes, but got 129"},
      {[](Description &d) { d.rotary = -1; }, "rotary",
       "expected 'rotary' to be none (0), q and k (1) or q, k and v (2), but "
       "got -1"},
      {[](Description &d) { d.sincos_row_stride = 120; }, "sincos_row_stride",
       "expected 'sincos_row_stride' to be 0 or a multiple of 8 in 128 .. "
       "549755813887 elements, but got 120"},
  };
  ASSERT_FALSE(check(makeDescription()).failed());
  for (const Refusal &refusal : refusals) {
    Description description = makeDescription();
    refusal.change(description);
    Status status = check(description);
    EXPECT_TRUE(status.failed()) << refusal.message;
    EXPECT_EQ(status.argument, refusal.argument);
    EXPECT_EQ(status.message, refusal.message);
  }
}

TEST(BlockAttention, ChecksBuffers) {
  AttentionProblem problem;
  BlockList blocks;
  Rotation rotation;
  ASSERT_FALSE(checkBlockAttention(makeDescription(), problem, blocks, rotation)
                   .failed());
  alignas(16) char memory[32];
  jfaBlockAttentionForwardBuffers good{sizeof(good), memory, memory,
                                       memory,       memory, nullptr};
  EXPECT_FALSE(checkBlockBuffers(problem, rotation, good).failed());
  jfaBlockAttentionForwardBuffers buffers = good;
  buffers.o = nullptr;
  EXPECT_EQ(checkBlockBuffers(problem, rotation, buffers).message,
            "expected 'o' to be a device pointer, but got null");
  buffers = good;
  buffers.k = memory + 8;
  EXPECT_EQ(checkBlockBuffers(problem, rotation, buffers).argument, "k");
  buffers.struct_size = 0;
  EXPECT_EQ(checkBlockBuffers(problem, rotation, buffers).argument,
            "struct_size");
  buffers = good;
  buffers.sincos = memory;
  EXPECT_EQ(checkBlockBuffers(problem, rotation, buffers).argument, "sincos");
  rotation.rotary = JFA_ROTARY_QK;
  EXPECT_FALSE(checkBlockBuffers(problem, rotation, buffers).failed());
  EXPECT_EQ(checkBlockBuffers(problem, rotation, good).message,
            "expected 'sincos' to be a device pointer, but got null");
  buffers.sincos = memory + 8;
  EXPECT_EQ(checkBlockBuffers(problem, rotation, buffers).argument, "sincos");
}

namespace {
using BackwardDescription = jfaBlockAttentionBackwardDescription;

BackwardDescription makeBackward() {
  BackwardDescription description{};
  description.struct_size = sizeof(description);
  description.forward = makeDescription();
  return description;
}

Status check(const BackwardDescription &description) {
  BlockGradients gradients;
  BlockList blocks;
  return checkBlockGradients(description, gradients, blocks);
}

struct BackwardRefusal {
  std::function<void(BackwardDescription &)> change;
  const char *argument;
  const char *message;
};
} // namespace

TEST(BlockAttention, FillsInGradients) {
  BackwardDescription description = makeBackward();
  description.dk_row_stride = 1024;
  description.forward.o_row_stride = 3; // means nothing
  description.rotary = JFA_ROTARY_QKV;
  description.forward.sincos_row_stride = 256;
  BlockGradients gradients;
  BlockList blocks;
  Status status = checkBlockGradients(description, gradients, blocks);
  ASSERT_FALSE(status.failed()) << status.message;
  EXPECT_EQ(gradients.tensors.dOut.rowStride, 4 * 128);
  EXPECT_EQ(gradients.tensors.dK.rowStride, 1024);
  EXPECT_EQ(gradients.rotation.sinCos.rowStride, 256);
  EXPECT_EQ(gradients.rotation.rotary, JFA_ROTARY_QKV);
  EXPECT_FALSE(gradients.rotatesInputs);
  EXPECT_EQ(blocks.numBlocks, 5);
  std::swap(description.rotary, description.forward.rotary);
  ASSERT_FALSE(checkBlockGradients(description, gradients, blocks).failed());
  EXPECT_EQ(gradients.rotation.rotary, JFA_ROTARY_QKV);
  EXPECT_TRUE(gradients.rotatesInputs);
}

TEST(BlockAttention, RefusesGradientsByName) {
  static const int32_t falling[] = {0, 64, 60, 70, 80, 90, 100};
  const BackwardRefusal refusals[] = {
      {[](BackwardDescription &d) { d.struct_size = 8; }, "struct_size",
       "expected 'struct_size' to be 208, but got 8"},
      {[](BackwardDescription &d) { d.forward.struct_size = 8; },
       "forward.struct_size",
       "expected 'forward.struct_size' to be 128, but got 8"},
      {[](BackwardDescription &d) { d.forward.offsets = nullptr; }, "offsets",
       "expected 'offsets' to be a pointer, but got null"},
      {[](BackwardDescription &d) { d.forward.offsets = falling; }, "offsets",
       "expected 'offsets' to be non-decreasing, but got offsets[1] = 64 and "
       "offsets[2] = 60"},
      {[](BackwardDescription &d) { d.forward.num_kv_heads = 1; },
       "num_kv_heads",
       "expected 'num_kv_heads' to be 'num_query_heads' = 4 in block "
       "attention, but got 1"},
      {[](BackwardDescription &d) { d.dout_head_stride = 12; },
       "dout_head_stride",
       "expected 'dout_head_stride' to be 0 or in 128 .. 549755813887 "
       "elements, but got 12"},
      {[](BackwardDescription &d) { d.rotary = 3; }, "rotary",
       "expected 'rotary' to be none (0), q and k (1) or q, k and v (2), but "
       "got 3"},
      {[](BackwardDescription &d) {
         d.rotary = d.forward.rotary = JFA_ROTARY_QK;
       },
       "rotary",
       "expected 'rotary' to be none (0) where the forward rotates, but got 1"},
      {[](BackwardDescription &d) { d.forward.rotary = 3; }, "rotary",
       "expected 'rotary' to be none (0), q and k (1) or q, k and v (2), but "
       "got 3"},
      {[](BackwardDescription &d) { d.forward.sincos_row_stride = 132; },
       "sincos_row_stride",
       "expected 'sincos_row_stride' to be 0 or a multiple of 8 in 128 .. "
       "549755813887 elements, but got 132"},
  };
  ASSERT_FALSE(check(makeBackward()).failed());
  for (const BackwardRefusal &refusal : refusals) {
    BackwardDescription description = makeBackward();
    refusal.change(description);
    Status status = check(description);
    EXPECT_TRUE(status.failed()) << refusal.message;
    EXPECT_EQ(status.argument, refusal.argument);
    EXPECT_EQ(status.message, refusal.message);
  }
}

TEST(BlockAttention, ChecksGradientBuffers) {
  BackwardDescription description = makeBackward();
  BlockGradients gradients;
  BlockList blocks;
  ASSERT_FALSE(checkBlockGradients(description, gradients, blocks).failed());
  alignas(16) char memory[32];
  jfaBlockAttentionBackwardBuffers good{};
  good.struct_size = sizeof(good);
  good.q = good.k = good.v = good.dout = memory;
  good.dq = good.dk = good.dv = memory;
  EXPECT_FALSE(checkBlockBuffers(gradients, good).failed());
  jfaBlockAttentionBackwardBuffers buffers = good;
  buffers.dv = nullptr;
  EXPECT_EQ(checkBlockBuffers(gradients, buffers).message,
            "expected 'dv' to be a device pointer, but got null");
  buffers = good;
  buffers.sincos = memory;
  EXPECT_EQ(checkBlockBuffers(gradients, buffers).argument, "sincos");
  gradients.rotation.rotary = JFA_ROTARY_QK;
  EXPECT_FALSE(checkBlockBuffers(gradients, buffers).failed());
  EXPECT_EQ(checkBlockBuffers(gradients, good).message,
            "expected 'sincos' to be a device pointer, but got null");
}
