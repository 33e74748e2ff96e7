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

int32_t TileOrder::getCost(const Entry &entry, int64_t tile) const {
  return int32_t(shape.overhead + countSteps(shape, divideByBlock,
                                             tile * shape.blockM, entry.rows,
                                             entry.others));
}

//===----------------------------------------------------------------------===//
// The order of sequences
//===----------------------------------------------------------------------===//

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

/// Sorts by falling number of others, in units that all blocks are multiples
/// of, since nothing else depends on less; stable. A radix sort, as a batch may
/// have a million sequences.
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
// The order of tiles
//===----------------------------------------------------------------------===//

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
/// cache together. The tiles of short sequences are one share. Returns the
/// first sequence left.
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
  int64_t sum = 0, cost = 0;
  for (int32_t i = 0; i < tiles; ++i) {
    int32_t tile = shape.rows == TileRows::Keys ? i : tiles - 1 - i;
    // Without a mask all cost the same.
    cost = i == 0 || shape.causal ? getCost(part.entry, tile) : cost;
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
    add({entry, 0, int32_t(shape.heads)}, 0, entry.tiles, getCost(entry, 0));
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

/// Counts how many tiles cost how much, so that tiles that cost the same stay
/// in order. A section's costs are about as many as its tiles, or fewer.
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
