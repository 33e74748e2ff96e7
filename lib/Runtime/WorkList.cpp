//===- WorkList.cpp - The order of an attention's tiles ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"

#include <array>
#include <limits>
#include <numeric>

using namespace jfa::runtime;

/// The sequences by falling number of keys; stable. A radix sort, since a batch
/// may have a million sequences and a plan is made for each batch.
static std::vector<int32_t> sortByKeys(const Sequences &sequences) {
  constexpr int kBits = 11;
  constexpr uint32_t kBuckets = 1u << kBits;
  auto count = static_cast<size_t>(sequences.count);
  std::vector<int32_t> order(count);
  std::vector<int32_t> sorted(count);
  std::vector<uint32_t> keys(count);
  std::iota(order.begin(), order.end(), 0);
  uint32_t any = 0;
  for (size_t i = 0; i < count; ++i) {
    keys[i] = static_cast<uint32_t>(sequences.getKeys(int64_t(i)));
    any |= keys[i];
  }
  for (int shift = 0; shift < 32 && (any >> shift) != 0; shift += kBits) {
    // Complemented digits sort downwards.
    auto digit = [&](int32_t sequence) {
      return ~(keys[size_t(sequence)] >> shift) & (kBuckets - 1);
    };
    std::array<size_t, kBuckets + 1> starts{};
    for (int32_t sequence : order) {
      ++starts[digit(sequence) + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (int32_t sequence : order) {
      sorted[starts[digit(sequence)]++] = sequence;
    }
    order.swap(sorted);
  }
  return order;
}

Status jfa::runtime::makeWorkList(const Sequences &sequences, int64_t blockM,
                                  std::vector<WorkTile> &tiles) {
  constexpr int64_t kMaxTiles = std::numeric_limits<int32_t>::max();
  int64_t total = 0;
  for (int64_t i = 0; i < sequences.count; ++i) {
    total += (sequences.getQueries(i) + blockM - 1) / blockM;
    if (total > kMaxTiles) {
      return invalid("batch_size", "to make at most ", kMaxTiles,
                     " query tiles of ", blockM, " rows, but got more");
    }
  }
  tiles.clear();
  tiles.reserve(static_cast<size_t>(total));
  auto append = [&](int32_t sequence) {
    int64_t queries = sequences.getQueries(sequence);
    for (int64_t row = 0; row < queries; row += blockM) {
      tiles.push_back({sequence, static_cast<int32_t>(row)});
    }
  };
  if (!sequences.kOffsets) {
    for (int64_t i = 0; i < sequences.count; ++i) {
      append(static_cast<int32_t>(i));
    }
    return success();
  }
  for (int32_t sequence : sortByKeys(sequences)) {
    append(sequence);
  }
  return success();
}
