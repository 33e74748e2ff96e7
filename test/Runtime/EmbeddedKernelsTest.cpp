//===- EmbeddedKernelsTest.cpp - What the library ships ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "jfa-c/Runtime.h"

#include "gtest/gtest.h"

#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace jfa::runtime;

/// The value of a parameter in "BLOCK_M=128 CAUSAL=false ...".
static std::string getParameter(const jfaKernelFacts &facts,
                                const std::string &name) {
  std::istringstream words(facts.parameters);
  std::string word;
  while (words >> word) {
    if (word.compare(0, name.size() + 1, name + "=") == 0) {
      return word.substr(name.size() + 1);
    }
  }
  return "";
}

/// The facts of all embedded kernels.
static std::vector<jfaKernelFacts> getEmbedded() {
  std::vector<jfaKernelFacts> result;
  int64_t count = 0;
  EXPECT_EQ(jfaKernelGetCount(&count, nullptr), JFA_STATUS_SUCCESS);
  for (int64_t i = 0; i < count; ++i) {
    jfaKernelFacts facts{};
    facts.struct_size = sizeof(facts);
    EXPECT_EQ(jfaKernelGetFacts(i, &facts, nullptr), JFA_STATUS_SUCCESS);
    if (std::string(facts.source) == "embedded") {
      result.push_back(facts);
    }
  }
  return result;
}

/// The parameters that tell the kernels of an entry apart.
static std::vector<std::string> getNames(const std::string &entry,
                                         const std::string &arch) {
  if (entry == "attention_bwd_pre") {
    return {"HEAD_DIM", "ELEMENT", "JAGGED", "BROADCAST_QUERY"};
  }
  if (entry == "attention_bwd_query") {
    return {"HEAD_DIM", "ELEMENT", "CAUSAL"};
  }
  if (entry == "block_attention_fwd") {
    return {"HEAD_DIM", "ELEMENT", "ROTARY"};
  }
  if (entry == "block_attention_bwd") {
    return {"HEAD_DIM", "ELEMENT", "ROTARY", "ROTATE_INPUTS"};
  }
  if (entry == "attention_bwd_post") {
    return {"HEAD_DIM", "ELEMENT", "JAGGED"};
  }
  if (entry == "attention_fwd" && arch == "sm_90a") {
    return {"HEAD_DIM",        "ELEMENT", "JAGGED",
            "BROADCAST_QUERY", "CAUSAL",  "MAX_LENGTH"};
  }
  return {"HEAD_DIM", "ELEMENT", "JAGGED", "BROADCAST_QUERY", "CAUSAL"};
}

/// The kernels that an entry has to have: every combination, but that shared
/// queries are jagged, and that no inputs are rotated where nothing is.
static std::vector<std::string> getProblems(const std::string &entry,
                                            const std::string &arch) {
  std::vector<std::string> problems = {arch + " " + entry};
  for (const std::string &name : getNames(entry, arch)) {
    std::vector<std::string> values = {"false", "true"};
    if (name == "HEAD_DIM") {
      values = {"64", "128"};
    } else if (name == "ELEMENT") {
      values = {"bf16", "f16"};
    } else if (name == "MAX_LENGTH") {
      values = {"0", "64"};
    } else if (name == "ROTARY") {
      values = {"0", "1", "2"};
    }
    std::vector<std::string> longer;
    for (const std::string &problem : problems) {
      for (const std::string &value : values) {
        bool isDense = problem.find(" JAGGED=false") != std::string::npos;
        // Short sequences have kernels of their own where that brings
        // something.
        bool hasShort =
            problem.find(" HEAD_DIM=128") != std::string::npos && !isDense &&
            problem.find(" BROADCAST_QUERY=true") == std::string::npos &&
            problem.find(" CAUSAL=true") == std::string::npos;
        bool isRotated = problem.find(" ROTARY=0") == std::string::npos;
        if (name == "ROTATE_INPUTS" && value == "true" && !isRotated) {
          continue;
        }
        if (name == "MAX_LENGTH"
                ? value == "0" || hasShort
                : name != "BROADCAST_QUERY" || value == "false" || !isDense) {
          longer.push_back(problem + " " + name + "=" + value);
        }
      }
    }
    problems = longer;
  }
  return problems;
}

TEST(EmbeddedKernels, AreOneForEachProblem) {
  std::map<std::string, int> found;
  for (const jfaKernelFacts &facts : getEmbedded()) {
    std::string key = std::string(facts.arch) + " " + facts.entry;
    for (const std::string &name : getNames(facts.entry, facts.arch)) {
      key += " " + name + "=" + getParameter(facts, name);
    }
    ++found[key];
  }
  // Without ptxas or the compiler the library is built without kernels, and
  // CMake has warned. Then there is nothing to compare; the runtime is tested
  // with the bundles that other tests make.
  if (found.empty()) {
    GTEST_SKIP() << "the library was built without kernels";
  }
  const std::pair<const char *, const char *> entries[] = {
      {"sm_90a", "attention_fwd"},        {"sm_90a", "attention_bwd_pre"},
      {"sm_90a", "attention_bwd"},        {"sm_90a", "attention_bwd_query"},
      {"sm_90a", "attention_bwd_post"},   {"sm_90a", "block_attention_fwd"},
      {"sm_90a", "block_attention_bwd"},  {"sm_100a", "attention_fwd"},
      {"sm_100a", "block_attention_fwd"}, {"sm_100a", "block_attention_bwd"}};
  size_t expected = 0;
  for (const auto &[arch, entry] : entries) {
    for (const std::string &problem : getProblems(entry, arch)) {
      EXPECT_EQ(found[problem], 1) << problem;
      ++expected;
    }
  }
  EXPECT_EQ(found.size(), expected);
}

