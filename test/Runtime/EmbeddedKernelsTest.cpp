//===- EmbeddedKernelsTest.cpp - What the library ships ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "jfa-c/Runtime.h"

#include "gtest/gtest.h"

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
static std::vector<std::string> getNames(const std::string &entry) {
  if (entry == "attention_bwd_pre") {
    return {"HEAD_DIM", "ELEMENT", "JAGGED", "BROADCAST_QUERY"};
  }
  if (entry == "attention_bwd_query") {
    return {"HEAD_DIM", "ELEMENT", "CAUSAL", "DETERMINISTIC"};
  }
  if (entry == "attention_bwd") {
    return {"HEAD_DIM",        "ELEMENT", "JAGGED",
            "BROADCAST_QUERY", "CAUSAL",  "DETERMINISTIC"};
  }
  if (entry == "block_attention_fwd") {
    return {"HEAD_DIM", "ELEMENT", "ROTARY"};
  }
  if (entry == "block_attention_bwd") {
    return {"HEAD_DIM", "ELEMENT", "ROTARY", "ROTATE_INPUTS"};
  }
  if (entry == "attention_bwd_post") {
    return {"HEAD_DIM", "ELEMENT", "JAGGED", "COPIES", "FRAGMENTS"};
  }
  return {"HEAD_DIM", "ELEMENT", "JAGGED", "BROADCAST_QUERY", "CAUSAL"};
}

/// The limits of lengths that kernels have.
static std::string getLimits(const jfaKernelFacts &facts) {
  std::string limits;
  for (const char *name : {"MIN_QUERIES", "MAX_QUERIES", "MAX_KEYS"}) {
    std::string limit = getParameter(facts, name);
    limits += " " + (limit.empty() ? "0" : limit);
  }
  return limits;
}

static const std::string kNoLimits = " 0 0 0";

/// Which limits the kernels for a problem have: those for some lengths are
/// there where that brings something.
static std::vector<std::string> getLimitsOf(const std::string &problem) {
  auto has = [&](const char *words) {
    return problem.find(words) != std::string::npos;
  };
  if (has("sm_90a attention_fwd ") && has(" HEAD_DIM=128") &&
      has(" JAGGED=true") && has(" BROADCAST_QUERY=false CAUSAL=false")) {
    return {" 0 64 64", kNoLimits};
  }
  if (has("sm_90a attention_fwd ") && has(" HEAD_DIM=128") &&
      has(" JAGGED=false")) {
    return {" 2048 0 0", kNoLimits};
  }
  if (has("sm_90a attention_fwd ") && has(" HEAD_DIM=64") &&
      has(" BROADCAST_QUERY=true")) {
    return {" 129 192 0", " 257 0 0", kNoLimits};
  }
  return {kNoLimits};
}

