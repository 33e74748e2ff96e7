//===- WorkList.h - The order of an attention's tiles -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host cuts every sequence into tiles of BLOCK_M query rows and decides in
// which order the GPU takes them. A persistent kernel runs the list once per
// head, so long tiles must come early: a long one taken last keeps one
// multiprocessor busy while all others idle.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_WORKLIST_H
#define JFA_LIB_RUNTIME_WORKLIST_H

#include "Status.h"

#include <cstdint>
#include <vector>

namespace jfa::runtime {

/// One entry of the device's work list.
struct WorkTile {
  int32_t sequence;
  /// First query row, counted from the sequence's first.
  int32_t row;

  bool operator==(const WorkTile &other) const {
    return sequence == other.sequence && row == other.row;
  }
};
static_assert(sizeof(WorkTile) == 8, "the kernels read pairs of 32-bit ints");

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

/// Makes the list. A tile belongs to every block of `blockM` query rows that
/// has a row, also where a sequence has no keys: its output is written too.
/// Sequences are ordered by falling number of keys, equal ones as they come.
/// Refuses lists with more than 2^31 - 1 tiles.
Status makeWorkList(const Sequences &sequences, int64_t blockM,
                    std::vector<WorkTile> &tiles);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_WORKLIST_H
