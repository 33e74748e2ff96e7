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

int64_t jfa::runtime::getTileCost(const Sequences &sequences,
                                  const WorkShape &shape, int64_t sequence,
                                  int64_t row) {
  int64_t keys = sequences.getKeys(sequence);
  int64_t seen = keys;
  if (shape.causal) {
    int64_t last = row + shape.blockM + keys - sequences.getQueries(sequence);
    seen = std::max<int64_t>(0, std::min(last, keys));
  }
  return (seen + shape.blockN - 1) / shape.blockN + 1;
}

namespace {
template <typename T>
using Array = std::vector<T, UninitializedAllocator<T>>;

/// A sequence with queries.
struct Entry {
  uint32_t keys;
  uint32_t queries;
  int32_t sequence;
  int32_t tiles;
};

/// So many items that follow each other cost the same.
struct CostRun {
  int64_t cost;
  int64_t count;
};

/// What grows with the batch. Each thread keeps its own: fresh pages would cost
/// more time than all that is done with them.
struct Scratch {
  Array<Entry> entries, otherEntries;
  /// In the order in which they are dealt; what they cost; the worker of each.
  Array<WorkItem> items;
  Array<CostRun> costs;
  Array<int32_t> owners;
};

/// Divides integers below 2^31 by a smaller one, rounding down: (n + 1/2) / d is
/// further from the next integer than rounding takes it.
class Divider {
public:
  explicit Divider(int64_t divisor) : inverse(1.0 / double(divisor)) {}

  int32_t operator()(int64_t number) const {
    return int32_t((double(number) + 0.5) * inverse);
  }

private:
  double inverse;
};

/// Half of the cache of a Hopper GPU; the rest is for queries and outputs.
constexpr int64_t kCacheBytes = 32 << 20;
} // namespace

//===----------------------------------------------------------------------===//
// The order of sequences
//===----------------------------------------------------------------------===//

namespace {
/// The sequences with queries, in their order until sortByKeys() is called.
struct Entries {
  Array<Entry> &list;
  /// Tiles of one head.
  int64_t tiles = 0;
  uint32_t mostKeys = 0;
  /// Whether no sequence has more keys than the one before it, and whether each
  /// has as many queries as keys.
  bool falling = true, square = true;

  Entries(const Sequences &sequences, int64_t blockM, Scratch &scratch);
  void sortByKeys(const WorkShape &shape);

private:
  static constexpr int kDigitBits = 12;

  Array<Entry> &other;

  void sortByDigit(int shift, uint32_t roundUp);
};
} // namespace

Entries::Entries(const Sequences &sequences, int64_t blockM, Scratch &scratch)
    : list(scratch.entries), other(scratch.otherEntries) {
  list.resize(size_t(sequences.count));
  Entry *end = list.data();
  Divider divide(blockM);
  uint32_t before = std::numeric_limits<uint32_t>::max();
  for (int64_t i = 0; i < sequences.count; ++i) {
    auto keys = uint32_t(sequences.getKeys(i));
    auto queries = uint32_t(sequences.getQueries(i));
    int32_t count = divide(queries + blockM - 1);
    *end = {keys, queries, int32_t(i), count};
    // Only sequences with queries have tiles.
    if (queries > 0) {
      ++end;
      tiles += count;
      mostKeys = std::max(mostKeys, keys);
      falling &= keys <= before;
      square &= keys == queries;
      before = keys;
    }
  }
  list.resize(size_t(end - list.data()));
}

/// Sorts by falling number of keys, in units that all blocks are multiples of,
/// since nothing else depends on less; stable. A radix sort, as a batch may have
/// a million sequences.
void Entries::sortByKeys(const WorkShape &shape) {
  int unitBits = (shape.blockM | shape.blockN) % 16 == 0 ? 4 : 0;
  uint32_t roundUp = (1u << unitBits) - 1;
  for (int shift = unitBits; shift < 32 && (mostKeys + roundUp) >> shift != 0;
       shift += kDigitBits) {
    sortByDigit(shift, roundUp);
  }
  falling = true;
}

