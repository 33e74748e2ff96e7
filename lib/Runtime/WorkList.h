//===- WorkList.h - The order of an attention's tiles -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host cuts every sequence into tiles of BLOCK_M query rows and deals them
// to the multiprocessors, so that a persistent kernel finds the same work on
// each:
//
//  - tiles that share keys and values are taken at about the same time, in
//    sections whose keys and values fit the L2 cache, longest sequences first;
//  - within a section the longest tiles come first;
//  - each goes to the multiprocessor that has least to do so far. Of a long
//  list
//    only the end is dealt so: before it, tiles are dealt back and forth, and a
//    tile's rows of all heads are one item.
//
// A plan may be made for each batch, so this is written for speed: no memory is
// taken per sequence, every item is written once, at its place, and all else is
// done for runs of tiles that cost the same. How long it takes does not depend
// on the number of heads.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_WORKLIST_H
#define JFA_LIB_RUNTIME_WORKLIST_H

#include "Status.h"

#include <cstdint>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

namespace jfa::runtime {

/// One entry of the device's work list: for each of some heads a tile of query
/// rows.
struct WorkItem {
  int32_t sequence;
  /// First query row, counted from the sequence's first.
  int32_t row;
  /// The first head, and how many follow each other from there.
  int32_t head;
  int32_t numHeads;
};
static_assert(sizeof(WorkItem) == 16, "the kernels read four 32-bit ints");

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

/// What decides how much work a tile is, and who shares it.
struct WorkShape {
  int64_t blockM;
  int64_t blockN;
  bool causal;
  int64_t queryHeads;
  int64_t kvHeads;
  /// Bytes of one key and one value of one head.
  int64_t bytesPerKey;
  /// Multiprocessors to deal to.
  int64_t workers;
  WorkOrder order = WorkOrder::Balanced;
  /// Whether the kernel takes items of several heads.
  bool groupsHeads = false;
};

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
/// `items[starts[w + 1] - 1]`, in this order; they are `tiles[w]` tiles.
struct WorkList {
  std::vector<WorkItem, UninitializedAllocator<WorkItem>> items;
  std::vector<int32_t> starts;
  std::vector<int32_t> tiles;

  int64_t countTiles() const {
    return std::accumulate(tiles.begin(), tiles.end(), int64_t(0));
  }
};

/// Steps that a tile of `rows` query rows from `row` takes: one for each block
/// of keys that some row sees, and one for its beginning and end.
int64_t getTileCost(const Sequences &sequences, const WorkShape &shape,
                    int64_t sequence, int64_t row);

/// Makes the list. Every block of `blockM` query rows that has a row is in it
/// once for each head, also where a sequence has no keys: its output is written
/// too. No worker without work is listed. There is room for one more item.
/// Refuses lists whose items the kernel could not number.
Status makeWorkList(const Sequences &sequences, const WorkShape &shape,
                    WorkList &list);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_WORKLIST_H
