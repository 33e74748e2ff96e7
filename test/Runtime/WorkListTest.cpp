//===- WorkListTest.cpp - Tests of the order of tiles -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace jfa::runtime;

namespace {
WorkShape makeShape(bool causal = false, int64_t workers = 132) {
  return {128, 128, causal, /*heads=*/4, /*sharedHeads=*/2, 512, workers};
}

WorkList makeList(const Sequences &sequences, const WorkShape &shape) {
  WorkList list;
  Status status = makeWorkList(sequences, shape, list);
  EXPECT_FALSE(status.failed()) << status.message;
  return list;
}

/// Every tile of every head is in the list exactly once.
void expectComplete(const Sequences &sequences, const WorkShape &shape,
                    const WorkList &list) {
  std::vector<int64_t> firstTile;
  int64_t tiles = 0;
  auto getRows = [&](int64_t i) {
    return shape.rows == TileRows::Queries ? sequences.getQueries(i)
                                           : sequences.getKeys(i);
  };
  for (int64_t i = 0; i < sequences.count; ++i) {
    firstTile.push_back(tiles);
    tiles += (getRows(i) + shape.blockM - 1) / shape.blockM;
  }
  ASSERT_EQ(list.countTiles(), tiles * shape.heads);
  std::vector<char> seen(size_t(tiles * shape.heads), 0);
  for (const WorkItem &item : list.items) {
    ASSERT_TRUE(item.head >= 0 && item.count > 0 &&
                item.head + item.count <= shape.heads);
    ASSERT_EQ(item.row % shape.blockM, 0);
    ASSERT_TRUE(item.row < getRows(item.sequence));
    int64_t tile = firstTile[size_t(item.sequence)] + item.row / shape.blockM;
    for (int64_t i = 0; i < item.count; ++i) {
      char &mark = seen[size_t(tile * shape.heads + item.head + i)];
      ASSERT_EQ(mark, 0);
      mark = 1;
    }
  }
  ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), int64_t(seen.size()));
  ASSERT_EQ(list.starts.front(), 0);
  ASSERT_EQ(size_t(list.starts.back()), list.items.size());
  ASSERT_TRUE(std::is_sorted(list.starts.begin(), list.starts.end()));
}

/// The items of a list as rows of sequence, row and head.
std::vector<std::vector<int32_t>> getItems(const WorkList &list) {
  std::vector<std::vector<int32_t>> result;
  for (const WorkItem &item : list.items) {
    result.push_back({item.sequence, item.row, item.head});
  }
  return result;
}

/// No worker has more to do than the mean and the largest tile together, the
/// bound of giving each tile to whoever has least to do.
void expectBalanced(const Sequences &sequences, const WorkShape &shape,
                    const WorkList &list) {
  int64_t largest = 0, total = 0, busiest = 0;
  int64_t workers = int64_t(list.starts.size()) - 1;
  for (int64_t w = 0; w < workers; ++w) {
    int64_t load = 0, tiles = 0;
    for (int32_t i = list.starts[size_t(w)]; i < list.starts[size_t(w) + 1];
         ++i) {
      const WorkItem &item = list.items[size_t(i)];
      int64_t cost = getTileCost(sequences, shape, item.sequence, item.row);
      largest = std::max(largest, cost);
      load += cost * item.count;
      tiles += item.count;
    }
    ASSERT_EQ(tiles, list.tiles[size_t(w)]);
    total += load;
    busiest = std::max(busiest, load);
  }
  ASSERT_LE(busiest * workers, total + largest * workers);
}

