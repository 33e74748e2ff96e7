//===- BlockList.h - The blocks of jagged sequences -------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Block attention cuts every sequence into blocks of 64 rows that restart at
// its first row. Its kernels find their share of the blocks in a table of where
// the sequences begin.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_BLOCKLIST_H
#define JFA_LIB_RUNTIME_BLOCKLIST_H

#include "Status.h"

#include <cstdint>
#include <vector>

namespace jfa::runtime {

/// The rows of a block; the last of a sequence may have fewer.
constexpr int64_t kBlockRows = 64;

/// The most pairs of a block and a head: kernels count them, and a few more, in
/// 32 bits.
constexpr int64_t kMaxBlockItems = int64_t(1) << 30;

struct BlockList {
  /// Sequences that have rows.
  int64_t numSequences;
  int64_t numBlocks;
  /// For each of them its first block and its first row, and after the last one
  /// `numBlocks` and the end of the rows.
  std::vector<int32_t> starts;
};

/// Counts the blocks of `count` sequences that own the rows offsets[i] ..
/// offsets[i + 1]. Refuses more blocks than kernels can count for `heads`. A
/// kernel may take several blocks, `rows` of a sequence, for one.
Status makeBlockList(const int32_t *offsets, int64_t count, int64_t heads,
                     BlockList &list, int64_t rows = kBlockRows);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_BLOCKLIST_H
