//===- WorkList.cpp - The order of an attention's tiles ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"
#include "TileDealer.h"
#include "TileOrder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

using namespace jfa::runtime;

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

/// The least length but 0, 0 if there is none, and the greatest.
static std::pair<int64_t, int64_t> findRange(const int32_t *offsets,
                                             int64_t count, int64_t length) {
  if (!offsets || count == 0) {
    return {length, length};
  }
  // One less than a length, so that 0 is the most of all.
  uint32_t least = std::numeric_limits<uint32_t>::max(), most = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t each = uint32_t(offsets[i + 1]) - uint32_t(offsets[i]);
    least = std::min(least, each - 1);
    most = std::max(most, each);
  }
  return {int64_t(uint32_t(least + 1)), int64_t(most)};
}

Lengths jfa::runtime::findLengths(const Sequences &sequences) {
  auto [fewest, most] =
      findRange(sequences.qOffsets, sequences.count, sequences.qLength);
  auto keys = findRange(sequences.kOffsets, sequences.count, sequences.kLength);
  return {fewest, most, keys.second};
}

//===----------------------------------------------------------------------===//
// Who takes an item
//===----------------------------------------------------------------------===//

/// Gives each share to whoever has least to do. Returns whether no worker has
/// more to do than the mean and the largest tile, as it is if shares are tiles.
static bool dealToLeast(const TileOrder &order, int64_t workers,
                        Array<int32_t> &owners) {
  // Costs beyond this are rounded up, by less than a millionth of the largest.
  constexpr int64_t kMaxCost = 1 << 20;
  int64_t unit = order.largestShare / kMaxCost + 1;
  Dealer dealer(workers, order.largestShare / unit + 2);
  owners.resize(size_t(order.countShares()));
  int32_t *next = owners.data();
  for (const CostRun &run : order.costs) {
    dealer.give((run.cost + unit - 1) / unit, run.count, next);
    next += run.count;
  }
  const std::vector<int64_t> &loads = dealer.getLoads();
  int64_t total = std::accumulate(loads.begin(), loads.end(), int64_t(0));
  int64_t busiest = *std::max_element(loads.begin(), loads.end());
  return busiest * workers <= total + order.largestTile * workers / unit;
}

/// Deals shares in turns: forth and back, or always forth.
static void dealInTurns(const TileOrder &order, int64_t workers, bool back,
                        Array<int32_t> &owners) {
  owners.clear();
  for (int64_t i = 0, end = order.countShares(); i < end; ++i) {
    auto worker = int32_t(i % workers);
    bool backward = back && i / workers % 2 == 1;
    owners.push_back(backward ? int32_t(workers) - 1 - worker : worker);
  }
}

/// Writes every item to its place.
static void placeItems(const TileOrder &order, const Array<int32_t> &owners,
                       int64_t workers, WorkList &list) {
  list.starts.assign(size_t(workers) + 1, 0);
  const int32_t *owner = owners.data();
  for (const CostRun &run : order.costs) {
    for (int64_t i = 0; i < run.count; ++i) {
      list.starts[size_t(*owner++) + 1] += int32_t(run.items);
    }
  }
  std::partial_sum(list.starts.begin(), list.starts.end(), list.starts.begin());
  auto numItems = size_t(list.starts.back());
  list.items.reserve(numItems + 1);
  list.items.resize(numItems);
  struct Place {
    WorkItem *next;
    int64_t tiles;
  };
  std::vector<Place> places;
  for (int64_t worker = 0; worker < workers; ++worker) {
    places.push_back({list.items.data() + list.starts[size_t(worker)], 0});
  }
  owner = owners.data();
  order.write([&](int32_t items, int32_t tiles) {
    Place &place = places[size_t(*owner++)];
    WorkItem *at = place.next;
    place.next += items;
    place.tiles += tiles;
    // Items go to as many places as there are workers, which is more than the
    // processor foresees.
    __builtin_prefetch(place.next + 7, 1);
    return at;
  });
  list.tiles.clear();
  for (const Place &place : places) {
    list.tiles.push_back(int32_t(place.tiles));
  }
}

/// Makes the list of `total` tiles.
static void deal(const Entries &entries, const WorkShape &shape, int64_t total,
                 Scratch &scratch, WorkList &list) {
  int64_t workers = std::min(shape.workers, total);
  auto place = [&](const TileOrder &order) {
    placeItems(order, scratch.owners, workers, list);
  };
  // The last tiles make up for what larger shares left uneven, of which workers
  // may have one more or less.
  if (total > shape.groupAbove) {
    int64_t last = std::max(shape.groupAbove / 4, 2 * workers * shape.heads);
    TileOrder order(entries, shape, std::max<int64_t>(0, total - last),
                    (last + workers - 1) / workers, scratch);
    if (dealToLeast(order, workers, scratch.owners)) {
      return place(order);
    }
  }
  TileOrder order(entries, shape, 0, 0, scratch);
  if (shape.order == WorkOrder::Dealt || shape.order == WorkOrder::Strided) {
    bool back = shape.order == WorkOrder::Dealt;
    dealInTurns(order, workers, back, scratch.owners);
  } else {
    dealToLeast(order, workers, scratch.owners);
  }
  place(order);
}

Status jfa::runtime::makeWorkList(const Sequences &sequences,
                                  const WorkShape &shape, WorkList &list) {
  // The kernel multiplies an item's number by four in 32 bits.
  constexpr int64_t kMaxTiles = std::numeric_limits<int32_t>::max() / 4 - 1;
  static thread_local Scratch scratch;
  Entries entries(sequences, shape, scratch);
  // Both are below 2^31 but for a batch that repeats long queries.
  if (entries.tiles > kMaxTiles || entries.tiles * shape.heads > kMaxTiles) {
    return invalid("batch_size", "to make at most ", kMaxTiles, " tiles of ",
                   shape.blockM,
                   shape.rows == TileRows::Queries ? " query rows" : " keys",
                   " of a head, but got more");
  }
  if (entries.tiles == 0) {
    list.items.clear();
    list.items.reserve(1);
    list.starts.assign(1, 0);
    list.tiles.clear();
    return success();
  }
  deal(entries, shape, entries.tiles * shape.heads, scratch, list);
  return success();
}

void jfa::runtime::splitTails(WorkList &list) {
  constexpr int32_t kTail = 4;
  auto workers = list.tiles.size();
  auto getTail = [&](size_t worker) {
    return (list.starts[worker + 1] - list.starts[worker]) / kTail;
  };
  WorkList split;
  split.items.reserve(list.items.size() + 1);
  split.starts.push_back(0);
  auto add = [&](int32_t begin, int32_t end) {
    int32_t tiles = 0;
    for (int32_t i = begin; i < end; ++i) {
      split.items.push_back(list.items[size_t(i)]);
      tiles += split.items.back().count;
    }
    split.starts.push_back(int32_t(split.items.size()));
    split.tiles.push_back(tiles);
  };
  int32_t longest = 0;
  for (size_t worker = 0; worker < workers; ++worker) {
    add(list.starts[worker], list.starts[worker + 1] - getTail(worker));
    longest = std::max(longest, getTail(worker));
  }
  for (int32_t left = longest; left > 0; --left) {
    for (size_t worker = 0; worker < workers; ++worker) {
      if (getTail(worker) >= left) {
        int32_t at = list.starts[worker + 1] - left;
        add(at, at + 1);
      }
    }
  }
  list = std::move(split);
}
