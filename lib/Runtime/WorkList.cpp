//===- WorkList.cpp - The order of an attention's tiles ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"
#include "TileDealer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

using namespace jfa::runtime;

/// Steps of the tile from `row` on, of a sequence with so many rows of tiles
/// and `others` of what they are multiplied with.
static int64_t countSteps(const WorkShape &shape, int64_t row, int64_t rows,
                          int64_t others) {
  // Rows end at the same place, so that the last query sees the last key. Query
  // tiles see a beginning of the keys, key tiles are seen by an end of the
  // queries.
  int64_t begin = 0, end = others;
  if (shape.causal && shape.rows == TileRows::Queries) {
    end = std::clamp<int64_t>(row + shape.blockM + others - rows, 0, others);
  } else if (shape.causal) {
    begin = std::max<int64_t>(row + others - rows, 0);
  }
  if (begin >= end) {
    return 0;
  }
  // Of 32 bits, since divisions take time and this is called often.
  auto blockN = uint32_t(shape.blockN);
  return (uint32_t(end) + blockN - 1) / blockN - uint32_t(begin) / blockN;
}

int64_t jfa::runtime::getTileCost(const Sequences &sequences,
                                  const WorkShape &shape, int64_t sequence,
                                  int64_t row) {
  int64_t queries = sequences.getQueries(sequence);
  int64_t keys = sequences.getKeys(sequence);
  return shape.overhead + (shape.rows == TileRows::Queries
                               ? countSteps(shape, row, queries, keys)
                               : countSteps(shape, row, keys, queries));
}

//===----------------------------------------------------------------------===//
// The order of tiles
//===----------------------------------------------------------------------===//

namespace {
/// Tiles of one sequence that cost the same: for each head those from `tile`
/// on.
struct Run {
  int32_t sequence;
  int32_t tile;
  int32_t numTiles;
  int32_t headBegin;
  int32_t headEnd;
  int32_t cost;

  int64_t getCount() const { return int64_t(numTiles) * (headEnd - headBegin); }
};

/// Hands out all tiles in the order in which they are dealt.
class TileOrder {
public:
  TileOrder(const Sequences &sequences, const WorkShape &shape);

  /// Calls `take(run)` for each run, section by section.
  template <typename Take>
  void forEach(Take &take);

  /// Tiles of all heads, or a number that is too large as well.
  int64_t countTiles() const {
    int64_t tiles = 0;
    for (const Entry &entry : entries) {
      tiles += entry.tiles;
    }
    // Both are below 2^31 but for a batch that repeats long queries.
    return tiles > std::numeric_limits<int32_t>::max() ? tiles
                                                       : tiles * shape.heads;
  }

private:
  /// A sequence with tiles.
  struct Entry {
    /// What they are multiplied with.
    uint32_t others;
    uint32_t rows;
    int32_t sequence;
    int32_t tiles;
  };
  /// The tiles of some heads of a sequence.
  struct Part {
    Entry entry;
    int32_t headBegin;
    int32_t headEnd;
  };
  template <typename T>
  using Array = std::vector<T, UninitializedAllocator<T>>;

  /// Half of the cache of a Hopper GPU; the rest is for queries and outputs.
  static constexpr int64_t kCacheBytes = 32 << 20;

  void sortByOthers(uint32_t anyOthers);
  template <typename Take>
  void takePart(const Part &part, Take &take);
  template <typename Take>
  void takeSection(Take &take);

  int32_t getCost(const Entry &entry, int64_t tile) const {
    return int32_t(shape.overhead + countSteps(shape, tile * shape.blockM,
                                               entry.rows, entry.others));
  }

  Run getTile(const Part &part, int32_t tile) const {
    return {part.entry.sequence, tile,         1,
            part.headBegin,      part.headEnd, getCost(part.entry, tile)};
  }

  const WorkShape &shape;
  bool sorted;
  /// Whether no sequence has more to multiply with than the one before it, and
  /// whether each has as many queries as keys.
  bool falling = true, square = true;
  Array<Entry> entries;
  /// Of the current section, if tiles are sorted.
  Array<Part> section;
  Array<Run> runs;
  std::vector<uint64_t> keys;
};
} // namespace

