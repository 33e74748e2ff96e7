//===- Attention.h - Inputs of attention kernels -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds the arguments of a kernel that computes attention (docs/Attention.md)
// by their names.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_ATTENTION_H
#define JFA_SIM_ATTENTION_H

#include "jfa/Sim/Memory.h"
#include "jfa/Sim/Program.h"

#include <string>
#include <vector>

namespace mlir::jfa::sim {

/// The sequences and heads of a run.
struct AttentionProblem {
  std::vector<int64_t> qLengths, kLengths;
  int64_t heads = 1, kvHeads = 1;
  bool causal = false;
  /// One block of queries for all sequences.
  bool broadcastQuery = false;
  uint64_t seed = 0;
  int64_t maxCtas = 1;
  /// Whether the inputs need values.
  bool values = true;
  /// Whether the runtime's balancer deals the tiles to CTAs; if not, one CTA
  /// takes them in order.
  bool balances = true;
};

/// A problem as a kernel's arguments.
class Attention {
public:
  /// Makes arrays and scalars for every argument; returns what is wrong.
  std::string bind(const AttentionProblem &problem, const Program &program,
                   std::vector<GlobalArray> &arrays,
                   std::vector<Value> &arguments);
  /// The CTAs that have work.
  uint32_t getCtas() const { return uint32_t(ctas); }

  /// The places of the arrays.
  enum {
    kQ,
    kK,
    kV,
    kO,
    kLse,
    kQOffsets,
    kKOffsets,
    kItems,
    kItemStarts,
    kBlockStarts
  };
  AttentionProblem problem;
  int64_t dim = 0, blockM = 0, blockN = 1, ctas = 0;
  int64_t qRows = 0, kRows = 0, oRows = 0;
  ElementKind element = ElementKind::BF16;
  std::vector<int64_t> qStarts, kStarts, oStarts;
  /// Whether the kernel computes block attention; then the sequences above are
  /// the blocks, and these are what it is told.
  bool isBlocked = false;
  int64_t numSequences = 0, numItems = 0;
  /// Whether the kernel writes lse.
  bool hasLse = false;

private:
  std::string checkProgram(const Program &program);
  void makeTensors(const Program &program);
  void makeTables();
  std::string makeItems();
  std::string makeBlocks();

  std::vector<GlobalArray> *arrays = nullptr;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_ATTENTION_H