/// Offsets of random lengths: short, long-tailed, constant or mostly empty.
std::vector<int32_t> randomOffsets(std::mt19937 &random, int64_t count) {
  std::vector<int32_t> offsets = {0};
  int kind = int(random() % 4);
  for (int64_t i = 0; i < count; ++i) {
    int32_t length = 0;
    if (kind == 0) {
      length = int32_t(random() % 300);
    } else if (kind == 1) {
      length = int32_t(std::exp(double(random() % 1000) / 120.0));
    } else if (kind == 2) {
      length = 777;
    } else if (random() % 5 == 0) {
      length = int32_t(random() % 5000);
    }
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

/// The steps of the tile from `row` on, counted pair by pair.
int64_t countSteps(const Sequences &sequences, const WorkShape &shape,
                   int64_t sequence, int64_t row) {
  bool areKeys = shape.rows == TileRows::Keys;
  int64_t queries = sequences.getQueries(sequence);
  int64_t keys = sequences.getKeys(sequence);
  int64_t others = areKeys ? queries : keys, steps = 0;
  int64_t last = std::min(row + shape.blockM, areKeys ? keys : queries) - 1;
  for (int64_t block = 0; block < others; block += shape.blockN) {
    bool any = false;
    for (int64_t other = block; other < std::min(block + shape.blockN, others);
         ++other) {
      // Whether any row of the tile sees, or is seen.
      int64_t query = areKeys ? other : last, key = areKeys ? row : other;
      any |= !shape.causal || key <= query + keys - queries;
    }
    steps += any;
  }
  return steps;
}

/// Makes a list of sequences of random lengths, and checks it.
void expectRandomListIsGood(std::mt19937 &random, int64_t count,
                            TileRows rows = TileRows::Queries,
                            bool groups = false) {
  std::vector<int32_t> q = randomOffsets(random, count);
  std::vector<int32_t> k = randomOffsets(random, count);
  Sequences sequences = {count, q.data(), k.data(), 0, 0};
  WorkShape shape = makeShape(random() % 2 == 0, 1 + int64_t(random() % 160));
  shape.rows = rows;
  shape.overhead = rows == TileRows::Keys ? 2 : 1;
  if (groups) {
    shape.groupAbove = int64_t(random() % 200);
    shape.sharedHeads = 1 << random() % 4;
    shape.heads = shape.sharedHeads << random() % 3;
  }
  WorkList list = makeList(sequences, shape);
  expectComplete(sequences, shape, list);
  expectBalanced(sequences, shape, list);
}
} // namespace

TEST(WorkList, RandomDistributionsAreCompleteAndBalanced) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 10000; ++trial) {
    expectRandomListIsGood(random, int64_t(random() % 40));
    if (HasFatalFailure()) {
      FAIL() << "in trial " << trial;
    }
  }
}

TEST(WorkList, RandomListsOfGroupsAreCompleteAndBalanced) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 10000; ++trial) {
    TileRows rows = trial % 2 ? TileRows::Keys : TileRows::Queries;
    expectRandomListIsGood(random, int64_t(random() % 40), rows, true);
    if (HasFatalFailure()) {
      FAIL() << "in trial " << trial;
    }
  }
  for (int trial = 0; trial < 50; ++trial) {
    expectRandomListIsGood(random, 5000, TileRows::Queries, true);
  }
}

TEST(WorkList, LongListsHaveAsManyItemsForAnyNumberOfHeads) {
  std::mt19937 random(8);
  // Also where all are of a few tiles, whose shares are the most uneven.
  for (auto [shortest, longest] :
       {std::pair(1, 256), std::pair(500, 512), std::pair(1000, 1024)}) {
    std::vector<int32_t> offsets = {0};
    for (int i = 0; i < 20000; ++i) {
      auto more = int32_t(random()) & (longest - 1);
      offsets.push_back(offsets.back() + std::max(shortest, more + 1));
    }
    Sequences sequences = {20000, offsets.data(), offsets.data(), 0, 0};
    for (bool causal : {false, true}) {
      for (int64_t heads : {1, 4, 16}) {
        WorkShape shape = {128, 128, causal, heads, heads, 512, 132};
        shape.groupAbove = kLongList;
        WorkList list = makeList(sequences, shape);
        expectComplete(sequences, shape, list);
        expectBalanced(sequences, shape, list);
        // All but the last tiles are grouped.
        int64_t last = std::max<int64_t>(kLongList / 4, 132 * heads);
        EXPECT_LE(int64_t(list.items.size()),
                  (list.countTiles() - last) / heads + last + 8 * heads)
            << longest << " tokens, " << heads << " heads";
      }
    }
  }
}

TEST(WorkList, ItemsHaveHeadsWhoseKeysFitTheCache) {
  // 16 MiB of keys and values for each shared head.
  WorkShape shape = {32768 / 2, 128, true, 8, 4, 512, 1};
  shape.groupAbove = 0;
  WorkList list = makeList({3, nullptr, nullptr, 32768, 32768}, shape);
  // The tiles of the last sequence are single; the others' come by section.
  ASSERT_EQ(list.items.size(), 2 * 4 + 16u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(list.items[i].sequence, int32_t(i / 4));
    EXPECT_EQ(list.items[i].row, i % 2 ? 0 : 16384);
    EXPECT_EQ(list.items[i].head, i % 4 < 2 ? 0 : 4);
    EXPECT_EQ(list.items[i].count, 4);
  }
}

