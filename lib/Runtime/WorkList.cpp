//===- WorkList.cpp - The order of an attention's tiles ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkList.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

using namespace jfa::runtime;

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

//===----------------------------------------------------------------------===//
// The order of tiles
//===----------------------------------------------------------------------===//

namespace {
/// Tiles of one sequence that cost the same: for each head those from `tile`
/// on.
struct Run {
  int32_t sequence;
  int32_t tile;
  int32_t numTiles;
  int32_t headBegin;
  int32_t headEnd;
  int32_t cost;

  int64_t getCount() const { return int64_t(numTiles) * (headEnd - headBegin); }
};

/// Hands out all tiles in the order in which they are dealt.
class TileOrder {
public:
  TileOrder(const Sequences &sequences, const WorkShape &shape);

  /// Calls `take(run)` for each run, section by section.
  template <typename Take>
  void forEach(Take &take);

  /// Tiles of all heads, or a number that is too large as well.
  int64_t countTiles() const {
    int64_t tiles = 0;
    for (const Entry &entry : entries) {
      tiles += entry.tiles;
    }
    // Both are below 2^31 but for a batch that repeats long queries.
    return tiles > std::numeric_limits<int32_t>::max()
               ? tiles
               : tiles * shape.queryHeads;
  }

private:
  /// A sequence with queries.
  struct Entry {
    uint32_t keys;
    uint32_t queries;
    int32_t sequence;
    int32_t tiles;
  };
  /// The tiles of some heads of a sequence.
  struct Part {
    Entry entry;
    int32_t headBegin;
    int32_t headEnd;
  };
  template <typename T>
  using Array = std::vector<T, UninitializedAllocator<T>>;

  /// Half of the cache of a Hopper GPU; the rest is for queries and outputs.
  static constexpr int64_t kCacheBytes = 32 << 20;

  void sortByKeys(uint32_t anyKeys);
  template <typename Take>
  void takePart(const Part &part, Take &take);
  template <typename Take>
  void takeSection(Take &take);

  /// What getTileCost() says, with divisions of 32 bits: this is called often.
  int32_t getCost(const Entry &entry, int64_t tile) const {
    int64_t seen = entry.keys;
    if (shape.causal) {
      int64_t last = (tile + 1) * shape.blockM + entry.keys - entry.queries;
      seen = std::max<int64_t>(0, std::min(last, seen));
    }
    auto blockN = uint32_t(shape.blockN);
    return int32_t((uint32_t(seen) + blockN - 1) / blockN + 1);
  }

  Run getTile(const Part &part, int32_t tile) const {
    return {part.entry.sequence, tile,         1,
            part.headBegin,      part.headEnd, getCost(part.entry, tile)};
  }

  const WorkShape &shape;
  bool sorted;
  /// Whether no sequence has more keys than the one before it, and whether each
  /// has as many queries as keys.
  bool falling = true, square = true;
  Array<Entry> entries;
  /// Of the current section, if tiles are sorted.
  Array<Part> section;
  Array<Run> runs;
  std::vector<uint64_t> keys;
};
} // namespace

TileOrder::TileOrder(const Sequences &sequences, const WorkShape &shape)
    : shape(shape), sorted(shape.order != WorkOrder::Unsorted) {
  entries.resize(size_t(sequences.count));
  Entry *end = entries.data();
  auto blockM = uint32_t(shape.blockM);
  uint32_t anyKeys = 0;
  uint32_t before = std::numeric_limits<uint32_t>::max();
  for (int64_t i = 0; i < sequences.count; ++i) {
    auto keys = uint32_t(sequences.getKeys(i));
    auto queries = uint32_t(sequences.getQueries(i));
    *end = {keys, queries, int32_t(i),
            int32_t((queries + blockM - 1) / blockM)};
    // Only sequences with queries have tiles.
    if (queries > 0) {
      ++end;
      anyKeys |= keys;
      falling &= keys <= before;
      square &= keys == queries;
      before = keys;
    }
  }
  entries.resize(size_t(end - entries.data()));
  if (sorted && !falling) {
    sortByKeys(anyKeys);
    falling = true;
  }
}

