//===- AttentionForwardTest.cpp - Tests of forward plans --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans on a GPU of two multiprocessors, with kernels that take their own items
// only, or those of CTAs that have not been launched too.
//
//===----------------------------------------------------------------------===//

#include "AttentionForward.h"
#include "AttentionProblem.h"
#include "BundleTesting.h"
#include "DriverTesting.h"
#include "Kernels.h"

#include <gtest/gtest.h>

using namespace jfa::runtime;
using namespace jfa::testing;

namespace {
const Driver fakeDriver = makeLoadingDriver();
/// The ordinal keeps its functions apart from those of a true GPU.
const Gpu fakeGpu = {1003, nullptr, 2, 9, 0, 1};

/// Kernels for causal attention take over others' items.
void addKernels() {
  static bool added = false;
  if (added) {
    return;
  }
  added = true;
  std::string asking = kHeader;
  std::string from = "\"CAUSAL\":false";
  asking.replace(asking.find(from), from.size(),
                 "\"CAUSAL\":true,\"DYNAMIC\":true");
  // The bytes of a bundle that is added have to stay.
  static const std::string bundles[] = {makeBundle(kHeader),
                                        makeBundle(asking)};
  for (const std::string &bytes : bundles) {
    Status status;
    status = KernelRegistry::get(status).add(
        reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), "test",
        nullptr);
    ASSERT_FALSE(status.failed()) << status.message;
  }
}

void makePlan(bool causal, AttentionForwardPlan &plan) {
  addKernels();
  const int32_t offsets[] = {0, 8 * 128};
  jfaAttentionForwardDescription description{};
  description.struct_size = sizeof(description);
  description.mode = JFA_ATTENTION_MODE_JAGGED;
  description.head_dim = 128;
  description.num_query_heads = 2;
  description.num_kv_heads = 2;
  description.batch_size = 1;
  description.q_offsets = offsets;
  description.k_offsets = offsets;
  description.causal = causal;
  Status status = checkAttention(description, plan.problem);
  ASSERT_FALSE(status.failed()) << status.message;
  status = AttentionForwardPlan::create(fakeDriver, fakeGpu, plan);
  ASSERT_FALSE(status.failed()) << status.message;
}
} // namespace

TEST(AttentionForward, TilesAreSharedAmongMultiprocessors) {
  AttentionForwardPlan plan;
  makePlan(/*causal=*/false, plan);
  EXPECT_EQ(plan.getNumItems(), 16u);
  EXPECT_EQ(plan.getGrid(), 2);
}

// The last quarter of each one's eight tiles are CTAs of their own.
TEST(AttentionForward, TailsAreLaunchedForWhoeverIsDone) {
  AttentionForwardPlan plan;
  makePlan(/*causal=*/true, plan);
  EXPECT_EQ(plan.getNumItems(), 16u);
  EXPECT_GT(plan.getGrid(), 4);
  EXPECT_LE(plan.getGrid(), 2 + 16 / 4);
}
