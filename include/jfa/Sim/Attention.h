//===- Attention.h - Inputs of attention kernels -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds the arguments of a kernel that computes attention or its gradients
// (docs/Attention.md) by their names. What the names mean to the backward is in
// lib/Runtime/AttentionBackward.h.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_ATTENTION_H
#define JFA_SIM_ATTENTION_H

#include "jfa/Sim/Memory.h"
#include "jfa/Sim/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::jfa::sim {

/// What a kernel does: the forward; one of the backward's three parts, the
/// second of which may be for few queries that all sequences share; or block
/// attention's forward or backward.
enum class AttentionPart {
  Forward,
  BackwardPre,
  Backward,
  BackwardQuery,
  BackwardPost,
  BlockForward,
  BlockBackward
};

inline bool isBackwardMain(AttentionPart part) {
  return part == AttentionPart::Backward ||
         part == AttentionPart::BackwardQuery;
}

/// Tells it by the names of the arguments; nothing if it is no attention.
std::optional<AttentionPart> getAttentionPart(const Program &program);

/// How 64 rows and columns of a head lie among the backward's sums of dq, where
/// all of these rows exist.
enum class PieceOrder {
  Rows,
  /// As threads hold the transpose, for who sees tiles and not their bytes.
  Transposed,
  /// So for who sees bytes: fragments of 16, swizzled by the copy.
  Fragments
};

/// The sequences and heads of a run.
struct AttentionProblem {
  std::vector<int64_t> qLengths, kLengths;
  int64_t heads = 1, kvHeads = 1;
  bool causal = false;
  /// One block of queries for all sequences.
  bool broadcastQuery = false;
  /// Elements of a row, for a kernel that takes rows in parts; 0 if unknown.
  int64_t headDim = 0;
  /// Of block attention: 1 if q and k are rotated, 2 if v is too, else 0.
  int64_t rotary = 0;
  /// Whether the backward rotates its inputs itself, as the forward does.
  bool rotatesInputs = false;
  /// Whether the backward's sums of dq have an order.
  bool deterministic = false;
  PieceOrder pieceOrder = PieceOrder::Rows;
  uint64_t seed = 0;
  int64_t maxCtas = 1;
  /// Whether the inputs need values.
  bool values = true;
  /// Whether the runtime deals the tiles to clusters; if not, so many take them
  /// in order.
  bool balances = true;
  int64_t clustersInOrder = 1;
};

/// A problem as a kernel's arguments.
class Attention {
public:
  /// Makes arrays and scalars for every argument; returns what is wrong. Of the
  /// backward's inputs, those that other kernels compute have no values yet.
  std::string bind(const AttentionProblem &problem, const Program &program,
                   std::vector<GlobalArray> &arrays,
                   std::vector<Value> &arguments);
  /// The CTAs that have work.
  uint32_t getCtas() const { return uint32_t(ctas); }

  /// Whether it is a forward, which leaves `o`.
  bool isForward() const {
    return part == AttentionPart::Forward ||
           part == AttentionPart::BlockForward;
  }
  bool isBlocked() const {
    return part == AttentionPart::BlockForward ||
           part == AttentionPart::BlockBackward;
  }

  /// Whether the kernel rotates what it reads before it multiplies it.
  bool rotatesInputs() const {
    return problem.rotary != 0 && (isForward() || problem.rotatesInputs);
  }

  /// Sums of each row of dq: for shared queries every CTA may have its own.
  int64_t countSums() const {
    return problem.deterministic && problem.broadcastQuery ? problem.maxCtas
                                                           : 1;
  }

  /// The places of the arrays. Those from kDO on are the backward's only, the
  /// last two block attention's.
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
    kTileCounts,
    kDO,
    kDQ,
    kDK,
    kDV,
    kDQSums,
    kLseLog2,
    kDelta,
    kTurns,
    kBlockStarts,
    kSinCos
  };
  AttentionProblem problem;
  AttentionPart part = AttentionPart::Forward;
  /// `blockM` is the rows of a tile, `blockN` those of a step.
  int64_t dim = 0, blockM = 0, blockN = 1, clusterSize = 1, ctas = 0;
  int64_t qRows = 0, kRows = 0, oRows = 0, paddedRows = 0;
  ElementKind element = ElementKind::BF16;
  /// Whether the kernel takes items of several heads.
  bool groupsHeads = false;
  /// Where sequences begin; `paddedStarts` in `lse_log2` and `delta`.
  std::vector<int64_t> qStarts, kStarts, oStarts, paddedStarts;
  /// Of block attention, whose blocks are the sequences above: what the kernel
  /// is told of the real ones.
  int64_t numSequences = 0, numItems = 0;

private:
  std::string checkProgram();
  void makeStarts();
  std::string checkSize() const;
  void makeTensor(size_t place, ElementKind kind, const Shape &shape);
  void makeTensors();
  void makeGradients();
  void makeTables();
  std::string makeItems();
  std::string makeBlocks();
  void makeSinCos();
  bool lookUp(const std::string &name, Value &value) const;

  /// Only while bind() runs.
  const Program *program = nullptr;
  std::vector<GlobalArray> *arrays = nullptr;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_ATTENTION_H
