//===- WorkListTest.cpp - Tests of the order of tiles -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace jfa::runtime;

namespace {
std::vector<WorkTile> makeTiles(const Sequences &sequences, int64_t blockM) {
  std::vector<WorkTile> tiles;
  Status status = makeWorkList(sequences, blockM, tiles);
  EXPECT_FALSE(status.failed()) << status.message;
  return tiles;
}
} // namespace

TEST(WorkList, DenseIsInOrder) {
  std::vector<WorkTile> expected = {{0, 0}, {0, 128}, {1, 0}, {1, 128}};
  EXPECT_EQ(makeTiles({2, nullptr, nullptr, 130, 7}, 128), expected);
}

TEST(WorkList, LongKeysComeFirstAndTiesStayInOrder) {
  const int32_t q[] = {0, 1, 130, 130, 140, 141};
  const int32_t k[] = {0, 5, 105, 300, 305, 405};
  // Keys 5, 100, 195, 5, 100; the third has no queries.
  std::vector<WorkTile> expected = {{1, 0}, {1, 128}, {4, 0}, {0, 0}, {3, 0}};
  EXPECT_EQ(makeTiles({5, q, k, 0, 0}, 128), expected);
}

TEST(WorkList, QueriesWithoutKeysHaveTiles) {
  const int32_t q[] = {0, 10, 20};
  const int32_t k[] = {0, 0, 0};
  std::vector<WorkTile> expected = {{0, 0}, {1, 0}};
  EXPECT_EQ(makeTiles({2, q, k, 0, 0}, 64), expected);
}

TEST(WorkList, BroadcastQueryRepeatsTheQueries) {
  const int32_t k[] = {0, 1, 3};
  std::vector<WorkTile> expected = {{1, 0}, {1, 64}, {0, 0}, {0, 64}};
  EXPECT_EQ(makeTiles({2, nullptr, k, 100, 0}, 64), expected);
}

TEST(WorkList, EmptyBatches) {
  const int32_t none[] = {0};
  EXPECT_TRUE(makeTiles({0, none, none, 0, 0}, 64).empty());
  const int32_t empty[] = {4, 4, 4};
  EXPECT_TRUE(makeTiles({2, empty, empty, 0, 0}, 64).empty());
}

TEST(WorkList, AgreesWithAStableSort) {
  std::mt19937 random(1);
  constexpr int32_t kCount = 5000;
  std::vector<int32_t> q(kCount + 1), k(kCount + 1), order(kCount);
  for (int32_t i = 0; i < kCount; ++i) {
    order[size_t(i)] = i;
    // Lengths that differ in every digit of the sort.
    int32_t length =
        int32_t(random() % 4 == 0 ? random() % 400000 : random() % 9);
    q[size_t(i) + 1] = q[size_t(i)] + 1;
    k[size_t(i) + 1] = k[size_t(i)] + length;
  }
  auto keys = [&](int32_t i) { return k[size_t(i) + 1] - k[size_t(i)]; };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return keys(a) != keys(b) ? keys(a) > keys(b) : a < b;
  });
  std::vector<WorkTile> tiles =
      makeTiles({kCount, q.data(), k.data(), 0, 0}, 128);
  ASSERT_EQ(tiles.size(), order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(tiles[i].sequence, order[i]);
  }
}

TEST(WorkList, AMillionSequences) {
  constexpr int64_t kCount = 1000000;
  std::vector<int32_t> offsets(kCount + 1);
  for (size_t i = 0; i < kCount; ++i) {
    offsets[i + 1] = offsets[i] + int32_t(i * 7919 % 200);
  }
  auto tiles = makeTiles({kCount, offsets.data(), offsets.data(), 0, 0}, 64);
  EXPECT_GT(tiles.size(), size_t(kCount));
}

TEST(WorkList, RefusesTooManyTiles) {
  std::vector<WorkTile> tiles;
  Status status = makeWorkList({3, nullptr, nullptr, 1 << 30, 1}, 1, tiles);
  EXPECT_EQ(status.message,
            "expected 'batch_size' to make at most 2147483647 query tiles of 1 "
            "rows, but got more");
}