TileOrder::TileOrder(const Sequences &sequences, const WorkShape &shape)
    : shape(shape), sorted(shape.order != WorkOrder::Unsorted) {
  entries.resize(size_t(sequences.count));
  Entry *end = entries.data();
  auto blockM = uint32_t(shape.blockM);
  uint32_t anyOthers = 0;
  uint32_t before = std::numeric_limits<uint32_t>::max();
  for (int64_t i = 0; i < sequences.count; ++i) {
    auto rows = uint32_t(sequences.getQueries(i));
    auto others = uint32_t(sequences.getKeys(i));
    if (shape.rows == TileRows::Keys) {
      std::swap(rows, others);
    }
    *end = {others, rows, int32_t(i), int32_t((rows + blockM - 1) / blockM)};
    if (rows > 0) {
      ++end;
      anyOthers |= others;
      falling &= others <= before;
      square &= others == rows;
      before = others;
    }
  }
  entries.resize(size_t(end - entries.data()));
  if (sorted && !falling) {
    sortByOthers(anyOthers);
    falling = true;
  }
}

/// Sorts by falling number of others; stable. A radix sort, since a batch may
/// have a million sequences.
void TileOrder::sortByOthers(uint32_t anyOthers) {
  constexpr int kBits = 11;
  constexpr uint32_t kBuckets = 1u << kBits;
  Array<Entry> other(entries.size());
  for (int shift = 0; shift < 32 && (anyOthers >> shift) != 0; shift += kBits) {
    // Complemented digits sort downwards.
    auto digit = [&](const Entry &entry) {
      return ~(entry.others >> shift) & (kBuckets - 1);
    };
    std::array<uint32_t, kBuckets + 1> starts{};
    for (const Entry &entry : entries) {
      ++starts[digit(entry) + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (const Entry &entry : entries) {
      other[starts[digit(entry)]++] = entry;
    }
    entries.swap(other);
  }
}

template <typename Take>
void TileOrder::forEach(Take &take) {
  if (!shape.causal) {
    // Sections do not change the order: all tiles of a sequence cost the same.
    for (const Entry &entry : entries) {
      take({entry.sequence, 0, entry.tiles, 0, int32_t(shape.heads),
            getCost(entry, 0)});
    }
    return;
  }
  int64_t cacheBytes = shape.order == WorkOrder::Unsectioned
                           ? std::numeric_limits<int64_t>::max()
                           : kCacheBytes;
  auto group = int32_t(shape.heads / shape.sharedHeads);
  int64_t bytes = 0;
  for (const Entry &entry : entries) {
    int64_t headBytes = entry.others * shape.bytesPerRow;
    for (int64_t head = 0; head < shape.sharedHeads;) {
      // As many heads as begin in what is left of the section.
      int64_t heads = shape.sharedHeads - head;
      if (heads * headBytes > cacheBytes - bytes) {
        heads = (cacheBytes - bytes - 1) / headBytes + 1;
      }
      Part part = {entry, int32_t(head) * group, int32_t(head + heads) * group};
      head += heads;
      bytes += heads * headBytes;
      if (sorted) {
        section.push_back(part);
      } else {
        takePart(part, take);
      }
      if (bytes >= cacheBytes) {
        takeSection(take);
        bytes = 0;
      }
    }
  }
  takeSection(take);
}

template <typename Take>
void TileOrder::takePart(const Part &part, Take &take) {
  for (int32_t tile = 0; tile < part.entry.tiles; ++tile) {
    take(getTile(part, tile));
  }
}

/// Takes the tiles of a section, those that cost most first.
template <typename Take>
void TileOrder::takeSection(Take &take) {
  if (square && shape.rows == TileRows::Queries && !section.empty()) {
    // Sequences come by falling length and costs rise with the tile, so this is
    // the order.
    size_t parts = 0;
    for (int32_t tile = section.front().entry.tiles - 1; tile >= 0; --tile) {
      while (parts < section.size() && section[parts].entry.tiles > tile) {
        ++parts;
      }
      for (size_t i = 0; i < parts; ++i) {
        take(getTile(section[i], tile));
      }
    }
    section.clear();
    return;
  }
  auto collect = [&](const Run &run) { runs.push_back(run); };
  for (const Part &part : section) {
    takePart(part, collect);
  }
  section.clear();
  // Cost and place as one number, so that tiles that cost the same stay in
  // order.
  keys.clear();
  for (const Run &run : runs) {
    keys.push_back(uint64_t(~uint32_t(run.cost)) << 32 | keys.size());
  }
  std::sort(keys.begin(), keys.end());
  for (uint64_t key : keys) {
    take(runs[uint32_t(key)]);
  }
  runs.clear();
}

//===----------------------------------------------------------------------===//
// Who takes a tile
//===----------------------------------------------------------------------===//

/// Deals a list of `total` tiles.
static Dealer dealTiles(TileOrder &order, const WorkShape &shape,
                        int64_t total) {
  std::vector<CostRun> runs;
  auto collect = [&](const Run &run) {
    if (runs.empty() || runs.back().cost != run.cost) {
      runs.push_back({run.cost, 0});
    }
    runs.back().count += run.getCount();
  };
  order.forEach(collect);
  int64_t workers =
      std::min({shape.workers, total, int64_t(Dealer::kMaxWorkers)});
  Dealer dealer(workers, shape.order != WorkOrder::Strided);
  if (shape.order == WorkOrder::Dealt || shape.order == WorkOrder::Strided) {
    dealer.deal(runs, 0, total, total);
    return dealer;
  }
  // Searching takes longer than dealing. Its end makes up for what dealing left
  // uneven, which is little if costs only fall, or if the largest were
  // searched.
  constexpr int64_t kShort = 1 << 14, kLast = 1 << 12, kFirst = 1 << 14;
  if (total > kShort) {
    bool falling = std::is_sorted(
        runs.begin(), runs.end(),
        [](const CostRun &a, const CostRun &b) { return a.cost > b.cost; });
    int64_t begin = falling ? 0 : std::min(total - kLast, kFirst);
    dealer.deal(runs, begin, total - kLast, total);
    if (dealer.isBalanced(runs)) {
      return dealer;
    }
  }
  dealer.deal(runs, 0, 0, total);
  return dealer;
}

namespace {
/// Writes every tile to its place.
class Placer {
public:
  Placer(const WorkShape &shape, const Dealer &dealer, WorkList &list)
      : turns(dealer.turns), blockM(int32_t(shape.blockM)), turn(turns.data()),
        owner(dealer.owners.data()), searched(dealer.dealtBegin),
        dealt(dealer.dealtEnd - dealer.dealtBegin) {
    for (size_t worker = 0; worker < dealer.counts.size(); ++worker) {
      next.push_back(list.items.data() + list.starts[worker]);
    }
  }

  void operator()(const Run &run) {
    int64_t count = run.getCount();
    if (searched == 0 && count <= dealt) {
      dealt -= count;
      const int32_t *at = turn, *end = turns.data() + turns.size();
      place(run, [&] {
        int32_t worker = *at++;
        at = at == end ? turns.data() : at;
        return worker;
      });
      turn = at;
    } else {
      place(run, [&] { return getWorker(); });
    }
  }

private:
  int32_t getWorker() {
    if (searched > 0 || dealt == 0) {
      searched -= searched > 0;
      return *owner++;
    }
    --dealt;
    int32_t worker = *turn++;
    if (turn == turns.data() + turns.size()) {
      turn = turns.data();
    }
    return worker;
  }

  template <typename GetWorker>
  void place(const Run &run, GetWorker getWorker) {
    WorkItem **places = next.data();
    int32_t first = run.tile * blockM, end = first + run.numTiles * blockM;
    for (int32_t head = run.headBegin; head < run.headEnd; ++head) {
      for (int32_t row = first; row != end; row += blockM) {
        WorkItem *&at = places[getWorker()];
        // Tiles go to as many places as there are workers, which is more than
        // the processor foresees.
        __builtin_prefetch(at + 8, 1);
        // Two stores.
        const uint64_t item[2] = {uint64_t(uint32_t(row)) << 32 |
                                      uint32_t(run.sequence),
                                  uint32_t(head)};
        std::memcpy(at, &item[0], 8);
        std::memcpy(&at->head, &item[1], 8);
        ++at;
      }
    }
  }

  const std::vector<int32_t> &turns;
  int32_t blockM;
  const int32_t *turn;
  const int32_t *owner;
  /// Tiles until turns begin, and those in turns.
  int64_t searched, dealt;
  /// Where each worker's next tile goes.
  std::vector<WorkItem *> next;
};
} // namespace

Status jfa::runtime::makeWorkList(const Sequences &sequences,
                                  const WorkShape &shape, WorkList &list) {
  // The kernel multiplies an item's number by four in 32 bits.
  constexpr int64_t kMaxItems = std::numeric_limits<int32_t>::max() / 4 - 1;
  TileOrder order(sequences, shape);
  int64_t total = order.countTiles();
  if (total > kMaxItems) {
    return invalid("batch_size", "to make at most ", kMaxItems, " tiles of ",
                   shape.blockM,
                   shape.rows == TileRows::Queries ? " query rows" : " keys",
                   " of a head, but got more");
  }
  list.items.clear();
  list.items.reserve(size_t(total) + 1);
  list.starts.assign(1, 0);
  if (total == 0) {
    return success();
  }
  Dealer dealer = dealTiles(order, shape, total);
  for (int64_t count : dealer.counts) {
    list.starts.push_back(list.starts.back() + int32_t(count));
  }
  list.items.resize(size_t(total));
  Placer placer(shape, dealer, list);
  order.forEach(placer);
  return success();
}
