//===- TileOrder.cpp - The order in which tiles are dealt -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileOrder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

using namespace jfa::runtime;

/// Steps of the tile from `row` on, of a sequence with so many rows of tiles
/// and `others` of what they are multiplied with.
static inline int32_t countSteps(const WorkShape &shape, Divider divideByBlock,
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

inline int32_t TileOrder::getCost(const Entry &entry, int32_t tile) const {
  return int32_t(shape.overhead + countSteps(shape, divideByBlock,
                                             int64_t(tile) * shape.blockM,
                                             entry.rows, entry.others));
}

//===----------------------------------------------------------------------===//
// The order of sequences
//===----------------------------------------------------------------------===//

/// Calls `visit` with the entry of each sequence, also of those without tiles.
template <typename Visit>
static void forEachEntry(const Sequences &sequences, const WorkShape &shape,
                         Visit visit) {
  Divider divideByTile(shape.blockM);
  bool swap = shape.rows == TileRows::Keys;
  auto visitAll = [&](auto getQueries, auto getKeys) {
    for (int64_t i = 0; i < sequences.count; ++i) {
      auto queries = uint32_t(getQueries(i)), keys = uint32_t(getKeys(i));
      uint32_t rows = swap ? keys : queries, others = swap ? queries : keys;
      visit(Entry{others, rows, int32_t(i),
                  divideByTile(rows + shape.blockM - 1)});
    }
  };
  const int32_t *q = sequences.qOffsets, *k = sequences.kOffsets;
  if (q && k) {
    // The usual case, without a choice for each sequence.
    return visitAll([q](int64_t i) { return q[i + 1] - q[i]; },
                    [k](int64_t i) { return k[i + 1] - k[i]; });
  }
  visitAll([&](int64_t i) { return sequences.getQueries(i); },
           [&](int64_t i) { return sequences.getKeys(i); });
}

/// Rows in a unit that all blocks are multiples of, as a power of two.
static int getUnitBits(const WorkShape &shape) {
  return (shape.blockM | shape.blockN) % 16 == 0 ? 4 : 0;
}

namespace {
/// Places entries by a digit of their number of others, in units; downwards, so
/// that digits are complemented.
class Buckets {
public:
  static constexpr int kDigitBits = 12;

  Buckets(int shift, uint32_t roundUp) : shift(shift), roundUp(roundUp) {}

  void count(const Entry &entry, bool isCounted) {
    starts[getDigit(entry) + 1] += isCounted;
  }
  /// After all are counted.
  void begin() {
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
  }
  uint32_t takePlace(const Entry &entry) { return starts[getDigit(entry)]++; }

private:
  uint32_t getDigit(const Entry &entry) const {
    return ~((entry.others + roundUp) >> shift) & ((1u << kDigitBits) - 1);
  }

  int shift;
  uint32_t roundUp;
  std::array<uint32_t, (1u << kDigitBits) + 1> starts{};
};
} // namespace

/// Sorts in units, since nothing else depends on less; stable. A radix sort, as
/// a batch may have a million sequences, whose first step takes the entries as
/// they are made.
Entries::Entries(const Sequences &sequences, const WorkShape &shape,
                 Scratch &scratch)
    : list(scratch.entries) {
  int shift = getUnitBits(shape);
  uint32_t roundUp = (1u << shift) - 1;
  Buckets buckets(shift, roundUp);
  size_t count = 0;
  int64_t sum = 0;
  uint32_t most = 0, before = std::numeric_limits<uint32_t>::max();
  bool isFalling = true, isSquare = true;
  forEachEntry(sequences, shape, [&](const Entry &entry) {
    // Many sequences may be empty, which nothing foresees: no branch.
    bool hasRows = entry.rows > 0;
    count += hasRows;
    sum += entry.tiles;
    most = std::max(most, hasRows ? entry.others : 0);
    isFalling &= !hasRows | (entry.others <= before);
    isSquare &= !hasRows | (entry.others == entry.rows);
    before = hasRows ? entry.others : before;
    buckets.count(entry, hasRows);
  });
  tiles = sum;
  mostOthers = most;
  falling = isFalling;
  square = isSquare;
  list.resize(count);
  Entry *const entries = list.data();
  if (falling || shape.order == WorkOrder::Unsorted) {
    Entry *next = entries;
    forEachEntry(sequences, shape, [&](const Entry &entry) {
      if (entry.rows > 0) {
        *next++ = entry;
      }
    });
    return;
  }
  buckets.begin();
  forEachEntry(sequences, shape, [&](const Entry &entry) {
    if (entry.rows > 0) {
      entries[buckets.takePlace(entry)] = entry;
    }
  });
  sortByHigherDigits(shift + Buckets::kDigitBits, roundUp, scratch);
}

void Entries::sortByHigherDigits(int shift, uint32_t roundUp,
                                 Scratch &scratch) {
  Array<Entry> &other = scratch.otherEntries;
  for (; shift < 32 && (mostOthers + roundUp) >> shift != 0;
       shift += Buckets::kDigitBits) {
    Buckets buckets(shift, roundUp);
    for (const Entry &entry : list) {
      buckets.count(entry, true);
    }
    buckets.begin();
    other.resize(list.size());
    for (const Entry &entry : list) {
      other[buckets.takePlace(entry)] = entry;
    }
    list.swap(other);
  }
}

//===----------------------------------------------------------------------===//
// The order of tiles
//===----------------------------------------------------------------------===//

TileOrder::TileOrder(const Entries &entries, const WorkShape &shape,
                     int64_t tilesToGroup, int64_t tilesOfShare,
                     Scratch &scratch)
    : costs(scratch.costs), entries(entries), shape(shape),
      divideByBlock(shape.blockN), unitBits(getUnitBits(shape)),
      roundUp((1u << unitBits) - 1), tilesOfShare(tilesOfShare),
      items(scratch.items) {
  costs.assign(1, {0, 0, 1});
  items.clear();
  addGrouped(tilesToGroup);
  if (shape.causal || shape.inOrder) {
    addSections();
  } else {
    addFull();
  }
}

/// What all tiles of a sequence cost.
int64_t TileOrder::sumCosts(const Entry &entry) const {
  if (!shape.causal) {
    return int64_t(entry.tiles) * getCost(entry, 0);
  }
  int64_t sum = 0;
  for (int32_t tile = 0; tile < entry.tiles; ++tile) {
    sum += getCost(entry, tile);
  }
  return sum;
}

/// Counts whole sequences, with items of several heads.
void TileOrder::addGrouped(int64_t tilesToGroup) {
  const Array<Entry> &list = entries.list;
  int64_t left = tilesToGroup / shape.heads;
  while (numGrouped < list.size() && list[numGrouped].tiles <= left) {
    const Entry first = list[numGrouped];
    size_t end = numGrouped;
    while (end < list.size() && first.tiles <= left &&
           areAlike(list[end], first)) {
      left -= first.tiles;
      ++end;
    }
    addAlike(first, int64_t(end - numGrouped));
    numGrouped = end;
  }
}

/// Counts the tiles of so many sequences like this one.
void TileOrder::addAlike(const Entry &entry, int64_t count) {
  largestTile =
      std::max<int64_t>(largestTile, getCost(entry, getTile(entry, 0)));
  int64_t groups = 0;
  forEachGroup(entry, [&](int32_t, int32_t) { ++groups; });
  if (groups == 1) {
    return addCosts(entry, int32_t(shape.heads), count);
  }
  for (int64_t i = 0; i < count; ++i) {
    forEachGroup(entry,
                 [&](int32_t, int32_t heads) { addCosts(entry, heads, 1); });
  }
}

/// Counts the tiles of some heads of so many sequences like this one.
void TileOrder::addCosts(const Entry &entry, int32_t heads, int64_t count) {
  if (isOneShare(entry)) {
    return addCost(heads * sumCosts(entry), count, entry.tiles);
  }
  if (!shape.causal) {
    return addCost(int64_t(heads) * getCost(entry, 0), count * entry.tiles, 1);
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int32_t j = 0; j < entry.tiles; ++j) {
      addCost(int64_t(heads) * getCost(entry, getTile(entry, j)), 1, 1);
    }
  }
}