TEST(WorkList, RandomListsOfKeysAreCompleteAndBalanced) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 10000; ++trial) {
    expectRandomListIsGood(random, int64_t(random() % 40), TileRows::Keys);
    if (HasFatalFailure()) {
      FAIL() << "in trial " << trial;
    }
  }
  for (int trial = 0; trial < 20; ++trial) {
    expectRandomListIsGood(random, 5000, TileRows::Keys);
  }
}

/// Tiles that wait for the tile before them of the same sequence and head, or
/// if causal after them, can all be done by workers that run at the same time.
static void expectProgress(const Sequences &sequences, const WorkShape &shape,
                           const WorkList &list) {
  std::map<std::pair<int32_t, int32_t>, int64_t> done;
  std::vector<int32_t> next(list.starts.begin(), list.starts.end() - 1);
  size_t left = list.items.size();
  for (bool isGoing = true; isGoing && left > 0;) {
    isGoing = false;
    for (size_t w = 0; w < next.size(); ++w) {
      while (next[w] < list.starts[w + 1]) {
        const WorkItem &item = list.items[size_t(next[w])];
        int64_t &rows = done[{item.sequence, item.head}];
        int64_t last = (sequences.getKeys(item.sequence) - 1) / shape.blockM;
        if (rows !=
            (shape.causal ? last * shape.blockM - item.row : item.row)) {
          break;
        }
        rows += shape.blockM;
        ++next[w];
        --left;
        isGoing = true;
      }
    }
  }
  EXPECT_EQ(left, 0u);
}

TEST(WorkList, TilesInOrderNeverWaitInACircle) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<int32_t> q = {0}, k = {0};
    for (int i = 0, count = int(random() % 40); i < count; ++i) {
      q.push_back(q.back() + int32_t(random() % 3 ? random() % 3000 : 0));
      k.push_back(k.back() + int32_t(random() % 3 ? random() % 3000 : 0));
    }
    Sequences sequences{int64_t(q.size()) - 1, q.data(), k.data(), 0, 0};
    WorkShape shape = makeShape(round % 2 == 1, 1 + random() % 132);
    shape.rows = TileRows::Keys;
    shape.heads = shape.sharedHeads = 1 + random() % 5;
    shape.bytesPerRow = 2048;
    shape.inOrder = true;
    shape.order = WorkOrder(random() % 5);
    WorkList list = makeList(sequences, shape);
    expectComplete(sequences, shape, list);
    expectProgress(sequences, shape, list);
  }
}

TEST(WorkList, TilesInOrderTakeTurnsWithOtherHeads) {
  // Four heads of 4096 keys: at any time 128 tiles run, which are the first to
  // the last of each, and those of one head are four places apart.
  WorkShape shape = makeShape(false, 128);
  shape.rows = TileRows::Keys;
  shape.sharedHeads = 4;
  shape.bytesPerRow = 2048;
  shape.inOrder = true;
  WorkList list = makeList({1, nullptr, nullptr, 4096, 4096}, shape);
  for (int32_t i = 0; i < 128; ++i) {
    EXPECT_EQ(list.items[size_t(i)].head, i % 4);
    EXPECT_EQ(list.items[size_t(i)].row, i / 4 * 128);
  }
}

TEST(WorkList, CostsAreSteps) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 2000; ++trial) {
    auto queries = int64_t(random() % 70), keys = int64_t(random() % 70);
    Sequences sequences = {1, nullptr, nullptr, queries, keys};
    WorkShape shape = makeShape(trial % 2 == 0);
    shape.blockM = 1 + int64_t(random() % 20);
    shape.blockN = 1 + int64_t(random() % 20);
    for (TileRows rows : {TileRows::Queries, TileRows::Keys}) {
      shape.rows = rows;
      shape.overhead = rows == TileRows::Keys ? 2 : 1;
      int64_t end = rows == TileRows::Keys ? keys : queries;
      for (int64_t row = 0; row < end; row += shape.blockM) {
        ASSERT_EQ(getTileCost(sequences, shape, 0, row),
                  shape.overhead + countSteps(sequences, shape, 0, row))
            << queries << " queries, " << keys << " keys, row " << row;
      }
    }
  }
}

TEST(WorkList, FirstKeysComeFirst) {
  // Causal: the first keys of a sequence are seen by the most queries.
  WorkShape shape = {128, 64, true, 1, 1, 512, 1};
  shape.rows = TileRows::Keys;
  std::vector<std::vector<int32_t>> expected = {
      {0, 0, 0}, {0, 128, 0}, {0, 256, 0}, {0, 384, 0}};
  EXPECT_EQ(getItems(makeList({1, nullptr, nullptr, 512, 512}, shape)),
            expected);
}

