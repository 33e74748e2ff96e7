//===- WorkList.h - The order of an attention's tiles -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host cuts every sequence into tiles, of query rows for the forward and of
// keys for the backward, and deals them to the multiprocessors, so that a
// persistent kernel finds the same work on each. A tile takes a step for each
// block of what it is multiplied with, keys or queries:
//
//  - tiles that share those are taken at about the same time, in sections whose
//    share of them fits the L2 cache, longest sequences first;
//  - within a section the longest tiles come first;
//  - each goes to the multiprocessor that has least to do so far.
//
// In a long list an item has a tile's rows of several heads, as many as have
// their keys in the cache together, except for the last tiles, which make up
// for what such items leave uneven. Sequences are taken one by one there.
//
// A plan may be made for each batch, so this is written for speed: passes over
// arrays that stay with the thread, and as many items for few heads as for
// many.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_WORKLIST_H
#define JFA_LIB_RUNTIME_WORKLIST_H

#include "Status.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

namespace jfa::runtime {

/// One entry of the device's work list: for each of some heads a tile.
struct WorkItem {
  int32_t sequence;
  /// First row of the tile, counted from the sequence's first.
  int32_t row;
  int32_t head;
  /// How many heads from `head` on have such a tile; in lists of runs, how many
  /// tiles there are from `row` on; after numberTiles(), the tile's number.
  int32_t count;

  bool operator==(const WorkItem &other) const {
    return sequence == other.sequence && row == other.row &&
           head == other.head && count == other.count;
  }
};
static_assert(sizeof(WorkItem) == 16, "the kernels read four 32-bit ints");

/// How long the sequences of a batch are.
struct Lengths {
  /// Of the sequences that have queries.
  int64_t fewestQueries;
  int64_t mostQueries;
  int64_t mostKeys;
};

/// The sequences of one head. Null offsets stand for equal lengths.
struct Sequences {
  int64_t count;
  const int32_t *qOffsets;
  const int32_t *kOffsets;
  int64_t qLength;
  int64_t kLength;

  int64_t getQueries(int64_t sequence) const {
    return qOffsets ? int64_t(qOffsets[sequence + 1]) - qOffsets[sequence]
                    : qLength;
  }
  int64_t getKeys(int64_t sequence) const {
    return kOffsets ? int64_t(kOffsets[sequence + 1]) - kOffsets[sequence]
                    : kLength;
  }
};

/// How the list is made. Anything but Balanced leaves out one of the steps
/// above, so that the step can be measured.
enum class WorkOrder {
  Balanced = JFA_WORK_ORDER_BALANCED,
  /// All tiles are dealt back and forth.
  Dealt = JFA_WORK_ORDER_DEALT,
  /// Tile i goes to worker i mod the number of workers.
  Strided = JFA_WORK_ORDER_STRIDED,
  /// Sequences and tiles are dealt in the order that they have.
  Unsorted = JFA_WORK_ORDER_UNSORTED,
  /// One section, however large.
  Unsectioned = JFA_WORK_ORDER_UNSECTIONED,
};

/// What the rows of a tile are.
enum class TileRows { Queries, Keys };

/// What decides how much work a tile is, and who shares it.
struct WorkShape {
  /// Rows of a tile: of a cluster, those of all its CTAs.
  int64_t blockM;
  /// Rows of a step.
  int64_t blockN;
  bool causal;
  /// Heads of the tiles.
  int64_t heads;
  /// Heads of what they are multiplied with. As many tiles share each.
  int64_t sharedHeads;
  /// Bytes of one row of one head of what they are multiplied with.
  int64_t bytesPerRow;
  /// Multiprocessors, or clusters of them, to deal to.
  int64_t workers;
  WorkOrder order = WorkOrder::Balanced;
  TileRows rows = TileRows::Queries;
  /// The steps that a tile's beginning and end take.
  int64_t overhead = 1;
  /// Whether tiles of a sequence and head wait for each other: each for the one
  /// before it, or if causal for the one after it. They are listed in that
  /// order, and as many heads and sequences as fit the cache take turns, so
  /// that few of each run at the same time.
  bool inOrder = false;
  /// Longer lists, in tiles, have items of several heads.
  int64_t groupAbove = std::numeric_limits<int64_t>::max();
};

/// Where it begins to take long to list each tile.
constexpr int64_t kLongList = 1 << 14;

/// An allocator that leaves new elements as they are: who makes a list writes
/// all of it.
template <typename T>
struct UninitializedAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = UninitializedAllocator<U>;
  };
  template <typename U>
  void construct(U *element) {
    ::new (static_cast<void *>(element)) U;
  }
  template <typename U, typename... Args>
  void construct(U *element, Args &&...args) {
    ::new (static_cast<void *>(element)) U{static_cast<Args &&>(args)...};
  }
};

/// The work of a launch: worker w takes `items[starts[w]]` up to
/// `items[starts[w + 1] - 1]`, in this order; they have `tiles[w]` tiles.
struct WorkList {
  std::vector<WorkItem, UninitializedAllocator<WorkItem>> items;
  std::vector<int32_t> starts;
  std::vector<int32_t> tiles;

  int64_t countTiles() const {
    return std::accumulate(tiles.begin(), tiles.end(), int64_t(0));
  }
};

Lengths findLengths(const Sequences &sequences);

/// Steps that the tile from `row` on takes: one for each block that has a key
/// which some row sees, or a query that sees some row, and those for its
/// beginning and end.
int64_t getTileCost(const Sequences &sequences, const WorkShape &shape,
                    int64_t sequence, int64_t row);

/// Makes the list. Every tile that has a row is in it once for each head, also
/// where a sequence has nothing to multiply it with: its output is written too.
/// No worker without work is listed. There is room for one more item.
/// Refuses lists whose items the kernel could not number.
Status makeWorkList(const Sequences &sequences, const WorkShape &shape,
                    WorkList &list);

/// For kernels in which whoever is done takes over the items of CTAs that have
/// not been launched: the last quarter of each worker's items, in number, go to
/// workers of their own after the others, in the order in which they were to be
/// taken.
void splitTails(WorkList &list);

/// Makes a list of runs: tiles of keys that follow each other in one sequence,
/// for a kernel whose workers keep the queries of one head. `blockM` is the
/// keys of a tile; `workers` run at a time, and there may be more of them than
/// that: they are as many for each head, so that the last is done as soon as
/// can be.
Status makeRunList(const Sequences &sequences, const WorkShape &shape,
                   WorkList &list);

/// Replaces the `count` of every item, which has one tile, by how many tiles of
/// its head come before it, in an order that all workers keep.
void numberTiles(int64_t heads, WorkList &list);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_WORKLIST_H
