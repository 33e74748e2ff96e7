//===- BlockList.cpp - The blocks of jagged sequences -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockList.h"

using namespace jfa::runtime;

Status jfa::runtime::makeBlockList(const int32_t *offsets, int64_t count,
                                   int64_t heads, BlockList &list,
                                   int64_t rows) {
  list.numSequences = 0;
  list.numBlocks = 0;
  list.starts.clear();
  list.starts.reserve(size_t(2 * count + 2));
  for (int64_t i = 0; i < count; ++i) {
    int64_t length = int64_t(offsets[i + 1]) - offsets[i];
    if (length == 0) {
      continue;
    }
    list.starts.push_back(int32_t(list.numBlocks));
    list.starts.push_back(offsets[i]);
    ++list.numSequences;
    list.numBlocks += (length + rows - 1) / rows;
  }
  list.starts.push_back(int32_t(list.numBlocks));
  list.starts.push_back(offsets[count]);
  if (list.numBlocks > kMaxBlockItems / heads) {
    return invalid("offsets", "to make at most ", kMaxBlockItems / heads,
                   " blocks of ", rows, " rows for ", heads, " heads, but got ",
                   list.numBlocks);
  }
  return success();
}
