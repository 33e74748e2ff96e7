//===- RunList.cpp - Runs of key tiles for resident queries -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"

#include <algorithm>
#include <limits>

using namespace jfa::runtime;

// In halves of what a tile takes: a run begins with the gradients of another
// sequence's output, and a worker begins with its queries and ends with their
// gradient.
static constexpr int64_t kTileCost = 2, kRunCost = 1, kWorkerCost = 4;

namespace {
/// The runs of one head, cut where workers end.
class Cutter {
public:
  Cutter(const Sequences &sequences, int64_t block) : sequences(sequences) {
    for (int64_t i = 0; i < sequences.count; ++i) {
      int64_t tiles = (sequences.getKeys(i) + block - 1) / block;
      numTiles += tiles;
      cost += tiles > 0 ? tiles * kTileCost + kRunCost : 0;
    }
    this->block = block;
  }

  /// Calls `take(worker, sequence, tile, count)` for each run of `workers`
  /// workers, all of which get a share if there are as many tiles.
  template <typename Take>
  void forEach(int64_t workers, Take take) const {
    int64_t worker = 0, taken = 0, own = 0, before = 0;
    for (int64_t i = 0; i < sequences.count; ++i) {
      int64_t tiles = (sequences.getKeys(i) + block - 1) / block;
      for (int64_t tile = 0; tile < tiles;) {
        // Up to where this worker's share of the cost ends, but no tile is cut,
        // and the workers after it get a tile each.
        int64_t end = cost * (worker + 1) / workers;
        int64_t room = (end - before - kRunCost + kTileCost / 2) / kTileCost;
        int64_t spare = numTiles - taken - (workers - worker - 1);
        bool isLast = worker + 1 == workers;
        int64_t least = own == 0 ? 1 : 0;
        int64_t count =
            isLast ? tiles - tile
                   : std::min({std::max(room, least), spare, tiles - tile});
        if (count == 0) {
          ++worker;
          own = 0;
          continue;
        }
        take(worker, i, tile, count);
        before += count * kTileCost + (tile == 0 ? kRunCost : 0);
        taken += count;
        own += count;
        tile += count;
      }
    }
  }

  const Sequences &sequences;
  int64_t block;
  int64_t numTiles = 0, cost = 0;
};
} // namespace

/// How many workers each head gets.
static int64_t chooseWorkers(const Cutter &cutter, int64_t heads,
                             int64_t atATime) {
  int64_t best = 1, bestTime = std::numeric_limits<int64_t>::max();
  int64_t most = std::max<int64_t>(8, 4 * atATime / heads);
  for (int64_t each = 1; each <= std::min(most, cutter.numTiles); ++each) {
    int64_t rounds = (heads * each + atATime - 1) / atATime;
    int64_t share = std::max((cutter.cost + each - 1) / each,
                             (cutter.numTiles + each - 1) / each * kTileCost);
    int64_t time = rounds * (share + kWorkerCost);
    if (time < bestTime) {
      best = each;
      bestTime = time;
    }
  }
  return best;
}

/// Gives workers of every head the items of those in `list`, which are one
/// head's. They start in this order: those of all heads with the same share
/// together.
static Status repeatForHeads(int64_t heads, WorkList &list) {
  // The kernel multiplies an item's number by four in 32 bits.
  constexpr int64_t kMaxItems = std::numeric_limits<int32_t>::max() / 4 - 1;
  auto numItems = int64_t(list.items.size());
  if (numItems > kMaxItems / heads) {
    return invalid("batch_size", "to make at most ", kMaxItems,
                   " runs of keys of a head, but got more");
  }
  WorkList one = std::move(list);
  list = {};
  list.items.reserve(size_t(numItems * heads) + 1);
  list.starts.assign(1, 0);
  for (size_t worker = 0; worker + 1 < one.starts.size(); ++worker) {
    auto begin = size_t(one.starts[worker]),
         end = size_t(one.starts[worker + 1]);
    for (int64_t head = 0; head < heads; ++head) {
      for (size_t i = begin; i < end; ++i) {
        list.items.push_back(one.items[i]);
        list.items.back().head = int32_t(head);
      }
      list.starts.push_back(int32_t(list.items.size()));
      list.tiles.push_back(int32_t(end - begin));
    }
  }
  return success();
}

void jfa::runtime::numberTiles(int64_t heads, WorkList &list) {
  std::vector<int32_t> next(size_t(heads), 0);
  // Workers take their r-th tiles at about the same time.
  bool isAny = true;
  for (int32_t r = 0; isAny; ++r) {
    isAny = false;
    for (size_t worker = 0; worker + 1 < list.starts.size(); ++worker) {
      int32_t at = list.starts[worker] + r;
      if (at < list.starts[worker + 1]) {
        WorkItem &item = list.items[size_t(at)];
        item.count = next[size_t(item.head)]++;
        isAny = true;
      }
    }
  }
}

Status jfa::runtime::makeRunList(const Sequences &sequences,
                                 const WorkShape &shape, WorkList &list) {
  list.items.clear();
  list.starts.assign(1, 0);
  list.tiles.clear();
  Cutter cutter(sequences, shape.blockM);
  if (cutter.numTiles == 0) {
    return success();
  }
  int64_t each = chooseWorkers(cutter, shape.heads, shape.workers);
  std::vector<int32_t> counts(size_t(each), 0);
  cutter.forEach(
      each, [&](int64_t worker, int64_t sequence, int64_t tile, int64_t count) {
        list.items.push_back({int32_t(sequence), int32_t(tile * shape.blockM),
                              0, int32_t(count)});
        ++counts[size_t(worker)];
      });
  for (int32_t count : counts) {
    list.starts.push_back(list.starts.back() + count);
  }
  return repeatForHeads(shape.heads, list);
}
