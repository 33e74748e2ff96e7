//===- InterfaceTest.cpp - Tests of the C interface without a GPU *- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleTesting.h"

#include "jfa-c/Runtime.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

using namespace jfa::testing;

TEST(Interface, Version) {
  EXPECT_STREQ(jfaRuntimeGetVersion(), JFA_TEST_VERSION);
  EXPECT_STREQ(jfaStatusGetName(JFA_STATUS_NO_DRIVER), "no driver");
}

TEST(Interface, RefusesNull) {
  jfaError error;
  EXPECT_EQ(jfaGetDeviceCount(nullptr, &error), JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error.argument, "count");
  EXPECT_EQ(jfaLoadKernels(nullptr, &error), JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaAttentionForwardPlanCreate(nullptr, 0, nullptr, &error),
            JFA_STATUS_INVALID_ARGUMENT);
  jfaAttentionForwardPlan *plan = nullptr;
  EXPECT_EQ(jfaAttentionForwardPlanCreate(nullptr, 0, &plan, &error),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message,
               "expected 'description' to be a pointer, but got null");
  EXPECT_EQ(jfaAttentionForwardExecute(nullptr, nullptr, nullptr, 0, nullptr,
                                       nullptr),
            JFA_STATUS_INVALID_ARGUMENT);
}

TEST(Interface, BackwardRefusesNull) {
  jfaError error;
  jfaAttentionBackwardPlan *plan = nullptr;
  EXPECT_EQ(jfaAttentionBackwardPlanCreate(nullptr, 0, &plan, &error),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error.argument, "description");
  jfaAttentionBackwardDescription description{};
  description.struct_size = sizeof(description);
  description.forward.struct_size = sizeof(description.forward);
  description.forward.head_dim = 80;
  EXPECT_EQ(jfaAttentionBackwardPlanCreate(&description, 0, nullptr, &error),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaAttentionBackwardPlanCreate(&description, 0, &plan, &error),
            JFA_STATUS_UNSUPPORTED);
  EXPECT_STREQ(error.argument, "head_dim");
  size_t bytes = 0;
  EXPECT_EQ(jfaAttentionBackwardPlanGetWorkspaceSize(nullptr, &bytes, &error),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error.argument, "plan");
  int32_t count = 0;
  EXPECT_EQ(jfaAttentionBackwardPlanGetLaunchCount(nullptr, &count, nullptr),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaAttentionBackwardPlanGetFacts(nullptr, 0, nullptr, nullptr),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaAttentionBackwardPlanInitializeWorkspace(nullptr, nullptr, 0,
                                                        nullptr, nullptr),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaAttentionBackwardExecute(nullptr, nullptr, nullptr, 0, nullptr,
                                        nullptr),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaAttentionBackwardPlanDestroy(nullptr, &error),
            JFA_STATUS_SUCCESS);
}

TEST(Interface, ChecksTheDescriptionBeforeTheDriver) {
  jfaAttentionForwardDescription description{};
  description.struct_size = sizeof(description);
  description.head_dim = 80;
  jfaAttentionForwardPlan *plan = nullptr;
  jfaError error;
  EXPECT_EQ(jfaAttentionForwardPlanCreate(&description, 0, &plan, &error),
            JFA_STATUS_UNSUPPORTED);
  EXPECT_STREQ(error.argument, "head_dim");
  description.head_dim = 128;
  description.num_query_heads = description.num_kv_heads = 1;
  // Well-formed; whether it can run depends on the machine.
  jfaStatus status =
      jfaAttentionForwardPlanCreate(&description, 1000000, &plan, &error);
  EXPECT_TRUE(status == JFA_STATUS_NO_DRIVER || status == JFA_STATUS_NO_DEVICE)
      << error.message;
  EXPECT_EQ(plan, nullptr);
}

TEST(Interface, LoadsBundles) {
  std::string path = ::testing::TempDir() + "jfa-interface-test.bundle";
  auto write = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  jfaError error;
  int64_t before = 0;
  ASSERT_EQ(jfaKernelGetCount(&before, &error), JFA_STATUS_SUCCESS);

  write("not a bundle");
  EXPECT_EQ(jfaLoadKernels(path.c_str(), &error), JFA_STATUS_INVALID_BUNDLE);
  EXPECT_EQ(std::string(error.message),
            path + ": expected a file that begins with JFABUNDL");

  write(makeBundle(kHeader));
  ASSERT_EQ(jfaLoadKernels(path.c_str(), &error), JFA_STATUS_SUCCESS)
      << error.message;
  int64_t after = 0;
  ASSERT_EQ(jfaKernelGetCount(&after, &error), JFA_STATUS_SUCCESS);
  EXPECT_EQ(after, before + 1);
  jfaKernelFacts facts{};
  facts.struct_size = sizeof(facts);
  ASSERT_EQ(jfaKernelGetFacts(before, &facts, &error), JFA_STATUS_SUCCESS);
  EXPECT_STREQ(facts.entry, "attention_fwd");
  EXPECT_EQ(std::string(facts.source), path);
  EXPECT_EQ(facts.block_m, 128);
  EXPECT_EQ(facts.registers, 168);
  EXPECT_EQ(jfaKernelGetFacts(after, &facts, &error),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaKernelGetFacts(-1, &facts, &error), JFA_STATUS_INVALID_ARGUMENT);

  std::remove(path.c_str());
  EXPECT_EQ(jfaLoadKernels(path.c_str(), &error), JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(jfaLoadKernels(::testing::TempDir().c_str(), &error),
            JFA_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(error.argument, "path");
}