void Entries::sortByDigit(int shift, uint32_t roundUp) {
  constexpr uint32_t kBuckets = 1u << kDigitBits;
  // Complemented digits sort downwards.
  auto digit = [&](const Entry &entry) {
    return ~((entry.keys + roundUp) >> shift) & (kBuckets - 1);
  };
  std::array<uint32_t, kBuckets + 1> starts{};
  for (const Entry &entry : list) {
    ++starts[digit(entry) + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  other.resize(list.size());
  for (const Entry &entry : list) {
    other[starts[digit(entry)]++] = entry;
  }
  list.swap(other);
}

//===----------------------------------------------------------------------===//
// The order of tiles
//===----------------------------------------------------------------------===//

namespace {
/// Lists all tiles in the order in which they are dealt. Of at most the first
/// `tilesToGroup` tiles, an item has the rows of several heads.
class TileOrder {
public:
  TileOrder(const Entries &entries, const WorkShape &shape,
            int64_t tilesToGroup, Scratch &scratch);

  Array<WorkItem> &items;
  Array<CostRun> &costs;
  /// The most that a tile and an item cost.
  int64_t largestTile = 0, largestItem = 0;

private:
  /// The tiles of some heads of a sequence.
  struct Part {
    Entry entry;
    int32_t headBegin;
    int32_t headEnd;
  };
  struct Tile {
    const Part *part;
    int32_t tile;
    int32_t cost;
  };

  size_t addGrouped(int64_t tilesToGroup);
  void addFull(size_t begin);
  void addCausal(size_t begin);
  void addSection();
  void addSquareSection();
  void addSortedSection();

  /// Adds tiles of one cost, one item for each.
  void add(const Part &part, int32_t tile, int32_t numTiles, int32_t cost) {
    WorkItem *next = extend(int64_t(part.headEnd - part.headBegin) * numTiles);
    for (int32_t head = part.headBegin; head < part.headEnd; ++head) {
      for (int32_t i = 0; i < numTiles; ++i) {
        int32_t row = (tile + i) * int32_t(shape.blockM);
        *next++ = {part.entry.sequence, row, head, 1};
      }
      addCost(cost, 1, numTiles);
    }
  }

  /// Counts so many items of `heads` tiles.
  void addCost(int32_t cost, int32_t heads, int64_t count) {
    int64_t itemCost = int64_t(cost) * heads;
    if (itemCost != costs.back().cost) {
      costs.push_back({itemCost, 0});
      largestTile = std::max<int64_t>(largestTile, cost);
      largestItem = std::max(largestItem, itemCost);
    }
    costs.back().count += count;
  }

  /// Makes room for so many items.
  WorkItem *extend(int64_t count) {
    if (numItems + size_t(count) > items.size()) {
      items.resize(2 * (numItems + size_t(count)));
    }
    WorkItem *result = items.data() + numItems;
    numItems += size_t(count);
    return result;
  }

  /// How many key-value heads, of `left`, begin in so many bytes.
  int64_t fitHeads(int64_t left, int64_t headBytes, int64_t bytes) const {
    return left * headBytes <= bytes ? left : (bytes - 1) / headBytes + 1;
  }

  /// What getTileCost() says, faster: this is called often.
  int32_t getCost(const Entry &entry, int64_t tile) const {
    int64_t seen = entry.keys;
    if (shape.causal) {
      int64_t last = (tile + 1) * shape.blockM + entry.keys - entry.queries;
      seen = std::max<int64_t>(0, std::min(last, seen));
    }
    return divideByBlock(seen + shape.blockN - 1) + 1;
  }

  const Entries &entries;
  const WorkShape &shape;
  Divider divideByBlock;
  size_t numItems = 0;
  /// Of the current section, and its tiles.
  Array<Part> section;
  Array<Tile> unsorted, sortedTiles;
  std::vector<uint32_t> places;
};
} // namespace

TileOrder::TileOrder(const Entries &entries, const WorkShape &shape,
                     int64_t tilesToGroup, Scratch &scratch)
    : items(scratch.items), costs(scratch.costs), entries(entries),
      shape(shape), divideByBlock(shape.blockN) {
  costs.assign(1, {0, 0});
  size_t begin = addGrouped(tilesToGroup);
  if (shape.causal) {
    addCausal(begin);
  } else {
    addFull(begin);
  }
  items.resize(numItems);
}

/// Adds whole sequences, with items of as many heads as have their keys in the
/// cache together. Returns the first sequence left.
size_t TileOrder::addGrouped(int64_t tilesToGroup) {
  auto group = int32_t(shape.queryHeads / shape.kvHeads);
  auto blockM = int32_t(shape.blockM);
  for (size_t i = 0; i < entries.list.size(); ++i) {
    const Entry entry = entries.list[i];
    tilesToGroup -= entry.tiles * shape.queryHeads;
    if (tilesToGroup < 0) {
      return i;
    }
    int64_t headBytes = entry.keys * shape.bytesPerKey;
    for (int64_t head = 0; head < shape.kvHeads;) {
      int64_t kvHeads = fitHeads(shape.kvHeads - head, headBytes, kCacheBytes);
      int32_t heads = int32_t(kvHeads) * group;
      WorkItem *next = extend(entry.tiles);
      // The tiles that cost most first.
      for (int32_t tile = entry.tiles - 1; tile >= 0; --tile) {
        *next++ = {entry.sequence, tile * blockM, int32_t(head) * group, heads};
        addCost(getCost(entry, tile), heads, 1);
      }
      head += kvHeads;
    }
  }
  return entries.list.size();
}

/// Without a mask sections do not change the order, since all tiles of a
/// sequence cost the same.
void TileOrder::addFull(size_t begin) {
  for (size_t i = begin; i < entries.list.size(); ++i) {
    const Entry &entry = entries.list[i];
    add({entry, 0, int32_t(shape.queryHeads)}, 0, entry.tiles,
        getCost(entry, 0));
  }
}

void TileOrder::addCausal(size_t begin) {
  int64_t cacheBytes = shape.order == WorkOrder::Unsectioned
                           ? std::numeric_limits<int64_t>::max()
                           : kCacheBytes;
  auto group = int32_t(shape.queryHeads / shape.kvHeads);
  int64_t bytes = 0;
  for (size_t i = begin; i < entries.list.size(); ++i) {
    const Entry &entry = entries.list[i];
    int64_t headBytes = entry.keys * shape.bytesPerKey;
    for (int64_t head = 0; head < shape.kvHeads;) {
      int64_t heads =
          fitHeads(shape.kvHeads - head, headBytes, cacheBytes - bytes);
      section.push_back(
          {entry, int32_t(head) * group, int32_t(head + heads) * group});
      head += heads;
      bytes += heads * headBytes;
      if (bytes >= cacheBytes) {
        addSection();
        bytes = 0;
      }
    }
  }
  addSection();
}

/// Adds the tiles of a section, those that cost most first.
void TileOrder::addSection() {
  if (shape.order == WorkOrder::Unsorted) {
    for (const Part &part : section) {
      for (int32_t tile = 0; tile < part.entry.tiles; ++tile) {
        add(part, tile, 1, getCost(part.entry, tile));
      }
    }
  } else if (entries.square) {
    addSquareSection();
  } else {
    addSortedSection();
  }
  section.clear();
}

/// Counts how many tiles cost how much, so that tiles that cost the same stay in
/// order. A section's costs are about as many as its tiles, or fewer.
void TileOrder::addSortedSection() {
  unsorted.clear();
  int32_t most = 0;
  for (const Part &part : section) {
    for (int32_t tile = 0; tile < part.entry.tiles; ++tile) {
      unsorted.push_back({&part, tile, getCost(part.entry, tile)});
      most = std::max(most, unsorted.back().cost);
    }
  }
  // Where tiles that cost so much begin.
  places.assign(size_t(most) + 2, 0);
  for (const Tile &tile : unsorted) {
    ++places[size_t(most - tile.cost) + 1];
  }
  std::partial_sum(places.begin(), places.end(), places.begin());
  sortedTiles.resize(unsorted.size());
  for (const Tile &tile : unsorted) {
    sortedTiles[places[size_t(most - tile.cost)]++] = tile;
  }
  for (const Tile &tile : sortedTiles) {
    add(*tile.part, tile.tile, 1, tile.cost);
  }
}

/// Sequences come by falling length and costs rise with the tile, so this is
/// the order.
void TileOrder::addSquareSection() {
  size_t parts = 0;
  int32_t tile = section.empty() ? 0 : section.front().entry.tiles;
  while (--tile >= 0) {
    while (parts < section.size() && section[parts].entry.tiles > tile) {
      ++parts;
    }
    for (size_t i = 0; i < parts; ++i) {
      add(section[i], tile, 1, getCost(section[i].entry, tile));
    }
  }
}
//===----------------------------------------------------------------------===//
// Who takes an item
//===----------------------------------------------------------------------===//

/// Gives each item to whoever has least to do. Returns whether no worker has more
/// to do than the mean and the largest tile, as it is if items are tiles.
static bool dealToLeast(const TileOrder &order, int64_t workers,
                        Array<int32_t> &owners) {
  // Costs beyond this are rounded up, by less than a millionth of the largest.
  constexpr int64_t kMaxCost = 1 << 20;
  int64_t unit = order.largestItem / kMaxCost + 1;
  Dealer dealer(workers, order.largestItem / unit + 2);
  owners.resize(order.items.size());
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

/// Deals items in turns: forth and back, or always forth.
static void dealInTurns(const TileOrder &order, int64_t workers, bool back,
                        Array<int32_t> &owners) {
  owners.clear();
  for (size_t i = 0; i < order.items.size(); ++i) {
    auto worker = int32_t(int64_t(i) % workers);
    bool backward = back && int64_t(i) / workers % 2 == 1;
    owners.push_back(backward ? int32_t(workers) - 1 - worker : worker);
  }
}

/// Writes every item to its place.
static void placeItems(const Array<WorkItem> &items,
                       const Array<int32_t> &owners, int64_t workers,
                       WorkList &list) {
  list.starts.assign(size_t(workers) + 1, 0);
  for (int32_t owner : owners) {
    ++list.starts[size_t(owner) + 1];
  }
  std::partial_sum(list.starts.begin(), list.starts.end(), list.starts.begin());
  list.items.reserve(items.size() + 1);
  list.items.resize(items.size());
  list.tiles.assign(size_t(workers), 0);
  std::vector<WorkItem *> next;
  for (int64_t worker = 0; worker < workers; ++worker) {
    next.push_back(list.items.data() + list.starts[size_t(worker)]);
  }
  WorkItem **places = next.data();
  int32_t *tiles = list.tiles.data();
  const int32_t *owner = owners.data();
  for (const WorkItem &item : items) {
    int32_t worker = *owner++;
    tiles[worker] += item.numHeads;
    WorkItem *at = places[worker]++;
    // Items go to as many places as there are workers, which is more than the
    // processor foresees.
    __builtin_prefetch(at + 8, 1);
    std::memcpy(at, &item, sizeof(item));
  }
}

/// Makes the list of `total` tiles.
static void deal(const Entries &entries, const WorkShape &shape, int64_t total,
                 Scratch &scratch, WorkList &list) {
  int64_t workers = std::min(shape.workers, total);
  auto place = [&](const TileOrder &order) {
    placeItems(order.items, scratch.owners, workers, list);
  };
  // The last tiles make up for what items of several heads left uneven, of
  // which workers may have one more or less.
  constexpr int64_t kLong = 1 << 14, kLast = 1 << 12;
  if (shape.groupsHeads && total > kLong) {
    int64_t last = std::max(kLast, 2 * workers * shape.queryHeads);
    TileOrder order(entries, shape, std::max<int64_t>(0, total - last),
                    scratch);
    if (dealToLeast(order, workers, scratch.owners)) {
      return place(order);
    }
  }
  TileOrder order(entries, shape, 0, scratch);
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
  Entries entries(sequences, shape.blockM, scratch);
  // Both are below 2^31 but for a batch that repeats long queries.
  if (entries.tiles > kMaxTiles ||
      entries.tiles * shape.queryHeads > kMaxTiles) {
    return invalid("batch_size", "to make at most ", kMaxTiles, " tiles of ",
                   shape.blockM, " query rows of a head, but got more");
  }
  if (entries.tiles == 0) {
    list.items.clear();
    list.items.reserve(1);
    list.starts.assign(1, 0);
    list.tiles.clear();
    return success();
  }
  if (shape.order != WorkOrder::Unsorted && !entries.falling) {
    entries.sortByKeys(shape);
  }
  deal(entries, shape, entries.tiles * shape.queryHeads, scratch, list);
  return success();
}
