//===- TileDealer.h - Who takes a tile --------------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deals tiles, known only by what they cost and in runs of equal costs, to the
// multiprocessors (see WorkList.h).
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_TILEDEALER_H
#define JFA_LIB_RUNTIME_TILEDEALER_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace jfa::runtime {

/// So many tiles that follow each other cost the same.
struct CostRun {
  int64_t cost;
  int64_t count;
};

/// Deals tiles, given what they cost: some in turns, the others each to the
/// worker that has least to do.
class Dealer {
public:
  static constexpr int64_t kMaxWorkers = 1 << 16;

  Dealer(int64_t workers, bool snake) : workers(workers) {
    // Two rounds, after which turns repeat.
    turns.resize(size_t(2 * workers));
    std::iota(turns.begin(), turns.begin() + workers, 0);
    std::copy(turns.begin(), turns.begin() + workers, turns.begin() + workers);
    if (snake) {
      std::reverse(turns.begin() + workers, turns.end());
    }
  }

  /// Deals tiles `begin` to `end` of `total` in turns.
  void deal(const std::vector<CostRun> &runs, int64_t begin, int64_t end,
            int64_t total) {
    dealtBegin = begin;
    dealtEnd = end;
    loads.assign(size_t(workers), 0);
    counts.assign(size_t(workers), 0);
    owners.clear();
    owners.reserve(size_t(total - (end - begin)));
    Cursor cursor = {runs.data(), 0};
    search(cursor, begin);
    dealInTurns(cursor, end - begin);
    search(cursor, total - end);
    for (int32_t owner : owners) {
      ++counts[size_t(owner)];
    }
  }

  /// Whether no worker has more to do than the mean and the largest tile, as
  /// when each tile goes to whoever has least to do.
  bool isBalanced(const std::vector<CostRun> &runs) const {
    int64_t largest = 0;
    for (const CostRun &run : runs) {
      largest = std::max(largest, run.cost);
    }
    int64_t total = std::accumulate(loads.begin(), loads.end(), int64_t(0));
    int64_t busiest = *std::max_element(loads.begin(), loads.end());
    return busiest * workers <= total + largest * workers;
  }

  int64_t workers;
  /// The worker of each turn.
  std::vector<int32_t> turns;
  int64_t dealtBegin = 0, dealtEnd = 0;
  /// What each worker has to do, and how many tiles that is.
  std::vector<int64_t> loads, counts;
  /// Of the tiles that were not dealt in turns.
  std::vector<int32_t, UninitializedAllocator<int32_t>> owners;

private:
  /// Loads and their workers in rising order, each pair as one number.
  class Queue {
  public:
    explicit Queue(const std::vector<int64_t> &loads) {
      for (size_t worker = 0; worker < loads.size(); ++worker) {
        entries.push_back(uint64_t(loads[worker]) << kBits | worker);
      }
      std::sort(entries.begin(), entries.end());
      raised.resize(2 * entries.size());
      merged.resize(entries.size());
    }

    /// Gives `count` tiles of one cost to whoever has least to do, one by one.
    /// Who was given one queues again behind those that were before, so the
    /// least is the first of one of two queues.
    void give(int64_t cost, int64_t count, int32_t *owners) {
      uint64_t raise = uint64_t(cost) << kBits;
      size_t size = entries.size(), first = 0, begin = 0, end = 0;
      int64_t given = 0;
      for (; given < count && first < size; ++given) {
        bool again = begin < end && raised[begin] < entries[first];
        uint64_t entry = again ? raised[begin++] : entries[first++];
        owners[given] = int32_t(entry & kMask);
        // As many queue again as have left the other, half of what there is
        // room for.
        if (end == raised.size()) {
          std::copy(raised.begin() + ptrdiff_t(begin), raised.end(),
                    raised.begin());
          end -= begin;
          begin = 0;
        }
        raised[end++] = entry + raise;
      }
      if (given < count) {
        takeTurns(raise, count - given, owners + given, begin);
        return;
      }
      std::merge(entries.begin() + ptrdiff_t(first), entries.end(),
                 raised.begin() + ptrdiff_t(begin),
                 raised.begin() + ptrdiff_t(end), merged.begin());
      entries.swap(merged);
    }

    /// Loads of all workers.
    void getLoads(std::vector<int64_t> &loads) const {
      for (uint64_t entry : entries) {
        loads[size_t(entry & kMask)] = int64_t(entry >> kBits);
      }
    }

  private:
    /// All queue again, from `begin` on, so this is their order from now on.
    void takeTurns(uint64_t raise, int64_t count, int32_t *owners,
                   size_t begin) {
      auto size = int64_t(entries.size());
      const uint64_t *queue = raised.data() + begin;
      for (int64_t i = 0; i < std::min(count, size); ++i) {
        owners[i] = int32_t(queue[i] & kMask);
      }
      for (int64_t i = size; i < count; ++i) {
        owners[i] = owners[i - size];
      }
      int64_t rest = count % size;
      uint64_t rounds = uint64_t(count / size) * raise;
      for (int64_t i = 0; i < size; ++i) {
        bool again = i < rest;
        entries[size_t(again ? i + size - rest : i - rest)] =
            queue[i] + rounds + (again ? raise : 0);
      }
    }

    static constexpr int kBits = 16;
    static constexpr uint64_t kMask = (1 << kBits) - 1;
    std::vector<uint64_t> entries, raised, merged;
  };

  /// A place among the tiles: so many of a run have been taken.
  struct Cursor {
    const CostRun *run;
    int64_t taken;

    /// Takes at most `limit` tiles of one cost.
    CostRun take(int64_t limit) {
      while (taken == run->count) {
        ++run;
        taken = 0;
      }
      int64_t count = std::min(limit, run->count - taken);
      taken += count;
      return {run->cost, count};
    }
  };

  void search(Cursor &cursor, int64_t count) {
    Queue queue(loads);
    size_t at = owners.size();
    owners.resize(at + size_t(count));
    while (count > 0) {
      CostRun part = cursor.take(count);
      count -= part.count;
      queue.give(part.cost, part.count, owners.data() + at);
      at += size_t(part.count);
    }
    queue.getLoads(loads);
  }

  void dealInTurns(Cursor &cursor, int64_t count) {
    auto period = int64_t(turns.size());
    // What each turn gets beyond `all`, as differences to the turn before.
    std::vector<int64_t> extra(turns.size() + 1, 0);
    int64_t all = 0;
    for (int64_t position = 0; position < count;) {
      CostRun part = cursor.take(count - position);
      int64_t first = position % period, end = first + part.count % period;
      all += part.count / period * part.cost;
      extra[size_t(first)] += part.cost;
      extra[size_t(std::min(end, period))] -= part.cost;
      if (end > period) {
        extra[0] += part.cost;
        extra[size_t(end - period)] -= part.cost;
      }
      position += part.count;
    }
    int64_t load = all;
    for (int64_t turn = 0; turn < period; ++turn) {
      load += extra[size_t(turn)];
      auto worker = size_t(turns[size_t(turn)]);
      loads[worker] += load;
      counts[worker] += count / period + (turn < count % period);
    }
  }
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_TILEDEALER_H