TEST(EmbeddedKernels, NeitherSpillNorUseAStack) {
  for (const jfaKernelFacts &facts : getEmbedded()) {
    EXPECT_EQ(facts.spill_store_bytes, 0) << facts.parameters;
    EXPECT_EQ(facts.spill_load_bytes, 0) << facts.parameters;
    EXPECT_EQ(facts.stack_bytes, 0) << facts.parameters;
    EXPECT_LE(facts.shared_memory_bytes, 232448) << facts.parameters;
  }
}

TEST(EmbeddedKernels, LowerLimitsOfLengthComeFirst) {
  // A plan takes the first kernel that suits.
  std::map<std::string, int64_t> before;
  for (const jfaKernelFacts &facts : getEmbedded()) {
    std::string key = std::string(facts.arch) + " " + facts.entry;
    for (const char *name : {"HEAD_DIM", "CAUSAL", "ELEMENT", "JAGGED",
                             "BROADCAST_QUERY", "ROTARY", "ROTATE_INPUTS"}) {
      key += " " + getParameter(facts, name);
    }
    std::string text = getParameter(facts, "MAX_LENGTH");
    int64_t limit = text.empty() || text == "0"
                        ? std::numeric_limits<int64_t>::max()
                        : std::stoll(text);
    auto [it, isFirst] = before.emplace(key, limit);
    EXPECT_TRUE(isFirst || it->second < limit) << facts.parameters;
    it->second = limit;
  }
}

TEST(EmbeddedKernels, LengthsThatKernelsSuit) {
  Manifest any, some;
  some.parameters["MAX_LENGTH"] = "64";
  EXPECT_TRUE(suitsLength(any, 1 << 30));
  EXPECT_TRUE(suitsLength(some, 0));
  EXPECT_TRUE(suitsLength(some, 64));
  EXPECT_FALSE(suitsLength(some, 65));
  const int32_t q[] = {3, 5, 6}, k[] = {0, 0, 9};
  EXPECT_EQ((Sequences{2, q, k, 0, 0}.findLongest()), 9);
  EXPECT_EQ((Sequences{2, nullptr, k, 12, 0}.findLongest()), 12);
  EXPECT_EQ((Sequences{7, nullptr, nullptr, 4, 5}.findLongest()), 5);
  EXPECT_EQ((Sequences{0, q, k, 0, 0}.findLongest()), 0);
}

TEST(EmbeddedKernels, ShortSequencesHaveTheirOwn) {
  if (getEmbedded().empty()) {
    GTEST_SKIP() << "the library was built without kernels";
  }
  // The library's own registry is not exported; this is the bundle it embeds.
  KernelRegistry registry;
  Status status = registry.addFile(JFA_TEST_FORWARD_BUNDLE);
  ASSERT_FALSE(status.failed()) << status.message;
  const Gpu gpu = {0, nullptr, 132, 9, 0, 1};
  const KernelParameters parameters = {{"HEAD_DIM", "128"},
                                       {"ELEMENT", "bf16"},
                                       {"CAUSAL", "false"},
                                       {"JAGGED", "true"},
                                       {"BROADCAST_QUERY", "false"}};
  auto getLimit = [&](int64_t longest) {
    Kernel *kernel =
        findKernel(registry, gpu, "attention_fwd", parameters, longest);
    return kernel ? kernel->getManifest().getInteger("MAX_LENGTH", -1) : -2;
  };
  EXPECT_EQ(getLimit(1), 64);
  EXPECT_EQ(getLimit(64), 64);
  EXPECT_EQ(getLimit(65), 0);
  EXPECT_EQ(getLimit(100000), 0);
}

TEST(EmbeddedKernels, AreChosenByArchitecture) {
  if (getEmbedded().empty()) {
    GTEST_SKIP() << "the library was built without kernels";
  }
  KernelRegistry registry;
  for (const char *bundle :
       {JFA_TEST_FORWARD_BUNDLE, JFA_TEST_BLACKWELL_FORWARD_BUNDLE}) {
    Status status = registry.addFile(bundle);
    ASSERT_FALSE(status.failed()) << status.message;
  }
  const KernelParameters parameters = {{"HEAD_DIM", "64"},
                                       {"ELEMENT", "f16"},
                                       {"CAUSAL", "true"},
                                       {"JAGGED", "true"},
                                       {"BROADCAST_QUERY", "true"}};
  auto getArch = [&](int32_t major, int32_t minor) -> std::string {
    const Gpu gpu = {0, nullptr, 132, major, minor, 1};
    Kernel *kernel =
        findKernel(registry, gpu, "attention_fwd", parameters, 5000);
    return kernel ? kernel->getManifest().arch : "none";
  };
  EXPECT_EQ(getArch(9, 0), "sm_90a");
  EXPECT_EQ(getArch(10, 0), "sm_100a");
  // Code for one architecture with "a" runs on no other.
  EXPECT_EQ(getArch(10, 3), "none");
  EXPECT_EQ(getArch(12, 0), "none");
}
