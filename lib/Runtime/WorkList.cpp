//===- WorkList.cpp - The order of an attention's tiles ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

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

int64_t jfa::runtime::getTileCost(const Sequences &sequences,
                                  const WorkShape &shape, int64_t sequence,
                                  int64_t row) {
  int64_t keys = sequences.getKeys(sequence);
  int64_t seen = keys;
  if (shape.causal) {
    int64_t last = row + shape.blockM + keys - sequences.getQueries(sequence);
    seen = std::max<int64_t>(0, std::min(last, keys));
  }
  return (seen + shape.blockN - 1) / shape.blockN + 1;
}

namespace {
/// Cuts sequences into items, section by section.
class Sections {
public:
  Sections(const Sequences &sequences, const WorkShape &shape)
      : sequences(sequences), shape(shape) {}

  /// Adds the tiles of one sequence that share the keys of one head.
  void add(int32_t sequence, int64_t kvHead) {
    bytes += sequences.getKeys(sequence) * shape.bytesPerKey;
    int64_t group = shape.queryHeads / shape.kvHeads;
    int64_t queries = sequences.getQueries(sequence);
    for (int64_t h = kvHead * group; h < (kvHead + 1) * group; ++h) {
      for (int64_t row = 0; row < queries; row += shape.blockM) {
        int64_t cost = getTileCost(sequences, shape, sequence, row);
        items.push_back({sequence, int32_t(row), int32_t(h)});
        costs.push_back(int32_t(cost));
      }
    }
    // Half of the cache of a Hopper GPU; the rest is for queries and outputs.
    constexpr int64_t kCacheBytes = 32 << 20;
    if (bytes >= kCacheBytes) {
      close();
    }
  }

  /// Ends a section: its longest tiles come first, equal ones stay in order.
  void close() {
    if (shape.causal) {
      sortSection();
    }
    begin = items.size();
    bytes = 0;
  }

  std::vector<WorkItem> items;
  std::vector<int32_t> costs;

private:
  void sortSection() {
    int32_t largest = 0;
    for (size_t i = begin; i < items.size(); ++i) {
      largest = std::max(largest, costs[i]);
    }
    // A counting sort by falling cost.
    std::vector<size_t> starts(size_t(largest) + 2, 0);
    for (size_t i = begin; i < items.size(); ++i) {
      ++starts[size_t(largest - costs[i]) + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    std::vector<WorkItem> sortedItems(items.size() - begin);
    std::vector<int32_t> sortedCosts(items.size() - begin);
    for (size_t i = begin; i < items.size(); ++i) {
      size_t at = starts[size_t(largest - costs[i])]++;
      sortedItems[at] = items[i];
      sortedCosts[at] = costs[i];
    }
    std::copy(sortedItems.begin(), sortedItems.end(),
              items.begin() + ptrdiff_t(begin));
    std::copy(sortedCosts.begin(), sortedCosts.end(),
              costs.begin() + ptrdiff_t(begin));
  }

  const Sequences &sequences;
  const WorkShape &shape;
  size_t begin = 0;
  int64_t bytes = 0;
};
} // namespace

/// Who takes each item. Long lists are dealt back and forth, which costs no
/// search, up to the last items, which go to whoever has least to do and so
/// make up for what the dealing left uneven.
static std::vector<uint16_t> assign(const std::vector<int32_t> &costs,
                                    int64_t workers) {
  constexpr size_t kSearched = 1 << 14;
  size_t dealt = costs.size() > kSearched ? costs.size() - kSearched : 0;
  std::vector<uint16_t> owners(costs.size());
  std::vector<int64_t> loads(size_t(workers), 0);
  for (size_t i = 0; i < dealt; ++i) {
    size_t round = i / size_t(workers), place = i % size_t(workers);
    size_t owner = round % 2 == 0 ? place : size_t(workers) - 1 - place;
    owners[i] = uint16_t(owner);
    loads[owner] += costs[i];
  }
  using Load = std::pair<int64_t, int32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<Load>> queue;
  for (int64_t w = 0; w < workers; ++w) {
    queue.push({loads[size_t(w)], int32_t(w)});
  }
  for (size_t i = dealt; i < costs.size(); ++i) {
    auto [load, owner] = queue.top();
    queue.pop();
    owners[i] = uint16_t(owner);
    queue.push({load + costs[i], owner});
  }
  return owners;
}

/// Puts each worker's items together, in the order in which they were dealt.
static void gather(const Sections &sections,
                   const std::vector<uint16_t> &owners, int64_t workers,
                   WorkList &list) {
  list.starts.assign(size_t(workers) + 1, 0);
  for (uint16_t owner : owners) {
    ++list.starts[size_t(owner) + 1];
  }
  std::partial_sum(list.starts.begin(), list.starts.end(), list.starts.begin());
  std::vector<int32_t> next(list.starts.begin(), list.starts.end() - 1);
  list.items.resize(owners.size());
  for (size_t i = 0; i < owners.size(); ++i) {
    list.items[size_t(next[owners[i]]++)] = sections.items[i];
  }
}

Status jfa::runtime::makeWorkList(const Sequences &sequences,
                                  const WorkShape &shape, WorkList &list) {
  // The kernel multiplies an item's number by four in 32 bits.
  constexpr int64_t kMaxItems = std::numeric_limits<int32_t>::max() / 4 - 1;
  int64_t total = 0;
  for (int64_t i = 0; i < sequences.count; ++i) {
    int64_t queries = sequences.getQueries(i);
    total += (queries + shape.blockM - 1) / shape.blockM * shape.queryHeads;
    if (total > kMaxItems) {
      return invalid("batch_size", "to make at most ", kMaxItems, " tiles of ",
                     shape.blockM,
                     " query rows of a head, but "
                     "got more");
    }
  }
  Sections sections(sequences, shape);
  sections.items.reserve(size_t(total));
  sections.costs.reserve(size_t(total));
  std::vector<int32_t> order;
  if (sequences.kOffsets) {
    order = sortByKeys(sequences);
  } else {
    order.resize(size_t(sequences.count));
    std::iota(order.begin(), order.end(), 0);
  }
  for (int32_t sequence : order) {
    for (int64_t head = 0; head < shape.kvHeads; ++head) {
      sections.add(sequence, head);
    }
  }
  sections.close();
  int64_t workers = std::min<int64_t>(shape.workers, total);
  gather(sections, assign(sections.costs, workers), workers, list);
  return success();
}
