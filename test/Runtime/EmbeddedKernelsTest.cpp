//===- EmbeddedKernelsTest.cpp - What the library ships ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa-c/Runtime.h"

#include "gtest/gtest.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

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

TEST(EmbeddedKernels, AreOneForEachProblem) {
  std::map<std::string, int> found;
  for (const jfaKernelFacts &facts : getEmbedded()) {
    std::string key = std::string(facts.entry) + " " + facts.arch;
    for (const char *name :
         {"HEAD_DIM", "CAUSAL", "ELEMENT", "JAGGED", "BROADCAST_QUERY"}) {
      key += " " + getParameter(facts, name);
    }
    ++found[key];
  }
  // Without ptxas or the compiler the library is built without kernels, and
  // CMake has warned. Then there is nothing to compare; the runtime is tested
  // with the bundles that other tests make.
  if (found.empty()) {
    GTEST_SKIP() << "the library was built without kernels";
  }
  size_t expected = 0;
  for (std::string dim : {"64", "128"}) {
    for (std::string causal : {"false", "true"}) {
      for (std::string element : {"bf16", "f16"}) {
        for (std::string mode : {"false false", "true false", "true true"}) {
          std::string key = "attention_fwd sm_90a " + dim + " " + causal + " " +
                            element + " " + mode;
          EXPECT_EQ(found[key], 1) << key;
          ++expected;
        }
      }
    }
  }
  for (std::string dim : {"64", "128"}) {
    for (std::string element : {"bf16", "f16"}) {
      std::string key =
          "block_attention_fwd sm_90a " + dim + "  " + element + "  ";
      EXPECT_EQ(found[key], 1) << key;
      ++expected;
    }
  }
  for (std::string dim : {"64", "128"}) {
    for (std::string element : {"bf16", "f16"}) {
      std::string key =
          "block_attention_bwd sm_90a " + dim + "  " + element + "  ";
      // One for each jfaRotary.
      EXPECT_EQ(found[key], 3) << key;
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