/// Sorts by falling number of keys; stable. A radix sort, since a batch may
/// have a million sequences.
void TileOrder::sortByKeys(uint32_t anyKeys) {
  constexpr int kBits = 11;
  constexpr uint32_t kBuckets = 1u << kBits;
  Array<Entry> other(entries.size());
  for (int shift = 0; shift < 32 && (anyKeys >> shift) != 0; shift += kBits) {
    // Complemented digits sort downwards.
    auto digit = [&](const Entry &entry) {
      return ~(entry.keys >> shift) & (kBuckets - 1);
    };
    std::array<uint32_t, kBuckets + 1> starts{};
    for (const Entry &entry : entries) {
      ++starts[digit(entry) + 1];
    }
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (const Entry &entry : entries) {
      other[starts[digit(entry)]++] = entry;
    }
    entries.swap(other);
  }
}

template <typename Take>
void TileOrder::forEach(Take &take) {
  if (!shape.causal) {
    // Sections do not change the order: all tiles of a sequence cost the same.
    for (const Entry &entry : entries) {
      take({entry.sequence, 0, entry.tiles, 0, int32_t(shape.queryHeads),
            getCost(entry, 0)});
    }
    return;
  }
  int64_t cacheBytes = shape.order == WorkOrder::Unsectioned
                           ? std::numeric_limits<int64_t>::max()
                           : kCacheBytes;
  auto group = int32_t(shape.queryHeads / shape.kvHeads);
  int64_t bytes = 0;
  for (const Entry &entry : entries) {
    int64_t headBytes = entry.keys * shape.bytesPerKey;
    for (int64_t head = 0; head < shape.kvHeads;) {
      // As many heads as begin in what is left of the section.
      int64_t heads = shape.kvHeads - head;
      if (heads * headBytes > cacheBytes - bytes) {
        heads = (cacheBytes - bytes - 1) / headBytes + 1;
      }
      Part part = {entry, int32_t(head) * group, int32_t(head + heads) * group};
      head += heads;
      bytes += heads * headBytes;
      if (sorted) {
        section.push_back(part);
      } else {
        takePart(part, take);
      }
      if (bytes >= cacheBytes) {
        takeSection(take);
        bytes = 0;
      }
    }
  }
  takeSection(take);
}

template <typename Take>
void TileOrder::takePart(const Part &part, Take &take) {
  for (int32_t tile = 0; tile < part.entry.tiles; ++tile) {
    take(getTile(part, tile));
  }
}

/// Takes the tiles of a section, those that cost most first.
template <typename Take>
void TileOrder::takeSection(Take &take) {
  if (square && !section.empty()) {
    // Sequences come by falling length and costs rise with the tile, so this is
    // the order.
    size_t parts = 0;
    for (int32_t tile = section.front().entry.tiles - 1; tile >= 0; --tile) {
      while (parts < section.size() && section[parts].entry.tiles > tile) {
        ++parts;
      }
      for (size_t i = 0; i < parts; ++i) {
        take(getTile(section[i], tile));
      }
    }
    section.clear();
    return;
  }
  auto collect = [&](const Run &run) { runs.push_back(run); };
  for (const Part &part : section) {
    takePart(part, collect);
  }
  section.clear();
  // Cost and place as one number, so that tiles that cost the same stay in
  // order.
  keys.clear();
  for (const Run &run : runs) {
    keys.push_back(uint64_t(~uint32_t(run.cost)) << 32 | keys.size());
  }
  std::sort(keys.begin(), keys.end());
  for (uint64_t key : keys) {
    take(runs[uint32_t(key)]);
  }
  runs.clear();
}

//===----------------------------------------------------------------------===//
// Who takes a tile
//===----------------------------------------------------------------------===//

namespace {
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
} // namespace

