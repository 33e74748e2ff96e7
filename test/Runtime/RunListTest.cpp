//===- RunListTest.cpp - Tests of runs of tiles -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkListTesting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace jfa::runtime;
using namespace jfa::testing;

namespace {
/// Every tile of keys of every head is in one run, no worker has two heads, and
/// none is idle.
void expectRunsAreComplete(const Sequences &sequences, const WorkShape &shape,
                           const WorkList &list) {
  std::vector<std::vector<int>> seen(size_t(shape.heads * sequences.count));
  for (int64_t head = 0; head < shape.heads; ++head) {
    for (int64_t i = 0; i < sequences.count; ++i) {
      seen[size_t(head * sequences.count + i)].resize(
          size_t((sequences.getKeys(i) + shape.blockM - 1) / shape.blockM));
    }
  }
  for (size_t worker = 0; worker + 1 < list.starts.size(); ++worker) {
    int32_t begin = list.starts[worker], end = list.starts[worker + 1];
    ASSERT_LT(begin, end);
    for (int32_t i = begin; i < end; ++i) {
      const WorkItem &item = list.items[size_t(i)];
      ASSERT_EQ(item.head, list.items[size_t(begin)].head);
      ASSERT_EQ(item.row % shape.blockM, 0);
      auto &tiles = seen[size_t(item.head * sequences.count + item.sequence)];
      int64_t first = item.row / shape.blockM;
      ASSERT_TRUE(item.count > 0 &&
                  first + item.count <= int64_t(tiles.size()));
      for (int64_t tile = first; tile < first + item.count; ++tile) {
        ASSERT_EQ(tiles[size_t(tile)]++, 0);
      }
    }
  }
  ASSERT_EQ(size_t(list.starts.back()), list.items.size());
  for (const std::vector<int> &tiles : seen) {
    ASSERT_EQ(std::count(tiles.begin(), tiles.end(), 1), int64_t(tiles.size()));
  }
}

/// No worker has more tiles than its share, one tile, and what runs cost.
void expectRunsAreBalanced(const WorkShape &shape, const WorkList &list) {
  int64_t total = 0, busiest = 0;
  auto workers = int64_t(list.starts.size()) - 1;
  for (int64_t w = 0; w < workers; ++w) {
    int64_t load = 0;
    for (int32_t i = list.starts[size_t(w)]; i < list.starts[size_t(w) + 1];
         ++i) {
      load += 2 * list.items[size_t(i)].count +
              (list.items[size_t(i)].row == 0 ? 1 : 0);
    }
    total += load;
    busiest = std::max(busiest, load);
  }
  ASSERT_LE(busiest * workers, total + 6 * workers);
  ASSERT_EQ(workers % shape.heads, 0);
}
} // namespace

TEST(RunList, RandomListsAreCompleteAndBalanced) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 3000; ++trial) {
    auto count = int64_t(random() % 60);
    std::vector<int32_t> k = randomOffsets(random, count);
    Sequences sequences = {count, nullptr, k.data(), 100, 0};
    WorkShape shape = makeShape(false, 1 + int64_t(random() % 160));
    shape.rows = TileRows::Keys;
    shape.heads = 1 + int64_t(random() % 20);
    WorkList list;
    ASSERT_FALSE(makeRunList(sequences, shape, list).failed());
    if (list.items.empty()) {
      ASSERT_EQ(list.starts.size(), 1u);
      continue;
    }
    expectRunsAreComplete(sequences, shape, list);
    expectRunsAreBalanced(shape, list);
    if (HasFatalFailure()) {
      FAIL() << "in trial " << trial;
    }
  }
}

TEST(RunList, AllWorkersHaveAShare) {
  // 264 tiles of each of four heads on 132 multiprocessors: 33 for each head.
  WorkShape shape = {128, 64, false, 4, 4, 512, 132};
  WorkList list;
  ASSERT_FALSE(
      makeRunList({8, nullptr, nullptr, 128, 33 * 128}, shape, list).failed());
  EXPECT_EQ(list.starts.size(), 133u);
  // More heads than multiprocessors: one worker each would leave half idle in
  // the second round.
  shape.heads = 200;
  ASSERT_FALSE(
      makeRunList({8, nullptr, nullptr, 128, 33 * 128}, shape, list).failed());
  EXPECT_GT(list.starts.size(), 201u);
  EXPECT_EQ((list.starts.size() - 1) % 200, 0u);
}

TEST(RunList, RunsEndWithTheirSequence) {
  const int32_t k[] = {0, 300, 300, 301, 1000};
  WorkShape shape = {128, 64, false, 1, 1, 512, 2};
  WorkList list;
  ASSERT_FALSE(makeRunList({4, nullptr, k, 128, 0}, shape, list).failed());
  std::vector<WorkItem> expected = {{0, 0, 0, 3}, {2, 0, 0, 1}, {3, 0, 0, 6}};
  EXPECT_TRUE(std::equal(list.items.begin(), list.items.end(), expected.begin(),
                         expected.end()));
  EXPECT_EQ(list.starts, (std::vector<int32_t>{0, 2, 3}));
}
