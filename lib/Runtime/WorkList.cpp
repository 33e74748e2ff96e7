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

namespace {
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
} // namespace

/// Steps of the tile from `row` on, of a sequence with so many rows of tiles
/// and `others` of what they are multiplied with.
static int64_t countSteps(const WorkShape &shape, Divider divideByBlock,
                          int64_t row, int64_t rows, int64_t others) {
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
  return divideByBlock(end + shape.blockN - 1) - divideByBlock(begin);
}

int64_t jfa::runtime::getTileCost(const Sequences &sequences,
                                  const WorkShape &shape, int64_t sequence,
                                  int64_t row) {
  int64_t queries = sequences.getQueries(sequence);
  int64_t keys = sequences.getKeys(sequence);
  if (shape.rows == TileRows::Keys) {
    std::swap(queries, keys);
  }
  return shape.overhead +
         countSteps(shape, Divider(shape.blockN), row, queries, keys);
}

namespace {
template <typename T>
using Array = std::vector<T, UninitializedAllocator<T>>;

/// A sequence with tiles.
struct Entry {
  /// What they are multiplied with.
  uint32_t others;
  uint32_t rows;
  int32_t sequence;
  int32_t tiles;
};

/// So many shares that follow each other cost the same, and have as many items
/// each. A share goes to one worker.
struct CostRun {
  int64_t cost;
  int64_t count;
  int64_t items;
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

/// Half of the cache of a Hopper GPU; the rest is for queries and outputs.
constexpr int64_t kCacheBytes = 32 << 20;
} // namespace

//===----------------------------------------------------------------------===//
// The order of sequences
//===----------------------------------------------------------------------===//

namespace {
/// The sequences with tiles, in their order until sortByOthers() is called.
struct Entries {
  Array<Entry> &list;
  /// Tiles of one head.
  int64_t tiles = 0;
  uint32_t mostOthers = 0;
  /// Whether no sequence has more to multiply with than the one before it, and
  /// whether each has as many queries as keys.
  bool falling = true, square = true;

  Entries(const Sequences &sequences, const WorkShape &shape,
          Scratch &scratch);
  void sortByOthers(const WorkShape &shape);

private:
  static constexpr int kDigitBits = 12;

  Array<Entry> &other;

  void sortByDigit(int shift, uint32_t roundUp);
};
} // namespace

Entries::Entries(const Sequences &sequences, const WorkShape &shape,
                 Scratch &scratch)
    : list(scratch.entries), other(scratch.otherEntries) {
  list.resize(size_t(sequences.count));
  Entry *end = list.data();
  Divider divideByTile(shape.blockM);
  uint32_t before = std::numeric_limits<uint32_t>::max();
  for (int64_t i = 0; i < sequences.count; ++i) {
    auto rows = uint32_t(sequences.getQueries(i));
    auto others = uint32_t(sequences.getKeys(i));
    if (shape.rows == TileRows::Keys) {
      std::swap(rows, others);
    }
    int32_t count = divideByTile(rows + shape.blockM - 1);
    *end = {others, rows, int32_t(i), count};
    if (rows > 0) {
      ++end;
      tiles += count;
      mostOthers = std::max(mostOthers, others);
      falling &= others <= before;
      square &= others == rows;
      before = others;
    }
  }
  list.resize(size_t(end - list.data()));
}

/// Sorts by falling number of others, in units that all blocks are multiples of,
/// since nothing else depends on less; stable. A radix sort, as a batch may have
/// a million sequences.
void Entries::sortByOthers(const WorkShape &shape) {
  int unitBits = (shape.blockM | shape.blockN) % 16 == 0 ? 4 : 0;
  uint32_t roundUp = (1u << unitBits) - 1;
  for (int shift = unitBits; shift < 32 && (mostOthers + roundUp) >> shift != 0;
       shift += kDigitBits) {
    sortByDigit(shift, roundUp);
  }
  falling = true;
}

void Entries::sortByDigit(int shift, uint32_t roundUp) {
  constexpr uint32_t kBuckets = 1u << kDigitBits;
  // Complemented digits sort downwards.
  auto digit = [&](const Entry &entry) {
    return ~((entry.others + roundUp) >> shift) & (kBuckets - 1);
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
  /// The most that a tile and a share cost.
  int64_t largestTile = 0, largestShare = 0;

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
  void addItems(const Part &part, bool oneShare);
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
    }
    addCost(cost, int64_t(part.headEnd - part.headBegin) * numTiles, 1);
    largestTile = std::max<int64_t>(largestTile, cost);
  }

