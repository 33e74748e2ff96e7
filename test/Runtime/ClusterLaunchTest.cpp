//===- ClusterLaunchTest.cpp - Tests of launches in clusters ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels with and without clusters on a driver that writes down what it is
// asked.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"
#include "BundleTesting.h"
#include "CountAllocations.h"
#include "DriverTesting.h"

#include <gtest/gtest.h>

using namespace jfa::runtime;
using namespace jfa::testing;

namespace {
LaunchConfig launched;
LaunchAttribute attribute;
int activeClusters = 0;

Driver makeFakeDriver() {
  Driver driver = makeLoadingDriver();
  driver.maxActiveClusters = [](int *count, Driver::Function,
                                const LaunchConfig *) {
    *count = activeClusters;
    return 0;
  };
  driver.launchKernel = [](const LaunchConfig *config, Driver::Function,
                           void **, void **) {
    launched = *config;
    attribute = *config->attributes;
    return 0;
  };
  return driver;
}

const Driver fakeDriver = makeFakeDriver();
/// The ordinal keeps its functions apart from those of a true GPU.
const Gpu fakeGpu = {1001, nullptr, 132, 9, 0, 1};

/// Loads a kernel whose manifest has these clusters.
Status loadKernel(const std::string &entry, const std::string &cluster,
                  const Gpu &gpu, AttentionKernel &kernel) {
  std::string header = kHeader;
  auto replace = [&](const std::string &from, const std::string &to) {
    header.replace(header.find(from), from.size(), to);
  };
  replace("attention_fwd", entry);
  replace("\"cluster\":[1,1,1]", "\"cluster\":" + cluster);
  // The bytes of a bundle that is added have to stay.
  static std::vector<std::string> bundles;
  bundles.reserve(16);
  const std::string &bundle = bundles.emplace_back(makeBundle(header));
  Status status;
  status = KernelRegistry::get(status).add(
      reinterpret_cast<const uint8_t *>(bundle.data()), bundle.size(), "test",
      nullptr);
  return status.failed() ? status : kernel.load(fakeDriver, gpu, entry, {});
}
} // namespace

TEST(ClusterLaunch, GridsAreOfWholeClusters) {
  AttentionKernel kernel;
  Status status = loadKernel("pairs", "[2,1,1]", fakeGpu, kernel);
  ASSERT_FALSE(status.failed()) << status.message;
  EXPECT_EQ(kernel.getClusterSize(), 2);
  AttentionKernel::Prepared prepared;
  size_t before = countAllocations();
  bool failed = kernel.launch(fakeDriver, 33, prepared, nullptr).failed();
  EXPECT_EQ(countAllocations(), before);
  ASSERT_FALSE(failed);
  EXPECT_EQ(launched.grid[0], 66u);
  EXPECT_EQ(launched.grid[1], 1u);
  EXPECT_EQ(launched.block[0], 384u);
  EXPECT_EQ(launched.sharedBytes, 1024u);
  ASSERT_EQ(launched.numAttributes, 1u);
  EXPECT_EQ(attribute.id, 4);
  EXPECT_EQ(attribute.value[0], 2u);
  EXPECT_EQ(attribute.value[1], 1u);
  EXPECT_EQ(attribute.value[2], 1u);
}

TEST(ClusterLaunch, WithoutClustersNothingIsSaidOfThem) {
  AttentionKernel kernel;
  Status status = loadKernel("alone", "[1,1,1]", fakeGpu, kernel);
  ASSERT_FALSE(status.failed()) << status.message;
  AttentionKernel::Prepared prepared;
  ASSERT_FALSE(kernel.launch(fakeDriver, 33, prepared, nullptr).failed());
  EXPECT_EQ(launched.grid[0], 33u);
  EXPECT_EQ(launched.numAttributes, 0u);
  int64_t workers = 0;
  ASSERT_FALSE(kernel.countWorkers(fakeDriver, fakeGpu, workers).failed());
  EXPECT_EQ(workers, 132);
}

TEST(ClusterLaunch, AsManyClustersAsRunAtOnce) {
  AttentionKernel kernel;
  Status status = loadKernel("counted", "[2,1,1]", fakeGpu, kernel);
  ASSERT_FALSE(status.failed()) << status.message;
  int64_t workers = 0;
  activeClusters = 66;
  ASSERT_FALSE(kernel.countWorkers(fakeDriver, fakeGpu, workers).failed());
  EXPECT_EQ(workers, 66);
  activeClusters = 60;
  ASSERT_FALSE(kernel.countWorkers(fakeDriver, fakeGpu, workers).failed());
  EXPECT_EQ(workers, 60);
  activeClusters = 0;
  status = kernel.countWorkers(fakeDriver, fakeGpu, workers);
  EXPECT_EQ(status.code, JFA_STATUS_UNSUPPORTED);
  EXPECT_EQ(status.message, "expected GPU 1001 to have room for a cluster of 2 "
                            "CTAs of counted");
}

TEST(ClusterLaunch, RefusesWhatCannotBeLaunched) {
  AttentionKernel kernel;
  Gpu old = fakeGpu;
  old.ordinal = 1002;
  old.hasClusters = 0;
  Status status = loadKernel("refused", "[4,1,1]", old, kernel);
  EXPECT_EQ(status.code, JFA_STATUS_UNSUPPORTED);
  EXPECT_EQ(status.message, "expected GPU 1002 to launch clusters, which "
                            "refused has of 4 CTAs");
  status = loadKernel("across", "[1,2,1]", fakeGpu, kernel);
  EXPECT_EQ(status.code, JFA_STATUS_INVALID_BUNDLE);
  EXPECT_EQ(status.message, "expected the clusters of across to lie along x, "
                            "but got 1 x 2 x 1");
}