/// The problems that an entry has to have kernels for: every combination, but
/// that shared queries are jagged, that no inputs are rotated where nothing is,
/// that only one sequence has several sums, and that those of jagged ones lie
/// by rows.
static std::vector<std::string> getProblems(const std::string &entry,
                                            const std::string &arch) {
  std::vector<std::string> problems = {arch + " " + entry};
  for (const std::string &name : getNames(entry)) {
    std::vector<std::string> values = {"false", "true"};
    if (name == "HEAD_DIM") {
      values = {"64", "128"};
    } else if (name == "ELEMENT") {
      values = {"bf16", "f16"};
    } else if (name == "ROTARY") {
      values = {"0", "1", "2"};
    }
    std::vector<std::string> longer;
    for (const std::string &problem : problems) {
      for (const std::string &value : values) {
        bool isDense = problem.find(" JAGGED=false") != std::string::npos;
        bool isRotated = problem.find(" ROTARY=0") == std::string::npos;
        bool isTrue = value == "true";
        if ((name == "ROTATE_INPUTS" && isTrue && !isRotated) ||
            (name == "COPIES" && isTrue && !isDense) ||
            (name == "FRAGMENTS" && isTrue && !isDense)) {
          continue;
        }
        if (name != "BROADCAST_QUERY" || value == "false" || !isDense) {
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
    for (const std::string &name : getNames(facts.entry)) {
      std::string value = getParameter(facts, name);
      key += " " + name + "=" + (value.empty() ? "false" : value);
    }
    ++found[key + getLimits(facts)];
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
      {"sm_100a", "attention_bwd_pre"},   {"sm_100a", "attention_bwd"},
      {"sm_100a", "attention_bwd_post"},  {"sm_100a", "attention_bwd_query"},
      {"sm_100a", "block_attention_fwd"}, {"sm_100a", "block_attention_bwd"}};
  size_t expected = 0;
  for (const auto &[arch, entry] : entries) {
    for (const std::string &problem : getProblems(entry, arch)) {
      for (const std::string &limits : getLimitsOf(problem)) {
        EXPECT_EQ(found[problem + limits], 1) << problem << limits;
        ++expected;
      }
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

TEST(EmbeddedKernels, KernelsForAnyLengthsComeLast) {
  // A plan takes the first kernel that suits.
  std::map<std::string, std::string> last;
  for (const jfaKernelFacts &facts : getEmbedded()) {
    std::string key = std::string(facts.arch) + " " + facts.entry;
    for (const char *name :
         {"HEAD_DIM", "CAUSAL", "ELEMENT", "JAGGED", "BROADCAST_QUERY",
          "ROTARY", "ROTATE_INPUTS", "DETERMINISTIC", "COPIES", "FRAGMENTS"}) {
      key += " " + getParameter(facts, name);
    }
    EXPECT_NE(last[key], kNoLimits) << facts.parameters;
    last[key] = getLimits(facts);
  }
  for (const auto &[problem, limits] : last) {
    EXPECT_EQ(limits, kNoLimits) << problem;
  }
}

TEST(EmbeddedKernels, LengthsThatKernelsSuit) {
  Manifest any, some, least;
  some.parameters["MAX_QUERIES"] = "64";
  some.parameters["MAX_KEYS"] = "48";
  least.parameters["MIN_QUERIES"] = "8";
  EXPECT_TRUE(suitsLengths(any, kAnyLengths));
  EXPECT_FALSE(suitsLengths(some, kAnyLengths));
  EXPECT_FALSE(suitsLengths(least, kAnyLengths));
  EXPECT_TRUE(suitsLengths(some, {0, 0, 0}));
  EXPECT_TRUE(suitsLengths(some, {1, 64, 48}));
  EXPECT_FALSE(suitsLengths(some, {1, 65, 48}));
  EXPECT_FALSE(suitsLengths(some, {1, 64, 49}));
  EXPECT_TRUE(suitsLengths(least, {8, 1000, 0}));
  EXPECT_FALSE(suitsLengths(least, {7, 1000, 0}));
}

TEST(EmbeddedKernels, LengthsOfSequences) {
  auto find = [](const Sequences &sequences) {
    Lengths lengths = findLengths(sequences);
    return std::vector<int64_t>{lengths.fewestQueries, lengths.mostQueries,
                                lengths.mostKeys};
  };
  using Values = std::vector<int64_t>;
  const int32_t q[] = {3, 5, 5, 6}, k[] = {0, 0, 9, 9}, none[] = {4, 4, 4};
  // A sequence without queries is not short.
  EXPECT_EQ(find({3, q, k, 0, 0}), (Values{1, 2, 9}));
  EXPECT_EQ(find({3, nullptr, k, 12, 0}), (Values{12, 12, 9}));
  EXPECT_EQ(find({7, nullptr, nullptr, 4, 5}), (Values{4, 4, 5}));
  EXPECT_EQ(find({2, none, none, 0, 0}), (Values{0, 0, 0}));
  EXPECT_EQ(find({0, q, k, 0, 0}), (Values{0, 0, 0}));
}

TEST(EmbeddedKernels, LengthsChooseTheKernel) {
  // Without ptxas there are no bundles to read; see AreOneForEachProblem.
  if (getEmbedded().empty()) {
    GTEST_SKIP() << "the library was built without kernels";
  }
  // The library's own registry is not exported; this is the bundle it embeds.
  KernelRegistry registry;
  Status status = registry.addFile(JFA_TEST_FORWARD_BUNDLE);
  ASSERT_FALSE(status.failed()) << status.message;
  const Gpu gpu = {0, nullptr, 132, 9, 0, 1};
  auto getTile = [&](const char *dim, const char *broadcast, Lengths lengths) {
    Kernel *kernel = findKernel(registry, gpu, "attention_fwd",
                                {{"HEAD_DIM", dim},
                                 {"ELEMENT", "bf16"},
                                 {"CAUSAL", "false"},
                                 {"JAGGED", "true"},
                                 {"BROADCAST_QUERY", broadcast}},
                                lengths);
    return kernel ? kernel->getManifest().getInteger("BLOCK_M", -1) : -2;
  };
  EXPECT_EQ(getTile("128", "false", {1, 1, 1}), 64);
  EXPECT_EQ(getTile("128", "false", {1, 64, 64}), 64);
  EXPECT_EQ(getTile("128", "false", {1, 64, 65}), 128);
  EXPECT_EQ(getTile("128", "false", {65, 65, 1}), 128);
  EXPECT_EQ(getTile("128", "false", kAnyLengths), 128);
  EXPECT_EQ(getTile("128", "true", {512, 512, 4096}), 128);
  for (auto [queries, tile] :
       {std::pair(1, 128), std::pair(128, 128), std::pair(129, 192),
        std::pair(192, 192), std::pair(193, 128), std::pair(256, 128),
        std::pair(257, 192), std::pair(512, 192)}) {
    EXPECT_EQ(getTile("64", "true", {queries, queries, 4096}), tile) << queries;
  }
}

TEST(EmbeddedKernels, AreChosenByArchitecture) {
  // Without ptxas there are no bundles to read; see AreOneForEachProblem.
  if (getEmbedded().empty()) {
    GTEST_SKIP() << "the library was built without kernels";
  }
  KernelRegistry registry;
  for (const char *name : {"fwd", "bwd", "bwd_pre", "bwd_query", "bwd_post"}) {
    for (const char *arch : {"sm90", "sm100"}) {
      Status status = registry.addFile(
          concat(JFA_TEST_KERNELS, "/attention-", name, "-", arch, ".jfab"));
      ASSERT_FALSE(status.failed()) << status.message;
    }
  }
  auto getArchOf = [&](const std::string &entry, int32_t major, int32_t minor,
                       const KernelParameters &parameters) -> std::string {
    const Gpu gpu = {0, nullptr, 132, major, minor, 1};
    Kernel *kernel = findKernel(registry, gpu, entry, parameters, kAnyLengths);
    return kernel ? kernel->getManifest().arch : "none";
  };
  const KernelParameters kept = {
      {"HEAD_DIM", "64"}, {"ELEMENT", "f16"}, {"CAUSAL", "true"}};
  const KernelParameters common = {
      {"HEAD_DIM", "64"}, {"ELEMENT", "f16"}, {"JAGGED", "true"}};
  KernelParameters shared = common;
  shared.emplace_back("BROADCAST_QUERY", "true");
  KernelParameters masked = shared;
  masked.emplace_back("CAUSAL", "true");
  const std::pair<const char *, KernelParameters> entries[] = {
      {"attention_fwd", masked},
      {"attention_bwd", masked},
      {"attention_bwd_pre", shared},
      {"attention_bwd_query", kept},
      {"attention_bwd_post", common}};
  for (const auto &[entry, parameters] : entries) {
    EXPECT_EQ(getArchOf(entry, 9, 0, parameters), "sm_90a") << entry;
    EXPECT_EQ(getArchOf(entry, 10, 0, parameters), "sm_100a") << entry;
    // Code for one architecture with "a" runs on no other.
    EXPECT_EQ(getArchOf(entry, 10, 3, parameters), "none") << entry;
    EXPECT_EQ(getArchOf(entry, 12, 0, parameters), "none") << entry;
  }
}