  /// Counts so many shares of `numItems` items.
  void addCost(int64_t cost, int64_t count, int64_t numItems) {
    CostRun &last = costs.back();
    if (cost == last.cost && numItems == last.items) {
      last.count += count;
      return;
    }
    costs.push_back({cost, count, numItems});
    largestShare = std::max(largestShare, cost);
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

  /// How many shared heads, of `left`, begin in so many bytes.
  int64_t fitHeads(int64_t left, int64_t headBytes, int64_t bytes) const {
    return left * headBytes <= bytes ? left : (bytes - 1) / headBytes + 1;
  }

  int32_t getCost(const Entry &entry, int64_t tile) const {
    return int32_t(shape.overhead + countSteps(shape, divideByBlock,
                                               tile * shape.blockM, entry.rows,
                                               entry.others));
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
  costs.assign(1, {0, 0, 1});
  size_t begin = addGrouped(tilesToGroup);
  if (shape.causal) {
    addCausal(begin);
  } else {
    addFull(begin);
  }
  items.resize(numItems);
}

/// Adds whole sequences, with items of as many heads as have their keys in the
/// cache together. The tiles of short sequences are one share. Returns the first
/// sequence left.
size_t TileOrder::addGrouped(int64_t tilesToGroup) {
  constexpr int32_t kShort = 4;
  auto group = int32_t(shape.heads / shape.sharedHeads);
  for (size_t i = 0; i < entries.list.size(); ++i) {
    const Entry entry = entries.list[i];
    tilesToGroup -= entry.tiles * shape.heads;
    if (tilesToGroup < 0) {
      return i;
    }
    int64_t headBytes = entry.others * shape.bytesPerRow;
    for (int64_t head = 0; head < shape.sharedHeads;) {
      int64_t heads =
          fitHeads(shape.sharedHeads - head, headBytes, kCacheBytes);
      addItems({entry, int32_t(head) * group, int32_t(head + heads) * group},
               entry.tiles <= kShort);
      head += heads;
    }
  }
  return entries.list.size();
}

/// Adds an item for each tile, those that cost most first: the last queries or
/// the first keys.
void TileOrder::addItems(const Part &part, bool oneShare) {
  int32_t heads = part.headEnd - part.headBegin, tiles = part.entry.tiles;
  WorkItem *next = extend(tiles);
  int64_t sum = 0;
  for (int32_t i = 0; i < tiles; ++i) {
    int32_t tile = shape.rows == TileRows::Keys ? i : tiles - 1 - i;
    int64_t cost = getCost(part.entry, tile);
    largestTile = std::max(largestTile, cost);
    *next++ = {part.entry.sequence, tile * int32_t(shape.blockM),
               part.headBegin, heads};
    sum += cost;
    if (!oneShare) {
      addCost(cost * heads, 1, 1);
    }
  }
  if (oneShare) {
    addCost(sum * heads, 1, tiles);
  }
}

/// Without a mask sections do not change the order, since all tiles of a
/// sequence cost the same.
void TileOrder::addFull(size_t begin) {
  for (size_t i = begin; i < entries.list.size(); ++i) {
    const Entry &entry = entries.list[i];
    add({entry, 0, int32_t(shape.heads)}, 0, entry.tiles,
        getCost(entry, 0));
  }
}

void TileOrder::addCausal(size_t begin) {
  int64_t cacheBytes = shape.order == WorkOrder::Unsectioned
                           ? std::numeric_limits<int64_t>::max()
                           : kCacheBytes;
  auto group = int32_t(shape.heads / shape.sharedHeads);
  int64_t bytes = 0;
  for (size_t i = begin; i < entries.list.size(); ++i) {
    const Entry &entry = entries.list[i];
    int64_t headBytes = entry.others * shape.bytesPerRow;
    for (int64_t head = 0; head < shape.sharedHeads;) {
      int64_t heads =
          fitHeads(shape.sharedHeads - head, headBytes, cacheBytes - bytes);
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
  } else if (entries.square && shape.rows == TileRows::Queries) {
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

/// Gives each share to whoever has least to do. Returns whether no worker has more
/// to do than the mean and the largest tile, as it is if shares are tiles.
static bool dealToLeast(const TileOrder &order, int64_t workers,
                        Array<int32_t> &owners) {
  // Costs beyond this are rounded up, by less than a millionth of the largest.
  constexpr int64_t kMaxCost = 1 << 20;
  int64_t unit = order.largestShare / kMaxCost + 1;
  Dealer dealer(workers, order.largestShare / unit + 2);
  owners.resize(order.items.size());
  int32_t *next = owners.data();
  for (const CostRun &run : order.costs) {
    dealer.give((run.cost + unit - 1) / unit, run.count, next);
    // From one owner for each share to one for each item.
    for (int64_t i = run.count; run.items > 1 && i-- > 0;) {
      int32_t owner = next[i];
      std::fill_n(next + i * run.items, run.items, owner);
    }
    next += run.count * run.items;
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
  // The last tiles make up for what larger shares left uneven, of which workers
  // may have one more or less.
  if (total > shape.groupAbove) {
    int64_t last = std::max(shape.groupAbove / 4, 2 * workers * shape.heads);
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
  Entries entries(sequences, shape, scratch);
  // Both are below 2^31 but for a batch that repeats long queries.
  if (entries.tiles > kMaxTiles ||
      entries.tiles * shape.heads > kMaxTiles) {
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
  if (shape.order != WorkOrder::Unsorted && !entries.falling) {
    entries.sortByOthers(shape);
  }
  deal(entries, shape, entries.tiles * shape.heads, scratch, list);
  return success();
}
