//===- ControlFlow.cpp - Where lanes meet again -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Immediate post-dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance
// Algorithm") of the graph of instructions, which is where ptxas, too, makes
// lanes that have parted meet again.
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

using namespace mlir::jfa::emu;

namespace {
/// Blocks of instructions in a row, and their successors.
struct Graph {
  std::vector<size_t> firsts;
  /// The block of each instruction.
  std::vector<size_t> blocks;
  std::vector<llvm::SmallVector<size_t, 2>> successors;
};
} // namespace

static bool isOpcode(const Code &code, size_t i, llvm::StringRef opcode) {
  return code.function->statements[i].opcode == opcode;
}

static Graph makeGraph(const Code &code) {
  size_t count = code.instructions.size();
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  auto ends = [&](size_t i) {
    return isOpcode(code, i, "bra") || isOpcode(code, i, "ret") ||
           isOpcode(code, i, "exit") || isOpcode(code, i, "trap");
  };
  for (size_t i = 0; i < count; ++i) {
    if (ends(i)) {
      starts[i + 1] = true;
      starts[isOpcode(code, i, "bra") ? code.instructions[i].target : i + 1] =
          true;
    }
  }
  Graph graph;
  graph.blocks.resize(count + 1);
  for (size_t i = 0; i < count; ++i) {
    if (starts[i]) {
      graph.firsts.push_back(i);
    }
    graph.blocks[i] = graph.firsts.size() - 1;
  }
  size_t exit = graph.firsts.size();
  graph.firsts.push_back(count);
  graph.blocks[count] = exit;
  graph.successors.resize(exit + 1);
  for (size_t b = 0; b < exit; ++b) {
    size_t last = graph.firsts[b + 1] - 1;
    bool isConditional = code.instructions[last].guard != kNoRegister;
    if (isOpcode(code, last, "bra")) {
      graph.successors[b].push_back(
          graph.blocks[code.instructions[last].target]);
    } else if (ends(last)) {
      graph.successors[b].push_back(exit);
    }
    if (!ends(last) || isConditional) {
      graph.successors[b].push_back(b + 1);
    }
  }
  return graph;
}

/// Blocks from which others are reached last, counted from the exit.
static std::vector<size_t>
orderFromExit(const Graph &graph,
              const std::vector<llvm::SmallVector<size_t, 2>> &predecessors) {
  size_t exit = graph.firsts.size() - 1;
  std::vector<size_t> order;
  std::vector<bool> seen(exit + 1, false);
  std::vector<std::pair<size_t, size_t>> stack{{exit, 0}};
  seen[exit] = true;
  while (!stack.empty()) {
    size_t block = stack.back().first;
    if (stack.back().second == predecessors[block].size()) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    size_t next = predecessors[block][stack.back().second++];
    if (!seen[next]) {
      seen[next] = true;
      stack.push_back({next, 0});
    }
  }
  return order;
}

void mlir::jfa::emu::findJoins(Code &code) {
  size_t count = code.instructions.size();
  code.joins.assign(count, count);
  if (count == 0) {
    return;
  }
  Graph graph = makeGraph(code);
  size_t exit = graph.firsts.size() - 1;
  std::vector<llvm::SmallVector<size_t, 2>> predecessors(exit + 1);
  for (size_t b = 0; b < exit; ++b) {
    for (size_t next : graph.successors[b]) {
      predecessors[next].push_back(b);
    }
  }
  // Loops without an end are never left; they meet nowhere.
  std::vector<size_t> order = orderFromExit(graph, predecessors);
  constexpr size_t kNone = ~size_t(0);
  std::vector<size_t> rank(exit + 1, kNone), dominator(exit + 1, kNone);
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
  }
  dominator[exit] = exit;
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      size_t block = order[i], best = kNone;
      if (block == exit) {
        continue;
      }
      for (size_t next : graph.successors[block]) {
        if (dominator[next] == kNone) {
          continue;
        }
        size_t a = next, b = best == kNone ? next : best;
        while (a != b) {
          (rank[a] < rank[b] ? a : b) = dominator[rank[a] < rank[b] ? a : b];
        }
        best = a;
      }
      if (best != dominator[block]) {
        dominator[block] = best;
        changed = true;
      }
    }
  }
  for (size_t b = 0; b < exit; ++b) {
    if (dominator[b] != kNone) {
      code.joins[graph.firsts[b + 1] - 1] = graph.firsts[dominator[b]];
    }
  }
}