/// Deals a list of `total` tiles.
static Dealer dealTiles(TileOrder &order, const WorkShape &shape,
                        int64_t total) {
  std::vector<CostRun> runs;
  auto collect = [&](const Run &run) {
    if (runs.empty() || runs.back().cost != run.cost) {
      runs.push_back({run.cost, 0});
    }
    runs.back().count += run.getCount();
  };
  order.forEach(collect);
  int64_t workers =
      std::min({shape.workers, total, int64_t(Dealer::kMaxWorkers)});
  Dealer dealer(workers, shape.order != WorkOrder::Strided);
  if (shape.order == WorkOrder::Dealt || shape.order == WorkOrder::Strided) {
    dealer.deal(runs, 0, total, total);
    return dealer;
  }
  // Searching takes longer than dealing. Its end makes up for what dealing left
  // uneven, which is little if costs only fall, or if the largest were
  // searched.
  constexpr int64_t kShort = 1 << 14, kLast = 1 << 12, kFirst = 1 << 14;
  if (total > kShort) {
    bool falling = std::is_sorted(
        runs.begin(), runs.end(),
        [](const CostRun &a, const CostRun &b) { return a.cost > b.cost; });
    int64_t begin = falling ? 0 : std::min(total - kLast, kFirst);
    dealer.deal(runs, begin, total - kLast, total);
    if (dealer.isBalanced(runs)) {
      return dealer;
    }
  }
  dealer.deal(runs, 0, 0, total);
  return dealer;
}

namespace {
/// Writes every tile to its place.
class Placer {
public:
  Placer(const WorkShape &shape, const Dealer &dealer, WorkList &list)
      : turns(dealer.turns), blockM(int32_t(shape.blockM)), turn(turns.data()),
        owner(dealer.owners.data()), searched(dealer.dealtBegin),
        dealt(dealer.dealtEnd - dealer.dealtBegin) {
    for (size_t worker = 0; worker < dealer.counts.size(); ++worker) {
      next.push_back(list.items.data() + list.starts[worker]);
    }
  }

  void operator()(const Run &run) {
    int64_t count = run.getCount();
    if (searched == 0 && count <= dealt) {
      dealt -= count;
      const int32_t *at = turn, *end = turns.data() + turns.size();
      place(run, [&] {
        int32_t worker = *at++;
        at = at == end ? turns.data() : at;
        return worker;
      });
      turn = at;
    } else {
      place(run, [&] { return getWorker(); });
    }
  }

private:
  int32_t getWorker() {
    if (searched > 0 || dealt == 0) {
      searched -= searched > 0;
      return *owner++;
    }
    --dealt;
    int32_t worker = *turn++;
    if (turn == turns.data() + turns.size()) {
      turn = turns.data();
    }
    return worker;
  }

  template <typename GetWorker>
  void place(const Run &run, GetWorker getWorker) {
    WorkItem **places = next.data();
    int32_t first = run.tile * blockM, end = first + run.numTiles * blockM;
    for (int32_t head = run.headBegin; head < run.headEnd; ++head) {
      for (int32_t row = first; row != end; row += blockM) {
        WorkItem *&at = places[getWorker()];
        // Tiles go to as many places as there are workers, which is more than
        // the processor foresees.
        __builtin_prefetch(at + 8, 1);
        // Two stores.
        const uint64_t item[2] = {uint64_t(uint32_t(row)) << 32 |
                                      uint32_t(run.sequence),
                                  uint32_t(head)};
        std::memcpy(at, &item[0], 8);
        std::memcpy(&at->head, &item[1], 8);
        ++at;
      }
    }
  }

  const std::vector<int32_t> &turns;
  int32_t blockM;
  const int32_t *turn;
  const int32_t *owner;
  /// Tiles until turns begin, and those in turns.
  int64_t searched, dealt;
  /// Where each worker's next tile goes.
  std::vector<WorkItem *> next;
};
} // namespace

Status jfa::runtime::makeWorkList(const Sequences &sequences,
                                  const WorkShape &shape, WorkList &list) {
  // The kernel multiplies an item's number by four in 32 bits.
  constexpr int64_t kMaxItems = std::numeric_limits<int32_t>::max() / 4 - 1;
  TileOrder order(sequences, shape);
  int64_t total = order.countTiles();
  if (total > kMaxItems) {
    return invalid("batch_size", "to make at most ", kMaxItems, " tiles of ",
                   shape.blockM, " query rows of a head, but got more");
  }
  list.items.clear();
  list.items.reserve(size_t(total) + 1);
  list.starts.assign(1, 0);
  if (total == 0) {
    return success();
  }
  Dealer dealer = dealTiles(order, shape, total);
  for (int64_t count : dealer.counts) {
    list.starts.push_back(list.starts.back() + int32_t(count));
  }
  list.items.resize(size_t(total));
  Placer placer(shape, dealer, list);
  order.forEach(placer);
  return success();
}
