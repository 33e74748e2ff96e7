//===- TileDealer.h - Who takes a tile --------------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deals items, known only by what they cost, to the multiprocessors (see
// WorkList.h).
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_TILEDEALER_H
#define JFA_LIB_RUNTIME_TILEDEALER_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace jfa::runtime {

/// Gives items, known by what they cost, to workers: each to whoever has least
/// to do so far and has waited longest.
///
/// Loads never differ by more than the largest cost, so workers wait in a ring
/// of queues, one for each load from the least on.
class Dealer {
public:
  /// Costs are below `costLimit`, and at least 1.
  Dealer(int64_t workers, int64_t costLimit)
      : mask(getRingSize(costLimit) - 1), last(size_t(mask) + 1),
        waiting(last.size() / 64, 0), next(size_t(workers)),
        loads(size_t(workers), 0) {
    for (int64_t worker = 0; worker < workers; ++worker) {
      push(int32_t(worker), 0);
    }
  }

  /// Gives `count` items of one cost, and says to whom.
  void give(int64_t cost, int64_t count, int32_t *owners) {
    auto workers = int64_t(loads.size());
    for (int64_t i = 0; i < count; ++i) {
      // Within one cost of each other, all take turns.
      if (count - i >= 2 * workers && greatest <= least + cost) {
        i += takeTurns(cost, (count - i) / workers, owners + i) - 1;
        continue;
      }
      int32_t worker = pop();
      owners[i] = worker;
      push(worker, loads[size_t(worker)] + cost);
    }
  }

  /// What each worker has to do.
  const std::vector<int64_t> &getLoads() const { return loads; }

private:
  /// Queues of as many loads as differ, in whole words.
  static int64_t getRingSize(int64_t costLimit) {
    int64_t size = 64;
    while (size < costLimit) {
      size *= 2;
    }
    return size;
  }

  void push(int32_t worker, int64_t load) {
    auto at = size_t(load & mask);
    uint64_t bit = uint64_t(1) << (at % 64);
    if (waiting[at / 64] & bit) {
      next[size_t(worker)] = next[size_t(last[at])];
      next[size_t(last[at])] = worker;
    } else {
      next[size_t(worker)] = worker;
      waiting[at / 64] |= bit;
    }
    last[at] = worker;
    loads[size_t(worker)] = load;
    greatest = std::max(greatest, load);
  }

  /// Takes out who has least to do.
  int32_t pop() {
    auto at = size_t(least & mask);
    uint64_t word = waiting[at / 64] >> (at % 64);
    while (word == 0) {
      // To the beginning of the next word.
      least += int64_t(64 - at % 64);
      at = size_t(least & mask);
      word = waiting[at / 64];
    }
    int skipped = __builtin_ctzll(word);
    least += skipped;
    at += size_t(skipped);
    int32_t end = last[at], worker = next[size_t(end)];
    if (worker == end) {
      waiting[at / 64] &= ~(uint64_t(1) << (at % 64));
    } else {
      next[size_t(end)] = next[size_t(worker)];
    }
    return worker;
  }

  /// Gives `rounds` items of one cost to everyone. Returns how many these are.
  int64_t takeTurns(int64_t cost, int64_t rounds, int32_t *owners) {
    size_t workers = loads.size();
    for (size_t i = 0; i < workers; ++i) {
      owners[i] = pop();
    }
    least = loads[size_t(owners[0])] + rounds * cost;
    for (size_t i = 0; i < workers; ++i) {
      push(owners[i], loads[size_t(owners[i])] + rounds * cost);
    }
    for (int64_t round = 1; round < rounds; ++round) {
      std::memcpy(owners + size_t(round) * workers, owners,
                  workers * sizeof(int32_t));
    }
    return rounds * int64_t(workers);
  }

  int64_t mask;
  int64_t least = 0, greatest = 0;
  /// The last worker of each queue, whose next is the first, and a bit for each
  /// queue that has workers.
  std::vector<int32_t> last;
  std::vector<uint64_t> waiting;
  std::vector<int32_t> next;
  std::vector<int64_t> loads;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_TILEDEALER_H