TEST(WorkList, KeysWithoutQueriesHaveTiles) {
  const int32_t q[] = {0, 0, 0};
  const int32_t k[] = {0, 10, 300};
  Sequences sequences = {2, q, k, 0, 0};
  WorkShape shape = makeShape(true);
  shape.rows = TileRows::Keys;
  WorkList list = makeList(sequences, shape);
  EXPECT_EQ(list.items.size(), 16u);
  expectComplete(sequences, shape, list);
}

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

TEST(WorkList, NumbersHaveAnOrderThatWorkersKeep) {
  const int32_t k[] = {0, 3000, 3001, 3001, 9000};
  WorkShape shape = makeShape(false, 7);
  shape.rows = TileRows::Keys;
  WorkList list = makeList({4, nullptr, k, 300, 0}, shape);
  numberTiles(shape.heads, list);
  std::vector<std::vector<int32_t>> numbers(size_t(shape.heads));
  for (const WorkItem &item : list.items) {
    numbers[size_t(item.head)].push_back(item.count);
  }
  for (std::vector<int32_t> &ofHead : numbers) {
    ASSERT_EQ(ofHead.size(), 24u + 1 + 47);
    std::sort(ofHead.begin(), ofHead.end());
    for (size_t i = 0; i < ofHead.size(); ++i) {
      EXPECT_EQ(ofHead[i], int32_t(i));
    }
  }
  for (size_t w = 0; w + 1 < list.starts.size(); ++w) {
    std::vector<int32_t> last(size_t(shape.heads), -1);
    for (int32_t i = list.starts[w]; i < list.starts[w + 1]; ++i) {
      const WorkItem &item = list.items[size_t(i)];
      EXPECT_GT(item.count, last[size_t(item.head)]);
      last[size_t(item.head)] = item.count;
    }
  }
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

TEST(WorkList, LongListsAreCompleteAndBalanced) {
  std::mt19937 random(2);
  std::vector<int32_t> offsets = randomOffsets(random, 30000);
  Sequences sequences = {30000, offsets.data(), offsets.data(), 0, 0};
  for (bool causal : {false, true}) {
    WorkList list = makeList(sequences, makeShape(causal));
    expectComplete(sequences, makeShape(causal), list);
    expectBalanced(sequences, makeShape(causal), list);
  }
}

TEST(WorkList, LongListsOfAnyKindAreCompleteAndBalanced) {
  // Most of such a list is dealt in turns; one whose costs rise and fall with
  // the turns has to be searched after all.
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    expectRandomListIsGood(random, int64_t(3000 + random() % 3000));
    if (HasFatalFailure()) {
      FAIL() << "in trial " << trial;
    }
  }
}

TEST(WorkList, EveryOrderIsComplete) {
  std::mt19937 random(4);
  for (WorkOrder order : {WorkOrder::Dealt, WorkOrder::Strided,
                          WorkOrder::Unsorted, WorkOrder::Unsectioned}) {
    for (int trial = 0; trial < 100; ++trial) {
      auto count = int64_t(random() % 300);
      std::vector<int32_t> q = randomOffsets(random, count);
      std::vector<int32_t> k = randomOffsets(random, count);
      Sequences sequences = {count, q.data(), k.data(), 0, 0};
      WorkShape shape = makeShape(trial % 2 == 0);
      shape.order = order;
      WorkList list = makeList(sequences, shape);
      expectComplete(sequences, shape, list);
      if (order == WorkOrder::Unsectioned || order == WorkOrder::Unsorted) {
        expectBalanced(sequences, shape, list);
      }
      if (HasFatalFailure()) {
        FAIL() << "in trial " << trial << " of order " << int(order);
      }
    }
  }
}

TEST(WorkList, OrdersDeal) {
  const int32_t k[] = {0, 128, 384, 768};
  Sequences sequences = {3, nullptr, k, 128, 0};
  WorkShape shape = {128, 128, false, 2, 2, 512, 2};
  using Items = std::vector<std::vector<int32_t>>;
  // Costs 4, 4, 3, 3, 2, 2 from the longest sequence on.
  shape.order = WorkOrder::Strided;
  EXPECT_EQ(
      getItems(makeList(sequences, shape)),
      (Items{
          {2, 0, 0}, {1, 0, 0}, {0, 0, 0}, {2, 0, 1}, {1, 0, 1}, {0, 0, 1}}));
  shape.order = WorkOrder::Dealt;
  EXPECT_EQ(
      getItems(makeList(sequences, shape)),
      (Items{
          {2, 0, 0}, {1, 0, 1}, {0, 0, 0}, {2, 0, 1}, {1, 0, 0}, {0, 0, 1}}));
  shape.order = WorkOrder::Unsorted;
  EXPECT_EQ(
      getItems(makeList(sequences, shape)),
      (Items{
          {0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 0, 1}, {1, 0, 1}, {2, 0, 1}}));
}

