//===- TileOrder.h - The order in which tiles are dealt ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the tiles of a batch in the order in which they are dealt, and what
// they cost (see WorkList.h).
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_TILEORDER_H
#define JFA_LIB_RUNTIME_TILEORDER_H

#include "WorkList.h"

#include <vector>

namespace jfa::runtime {

/// Divides integers below 2^31 by one that is not above it, rounding down, as a
/// multiplication with 2^shift / divisor, rounded up. The result is too large
/// by less than 1 / divisor, and a quotient is as far from the next integer.
class Divider {
public:
  explicit Divider(int64_t divisor) {
    while ((int64_t(1) << (shift - 31)) < divisor) {
      ++shift;
    }
    inverse =
        ((uint64_t(1) << shift) + uint64_t(divisor) - 1) / uint64_t(divisor);
  }

  int32_t operator()(int64_t number) const {
    return int32_t(uint64_t(number) * inverse >> shift);
  }

private:
  int shift = 31;
  uint64_t inverse;
};

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

/// The sequences with tiles, by falling number of others unless they are to
/// stay in their order.
struct Entries {
  Array<Entry> &list;
  /// Tiles of one head.
  int64_t tiles = 0;
  uint32_t mostOthers = 0;
  /// Whether no sequence has more to multiply with than the one before it, as
  /// they came, and whether each has as many queries as keys.
  bool falling = true, square = true;

  Entries(const Sequences &sequences, const WorkShape &shape, Scratch &scratch);

private:
  void sortByHigherDigits(int shift, uint32_t roundUp, Scratch &scratch);
};

/// All tiles in the order in which they are dealt. Of at most the first
/// `tilesToGroup` tiles, an item has the rows of several heads, and all items
/// of a sequence are one share if that has at most `tilesOfShare` tiles. These
/// items are many, and are only written when it is known where.
class TileOrder {
public:
  TileOrder(const Entries &entries, const WorkShape &shape,
            int64_t tilesToGroup, int64_t tilesOfShare, Scratch &scratch);

  /// Writes all items, share by share: the next one's to where `take` says,
  /// given how many they are and how many tiles they have.
  template <typename Take>
  void write(Take take) const {
    auto rows = int32_t(shape.blockM);
    int32_t step = shape.rows == TileRows::Keys ? rows : -rows;
    for (size_t i = 0; i < numGrouped; ++i) {
      const Entry entry = entries.list[i];
      int32_t row = getTile(entry, 0) * rows;
      forEachGroup(entry, [&](int32_t head, int32_t heads) {
        int32_t inShare = isOneShare(entry) ? entry.tiles : 1;
        for (int32_t j = 0; j < entry.tiles; j += inShare) {
          WorkItem *at = take(inShare, inShare * heads);
          for (int32_t k = 0; k < inShare; ++k) {
            at[k] = {entry.sequence, row + (j + k) * step, head, heads};
          }
        }
      });
    }
    for (const WorkItem &item : items) {
      *take(1, item.count) = item;
    }
  }

  int64_t countShares() const;

  /// What the shares cost.
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

  void addGrouped(int64_t tilesToGroup);
  void addAlike(const Entry &entry, int64_t count);
  void addCosts(const Entry &entry, int32_t heads, int64_t count);
  void addFull();
  void addSections();
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

  /// Counts so many shares of `itemsOfEach` items.
  void addCost(int64_t cost, int64_t count, int64_t itemsOfEach) {
    CostRun &last = costs.back();
    if (cost == last.cost && itemsOfEach == last.items) {
      last.count += count;
      return;
    }
    costs.push_back({cost, count, itemsOfEach});
    largestShare = std::max(largestShare, cost);
  }

  /// Makes room for so many items.
  WorkItem *extend(int64_t count) {
    size_t begin = items.size();
    if (begin + size_t(count) > items.capacity()) {
      items.reserve(2 * (begin + size_t(count)));
    }
    items.resize(begin + size_t(count));
    return items.data() + begin;
  }

  /// Calls `visit(head, heads)` for groups of as many heads as have the keys of
  /// a sequence in the cache together.
  template <typename Visit>
  void forEachGroup(const Entry &entry, Visit visit) const {
    auto group = int32_t(shape.heads / shape.sharedHeads);
    // Alike sequences have the same groups.
    int64_t headBytes =
        ((entry.others + roundUp) & ~roundUp) * shape.bytesPerRow;
    for (int64_t head = 0; head < shape.sharedHeads;) {
      int64_t heads =
          fitHeads(shape.sharedHeads - head, headBytes, kCacheBytes);
      visit(int32_t(head) * group, int32_t(heads) * group);
      head += heads;
    }
  }

  /// Whether the grouped tiles of a sequence are one share.
  bool isOneShare(const Entry &entry) const {
    return entry.tiles * shape.heads <= tilesOfShare;
  }

  /// How many shared heads, of `left`, begin in so many bytes.
  int64_t fitHeads(int64_t left, int64_t headBytes, int64_t bytes) const {
    return left * headBytes <= bytes ? left : (bytes - 1) / headBytes + 1;
  }

  /// Whether the tiles of two sequences cost the same, by what is quick to
  /// tell: blocks begin and end at multiples of a unit, and a mask depends on
  /// where the rows of tiles end among the others.
  bool areAlike(const Entry &a, const Entry &b) const {
    return a.tiles == b.tiles &&
           (a.others + roundUp) >> unitBits ==
               (b.others + roundUp) >> unitBits &&
           (!shape.causal || a.others - a.rows == b.others - b.rows);
  }
  int32_t getCost(const Entry &entry, int32_t tile) const;
  int64_t sumCosts(const Entry &entry) const;
  /// The i-th tile of a sequence, those that cost most first: the last queries
  /// or the first keys.
  int32_t getTile(const Entry &entry, int32_t i) const {
    return shape.rows == TileRows::Keys ? i : entry.tiles - 1 - i;
  }

  const Entries &entries;
  const WorkShape &shape;
  Divider divideByBlock;
  /// Rows of a unit, and what rounds up to units.
  int unitBits;
  uint32_t roundUp;
  int64_t tilesOfShare;
  /// Sequences of which the items have several heads; items of the others.
  size_t numGrouped = 0;
  Array<WorkItem> &items;
  /// Of the current section, and its tiles.
  Array<Part> section;
  Array<Tile> unsorted, sortedTiles;
  std::vector<uint32_t> places;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_TILEORDER_H
