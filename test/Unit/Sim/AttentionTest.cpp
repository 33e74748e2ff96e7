//===- AttentionTest.cpp - Tests of the launches of attention -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Attention.h"

#include "Runtime/WorkList.h"

#include "gtest/gtest.h"

using namespace mlir::jfa::sim;
namespace runtime = ::jfa::runtime;

namespace {
/// A kernel's arguments, as far as attention looks at them.
Program makeProgram() {
  Program program;
  for (const char *name : {"q", "k", "v"}) {
    Argument argument;
    argument.name = name;
    argument.kind = ArgumentKind::TensorMap;
    argument.element = ElementKind::BF16;
    argument.box = {name[0] == 'q' ? 128 : 96, 1, 64};
    program.arguments.push_back(argument);
  }
  return program;
}

std::vector<int64_t> getIntegers(GlobalArray &array) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < array.getNumElements(); ++i) {
    values.push_back(decodeInteger(array.kind, array.at(i)));
  }
  return values;
}

struct Bound {
  Attention attention;
  std::vector<GlobalArray> arrays;
  std::vector<Value> arguments;
  std::string error;
};

void bind(const AttentionProblem &problem, Bound &bound) {
  bound.error = bound.attention.bind(problem, makeProgram(), bound.arrays,
                                     bound.arguments);
}
} // namespace

TEST(SimAttention, DealsTilesAsTheRuntimeDoes) {
  AttentionProblem problem;
  problem.kLengths = problem.qLengths = {300, 0, 1, 777, 129};
  problem.heads = 4;
  problem.kvHeads = 2;
  problem.causal = true;
  problem.maxCtas = 3;
  problem.values = false;
  Bound bound;
  bind(problem, bound);
  ASSERT_EQ(bound.error, "");

  const int32_t offsets[] = {0, 300, 300, 301, 1078, 1207};
  runtime::Sequences sequences{5, offsets, offsets, 0, 0};
  runtime::WorkShape shape{128, 96, true, 4, 2, 2 * 64 * 2, 3};
  runtime::WorkList list;
  ASSERT_FALSE(runtime::makeWorkList(sequences, shape, list).failed());
  std::vector<int64_t> items;
  for (const runtime::WorkItem &item : list.items) {
    items.insert(items.end(), {item.sequence, item.row, item.head, 1});
  }
  items.insert(items.end(), 4, 0); // read ahead
  EXPECT_EQ(getIntegers(bound.arrays[Attention::kItems]), items);
  EXPECT_EQ(getIntegers(bound.arrays[Attention::kItemStarts]),
            std::vector<int64_t>(list.starts.begin(), list.starts.end()));
  EXPECT_EQ(bound.attention.getCtas(), 3u);
}

TEST(SimAttention, OneCtaTakesTilesInOrder) {
  AttentionProblem problem;
  problem.kLengths = problem.qLengths = {1, 200, 0};
  problem.values = false;
  problem.balances = false;
  Bound bound;
  bind(problem, bound);
  ASSERT_EQ(bound.error, "");
  EXPECT_EQ(
      getIntegers(bound.arrays[Attention::kItems]),
      (std::vector<int64_t>{0, 0, 0, 1, 1, 0, 0, 1, 1, 128, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(getIntegers(bound.arrays[Attention::kItemStarts]),
            (std::vector<int64_t>{0, 3}));
}

namespace {
/// A kernel with arguments of these names; the short ones are tensor maps.
Program makeBackward(const std::vector<const char *> &names) {
  Program program;
  for (const char *name : names) {
    Argument argument;
    argument.name = name;
    bool isTensor = argument.name.size() <= 2 || argument.name == "dq_acc";
    argument.kind = isTensor ? ArgumentKind::TensorMap : ArgumentKind::Scalar;
    argument.element = ElementKind::BF16;
    argument.box = {argument.name == "q" ? 64 : 128, 1, 64};
    program.arguments.push_back(argument);
  }
  return program;
}
} // namespace

TEST(SimAttention, TellsTheBackwardsKernels) {
  auto getPart = [](const std::vector<const char *> &names) {
    return getAttentionPart(makeBackward(names));
  };
  EXPECT_EQ(getPart({"q", "k", "v", "o"}), AttentionPart::Forward);
  EXPECT_EQ(getPart({"o", "do", "dq_acc"}), AttentionPart::BackwardPre);
  EXPECT_EQ(getPart({"q", "k", "dk", "dq_acc", "heads_per_group"}),
            AttentionPart::Backward);
  EXPECT_EQ(getPart({"q", "k", "dk", "dq_acc"}), AttentionPart::BackwardQuery);
  EXPECT_EQ(getPart({"dq_acc", "dq"}), AttentionPart::BackwardPost);
  EXPECT_EQ(getPart({"x", "y"}), std::nullopt);
}

TEST(SimAttention, KeysAreDealtForTheBackward) {
  AttentionProblem problem;
  problem.kLengths = {300, 0, 5};
  problem.qLengths = {64, 70, 0};
  problem.heads = 4;
  problem.kvHeads = 2;
  problem.values = false;
  Bound bound;
  bound.error = bound.attention.bind(
      problem, makeBackward({"q", "k", "dk", "dq_acc", "heads_per_group"}),
      bound.arrays, bound.arguments);
  ASSERT_EQ(bound.error, "");
  // Three tiles of the first sequence and one of the last, of each head of
  // keys.
  EXPECT_EQ(bound.arrays[Attention::kItems].shape[0], 4 * (2 * 4 + 1));
  EXPECT_EQ(bound.arrays[Attention::kDQSums].shape, (Shape{134, 4, 64}));
  // 134 rows of queries in units of 128, and a unit for each sequence.
  EXPECT_EQ(bound.arrays[Attention::kDelta].shape, (Shape{4, 512}));
  EXPECT_EQ(bound.attention.paddedStarts, (std::vector<int64_t>{0, 128, 384}));
  EXPECT_TRUE(bound.arrays[Attention::kDQSums].isComplete);
}

TEST(SimAttention, RefusesHeadsThatDoNotDivide) {
  AttentionProblem problem;
  problem.heads = 3;
  problem.kvHeads = 2;
  Bound bound;
  bind(problem, bound);
  EXPECT_EQ(bound.error, "expected '--heads' to be a multiple of '--kv-heads'");
}
