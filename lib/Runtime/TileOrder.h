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

/// Divides integers below 2^31 by a smaller one, rounding down: (n + 1/2) / d
/// is further from the next integer than rounding takes it.
class Divider {
public:
  explicit Divider(int64_t divisor) : inverse(1.0 / double(divisor)) {}

  int32_t operator()(int64_t number) const {
    return int32_t((double(number) + 0.5) * inverse);
  }

private:
  double inverse;
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

/// The sequences with tiles, in their order until sortByOthers() is called.
struct Entries {
  Array<Entry> &list;
  /// Tiles of one head.
  int64_t tiles = 0;
  uint32_t mostOthers = 0;
  /// Whether no sequence has more to multiply with than the one before it, and
  /// whether each has as many queries as keys.
  bool falling = true, square = true;

  Entries(const Sequences &sequences, const WorkShape &shape, Scratch &scratch);
  void sortByOthers(const WorkShape &shape);

private:
  static constexpr int kDigitBits = 12;

  Array<Entry> &other;

  void sortByDigit(int shift, uint32_t roundUp);
};

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

  int32_t getCost(const Entry &entry, int64_t tile) const;

  const Entries &entries;
  const WorkShape &shape;
  Divider divideByBlock;
  size_t numItems = 0;
  /// Of the current section, and its tiles.
  Array<Part> section;
  Array<Tile> unsorted, sortedTiles;
  std::vector<uint32_t> places;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_TILEORDER_H