TEST(WorkList, SectionsFitTheCache) {
  // Two sequences of 16 MiB of keys and values per head: a section is one of
  // them with both heads, and the tiles of the second come after all of the
  // first.
  const int32_t k[] = {0, 32768, 65536};
  Sequences sequences = {2, k, k, 0, 0};
  WorkShape shape = {32768 / 2, 128, true, 2, 2, 512, 1};
  std::vector<std::vector<int32_t>> expected = {
      {0, 16384, 0}, {0, 16384, 1}, {0, 0, 0}, {0, 0, 1},
      {1, 16384, 0}, {1, 16384, 1}, {1, 0, 0}, {1, 0, 1}};
  EXPECT_EQ(getItems(makeList(sequences, shape)), expected);
  shape.order = WorkOrder::Unsectioned;
  expected = {{0, 16384, 0}, {0, 16384, 1}, {1, 16384, 0}, {1, 16384, 1},
              {0, 0, 0},     {0, 0, 1},     {1, 0, 0},     {1, 0, 1}};
  EXPECT_EQ(getItems(makeList(sequences, shape)), expected);
}

TEST(WorkList, LongTilesComeFirst) {
  // Causal: the last rows of a sequence see the most keys.
  WorkList list =
      makeList({1, nullptr, nullptr, 512, 512}, {128, 128, true, 1, 1, 512, 1});
  std::vector<std::vector<int32_t>> expected = {
      {0, 384, 0}, {0, 256, 0}, {0, 128, 0}, {0, 0, 0}};
  EXPECT_EQ(getItems(list), expected);
}

TEST(WorkList, HeadsOfAGroupFollowEachOther) {
  WorkList list =
      makeList({1, nullptr, nullptr, 200, 7}, {128, 128, false, 4, 2, 512, 1});
  std::vector<std::vector<int32_t>> expected = {
      {0, 0, 0}, {0, 128, 0}, {0, 0, 1}, {0, 128, 1},
      {0, 0, 2}, {0, 128, 2}, {0, 0, 3}, {0, 128, 3}};
  EXPECT_EQ(getItems(list), expected);
}

TEST(WorkList, QueriesWithoutKeysHaveTiles) {
  const int32_t q[] = {0, 10, 20};
  const int32_t k[] = {0, 0, 0};
  Sequences sequences = {2, q, k, 0, 0};
  WorkList list = makeList(sequences, makeShape());
  EXPECT_EQ(list.items.size(), 8u);
  expectComplete(sequences, makeShape(), list);
}

TEST(WorkList, BroadcastQueryRepeatsTheQueries) {
  const int32_t k[] = {0, 1, 3};
  Sequences sequences = {2, nullptr, k, 200, 0};
  expectComplete(sequences, makeShape(), makeList(sequences, makeShape()));
}

TEST(WorkList, EmptyBatches) {
  const int32_t none[] = {0};
  EXPECT_TRUE(makeList({0, none, none, 0, 0}, makeShape()).items.empty());
  const int32_t empty[] = {4, 4, 4};
  WorkList list = makeList({2, empty, empty, 0, 0}, makeShape());
  EXPECT_TRUE(list.items.empty());
  EXPECT_EQ(list.starts.size(), 1u);
}

TEST(WorkList, RefusesTooManyTiles) {
  WorkList list;
  WorkShape shape = makeShape();
  shape.blockM = 1;
  Status status = makeWorkList({3, nullptr, nullptr, 1 << 30, 1}, shape, list);
  EXPECT_EQ(status.message,
            "expected 'batch_size' to make at most 536870910 tiles of 1 query "
            "rows of a head, but got more");
  shape.rows = TileRows::Keys;
  status = makeWorkList({3, nullptr, nullptr, 1, 1 << 30}, shape, list);
  EXPECT_EQ(status.message,
            "expected 'batch_size' to make at most 536870910 tiles of 1 keys "
            "of a head, but got more");
}