int64_t TileOrder::countShares() const {
  return std::accumulate(
      costs.begin(), costs.end(), int64_t(0),
      [](int64_t sum, const CostRun &run) { return sum + run.count; });
}

/// Without a mask sections do not change the order, since all tiles of a
/// sequence cost the same.
void TileOrder::addFull() {
  for (size_t i = numGrouped; i < entries.list.size(); ++i) {
    const Entry &entry = entries.list[i];
    add({entry, 0, int32_t(shape.heads)}, 0, entry.tiles, getCost(entry, 0));
  }
}

void TileOrder::addSections() {
  int64_t cacheBytes = shape.order == WorkOrder::Unsectioned
                           ? std::numeric_limits<int64_t>::max()
                           : kCacheBytes;
  auto group = int32_t(shape.heads / shape.sharedHeads);
  int64_t bytes = 0;
  for (size_t i = numGrouped; i < entries.list.size(); ++i) {
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
  if (shape.order == WorkOrder::Unsorted && !shape.inOrder) {
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

/// Those that cost most come first. If tiles wait for those before them, the
/// first of each sequence do, or with a mask the last, which cost least. Counts
/// how many tiles have which rank, so that tiles of one rank stay in order. A
/// section's ranks are about as many as its tiles, or fewer.
void TileOrder::addSortedSection() {
  unsorted.clear();
  int32_t most = 0, mostTiles = 0;
  for (const Part &part : section) {
    mostTiles = std::max(mostTiles, part.entry.tiles);
    for (int32_t i = 0; i < part.entry.tiles; ++i) {
      bool isBackward = shape.inOrder && shape.causal;
      int32_t tile = isBackward ? part.entry.tiles - 1 - i : i;
      unsorted.push_back({&part, tile, getCost(part.entry, tile)});
      most = std::max(most, unsorted.back().cost);
    }
  }
  bool byCost = shape.causal;
  auto getRank = [&](const Tile &tile) {
    return size_t(!byCost         ? tile.tile
                  : shape.inOrder ? tile.cost
                                  : most - tile.cost);
  };
  // Where tiles of a rank begin.
  places.assign(size_t(byCost ? most : mostTiles) + 2, 0);
  for (const Tile &tile : unsorted) {
    ++places[getRank(tile) + 1];
  }
  std::partial_sum(places.begin(), places.end(), places.begin());
  sortedTiles.resize(unsorted.size());
  for (const Tile &tile : unsorted) {
    sortedTiles[places[getRank(tile)]++] = tile;
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
