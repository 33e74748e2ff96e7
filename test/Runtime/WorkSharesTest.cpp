//===- WorkSharesTest.cpp - Tests of shares that are taken over -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkListTesting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

using namespace jfa::runtime;
using namespace jfa::testing;

namespace {
/// A list whose workers have so many items; an item's sequence is its worker,
/// its row its number there.
WorkList makeList(const std::vector<int32_t> &counts) {
  WorkList list;
  list.starts = {0};
  for (int32_t count : counts) {
    for (int32_t i = 0; i < count; ++i) {
      list.items.push_back({int32_t(list.tiles.size()), i, 0, 1});
    }
    list.starts.push_back(int32_t(list.items.size()));
    list.tiles.push_back(count);
  }
  return list;
}

using Key = std::array<int32_t, 3>;

std::vector<Key> getKeys(const WorkList &list) {
  std::vector<Key> keys;
  for (const WorkItem &item : list.items) {
    keys.push_back({item.sequence, item.head, item.row});
  }
  return keys;
}
} // namespace

TEST(WorkShares, TailsComeAfterAllWorkersInTheirOrder) {
  WorkList list = makeList({8, 3, 9, 4});
  splitTails(list);
  EXPECT_EQ(list.starts,
            (std::vector<int32_t>{0, 6, 9, 16, 19, 20, 21, 22, 23, 24}));
  EXPECT_EQ(list.tiles, (std::vector<int32_t>{6, 3, 7, 3, 1, 1, 1, 1, 1}));
  // The last but one of workers 0 and 2, then the last of those with four.
  std::vector<Key> tails = getKeys(list);
  tails.erase(tails.begin(), tails.begin() + 19);
  EXPECT_EQ(tails, (std::vector<Key>{
                       {0, 0, 6}, {2, 0, 7}, {0, 0, 7}, {2, 0, 8}, {3, 0, 3}}));
}

TEST(WorkShares, FewItemsStayWhereTheyAre) {
  WorkList list = makeList({3, 1, 2});
  WorkList before = list;
  splitTails(list);
  EXPECT_EQ(list.starts, before.starts);
  EXPECT_EQ(list.tiles, before.tiles);
  EXPECT_EQ(getKeys(list), getKeys(before));
  WorkList none = makeList({});
  splitTails(none);
  EXPECT_EQ(none.starts, std::vector<int32_t>{0});
  EXPECT_TRUE(none.items.empty());
}

TEST(WorkShares, EveryItemIsInOneShare) {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    int64_t count = 1 + int64_t(random() % 40);
    std::vector<int32_t> offsets = randomOffsets(random, count);
    Sequences sequences{count, offsets.data(), offsets.data(), 0, 0};
    WorkList list;
    Status status = makeWorkList(
        sequences, makeShape(round % 2 == 0, 1 + int64_t(random() % 8)), list);
    ASSERT_FALSE(status.failed()) << status.message;
    std::vector<Key> before = getKeys(list);
    int64_t tiles = list.countTiles();
    size_t workers = list.tiles.size();
    splitTails(list);
    std::vector<Key> after = getKeys(list);
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    EXPECT_EQ(before, after);
    EXPECT_EQ(list.countTiles(), tiles);
    EXPECT_EQ(list.starts.size(), list.tiles.size() + 1);
    EXPECT_EQ(size_t(list.starts.back()), list.items.size());
    // Those that are taken over are small, and nobody begins without work.
    for (size_t i = 0; i + 1 < list.starts.size(); ++i) {
      int32_t items = list.starts[i + 1] - list.starts[i];
      EXPECT_GE(items, 1);
      EXPECT_TRUE(i < workers || items == 1);
    }
    // The kernel reads one more.
    EXPECT_GT(list.items.capacity(), list.items.size());
  }
}
