//===- AttentionOptions.cpp - Options of attention problems -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionOptions.h"

using namespace mlir::jfa::sim;

const char *const mlir::jfa::sim::kAttentionHelp =
    R"(
Attention kernels (docs/Attention.md) on random inputs:
  --lengths=N,N,...    of the sequences; keys, and queries without --q-len
  --q-len=N            queries of each sequence
  --broadcast-q        one block of --q-len queries for all sequences
  --heads=N            query heads
  --kv-heads=N         heads of keys and values; as many by default
)";

void AttentionOptions::addTo(std::map<std::string, OptionReader> &readers,
                             std::map<std::string, bool *> &flags) {
  readers.emplace("--lengths",
                  OptionReader{"numbers separated by commas",
                               [this](const std::string &value) {
                                 return parseNumbers(value, lengths.emplace());
                               }});
  readers.emplace("--q-len", readNumber(qLength, 0));
  readers.emplace("--heads", readNumber(heads, 1));
  readers.emplace("--kv-heads", readNumber(kvHeads, 1));
  flags.emplace("--broadcast-q", &broadcastQuery);
  flags.emplace("--causal", &causal);
}

std::string AttentionOptions::check() const {
  if (!lengths && (broadcastQuery || qLength)) {
    return "expected '--lengths' with '--q-len' and '--broadcast-q'";
  }
  if (broadcastQuery && !qLength) {
    return "expected '--q-len' with '--broadcast-q'";
  }
  return "";
}

AttentionProblem AttentionOptions::makeProblem() const {
  AttentionProblem problem;
  problem.kLengths = lengths.value_or(std::vector<int64_t>());
  problem.qLengths = problem.kLengths;
  if (qLength) {
    problem.qLengths.assign(problem.kLengths.size(), *qLength);
  }
  problem.heads = heads;
  problem.kvHeads = kvHeads.value_or(heads);
  problem.causal = causal;
  problem.broadcastQuery = broadcastQuery;
  return problem;
}
