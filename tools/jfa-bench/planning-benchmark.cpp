//===- planning-benchmark.cpp - Times the making of plans -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times what making a plan costs the host beyond the driver's own calls:
// checking the description, finding the lengths that choose the kernel, and
// ordering the work, for batches of different distributions of lengths. A plan
// may be made for each batch, so this has a limit.
//
//   planning-benchmark [SEQUENCES [HEADS]]
//
//===----------------------------------------------------------------------===//

#include "AttentionProblem.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace jfa::runtime;

namespace {
struct Distribution {
  const char *name;
  std::function<int32_t(std::mt19937 &)> draw;
};
} // namespace

static const Distribution kDistributions[] = {
    {"34 tokens each", [](std::mt19937 &) { return 34; }},
    {"uniform, 0 to 255",
     [](std::mt19937 &random) { return int32_t(random() % 256); }},
    {"log-normal, mean 120, up to 4096",
     [](std::mt19937 &random) {
       std::lognormal_distribution<double> lengths(std::log(80.0), 0.9);
       return int32_t(std::clamp(lengths(random), 1.0, 4096.0));
     }},
    {"mostly empty, else up to 1023",
     [](std::mt19937 &random) {
       return random() % 8 ? 0 : int32_t(random() % 1024);
     }},
    {"64 each, but one in 1000 has 8192",
     [](std::mt19937 &random) { return random() % 1000 ? 64 : 8192; }},
};

/// Milliseconds of one plan.
static double plan(const std::vector<int32_t> &offsets, int32_t heads,
                   bool causal, int64_t &tiles, size_t &items) {
  jfaAttentionForwardDescription description = {};
  description.struct_size = sizeof(description);
  description.element_type = JFA_ELEMENT_TYPE_BF16;
  description.mode = JFA_ATTENTION_MODE_JAGGED;
  description.head_dim = 128;
  description.num_query_heads = description.num_kv_heads = heads;
  description.causal = causal;
  description.batch_size = int64_t(offsets.size()) - 1;
  description.q_offsets = description.k_offsets = offsets.data();
  auto start = std::chrono::steady_clock::now();
  AttentionProblem problem;
  WorkList work;
  Lengths lengths = {};
  Status status = checkAttention(description, problem);
  if (!status.failed()) {
    WorkShape shape = {128, 128, causal, heads, heads, 512, 132};
    shape.groupAbove = kLongList;
    lengths = findLengths(problem.sequences);
    status = makeWorkList(problem.sequences, shape, work);
  }
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  if (status.failed()) {
    std::fprintf(stderr, "error: %s\n", status.message.c_str());
    std::exit(1);
  }
  if (lengths.mostKeys == 0) {
    std::fprintf(stderr, "error: expected sequences of some length, but got "
                         "none\n");
    std::exit(1);
  }
  tiles = work.countTiles();
  items = work.items.size();
  return time.count();
}

/// A count from the command line, or 0 if it is none.
static int64_t parseCount(const char *text) {
  char *end = nullptr;
  long long value = std::strtoll(text, &end, 10);
  return *text && !*end && value > 0 && value <= 1 << 24 ? value : 0;
}

int main(int argc, char **argv) {
  int64_t count = argc > 1 ? parseCount(argv[1]) : 100000;
  int64_t heads = argc > 2 ? parseCount(argv[2]) : 4;
  if (argc > 3 || count == 0 || heads == 0) {
    std::fprintf(stderr, "error: expected numbers of sequences and of heads "
                         "from 1 to 16777216, but got others\n");
    return 1;
  }
  std::printf("%lld sequences, %lld heads, 128 x 128 tiles, 132 workers\n"
              "%-36s %-7s %10s %10s %10s %10s\n",
              (long long)count, (long long)heads, "lengths", "mask", "tiles",
              "items", "median ms", "best ms");
  for (const Distribution &distribution : kDistributions) {
    std::mt19937 random(1);
    std::vector<int32_t> offsets = {0};
    for (int64_t i = 0; i < count; ++i) {
      offsets.push_back(offsets.back() + distribution.draw(random));
    }
    for (bool causal : {false, true}) {
      int64_t tiles = 0;
      size_t items = 0;
      std::vector<double> times(41);
      for (double &time : times) {
        time = plan(offsets, int32_t(heads), causal, tiles, items);
      }
      std::sort(times.begin(), times.end());
      std::printf("%-36s %-7s %10lld %10zu %10.3f %10.3f\n", distribution.name,
                  causal ? "causal" : "full", (long long)tiles, items,
                  times[times.size() / 2], times.front());
    }
  }
  return 0;
}
