//===- AttentionBackward.h - Plans of the attention backward ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three kernels, one after the other:
//
//   attention_bwd_pre   rows of o   delta = rowsum(do * o), lse in base 2,
//   zeroes
//                                   the sums of dq
//   attention_bwd       keys        dk and dv; adds to the sums of dq
//     or attention_bwd_query        the same for few queries that all sequences
//                                   share: a CTA keeps those of one head
//   attention_bwd_post  rows of q   dq from its sums
//
// The workspace holds their work lists, then what they hand on: `dq_acc`, as
// [rows of q, heads, D], of jagged queries [heads, rows of q, D], in 32 bits,
// and `lse_log2` and `delta`, as [heads, P]. The rows of a sequence are padded
// there, so that a kernel can copy whole blocks: the sequence b whose rows in o
// begin at s has its own begin at (s / kPaddedRows + b) * kPaddedRows.
//
// In the deterministic mode additions to dq_acc have an order. Tiles take
// `turns`, semaphores of 32 bits, [blocks of BLOCK_M padded rows, heads, 2],
// one for each piece that they add to (of Blackwell's, which add whole blocks,
// the first half); all CTAs run at the same time. Queries
// that all sequences share have `dq_copies` sums: `dq_acc` is [dq_copies, rows
// of q, heads, D], and attention_bwd_post adds them up in this order. Tiles of
// attention_bwd are numbered in the list: tile i of a head is the (i /
// dq_copies)-th to add to sums i mod dq_copies, which have semaphores of their
// own. Every CTA of attention_bwd_query has sums of its own.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_ATTENTIONBACKWARD_H
#define JFA_LIB_RUNTIME_ATTENTIONBACKWARD_H

#include "AttentionKernel.h"

namespace jfa::runtime {

/// The unit of the padding, which the kernels know too.
constexpr int64_t kPaddedRows = 128;

class AttentionBackwardPlan {
public:
  enum { kPre, kMain, kPost, kNumLaunches };

  static Status create(const jfaAttentionBackwardDescription &description,
                       int32_t device, AttentionBackwardPlan &plan);
  /// The same once the description is checked and the GPU is known.
  static Status create(const Driver &driver, const Gpu &gpu,
                       AttentionBackwardPlan &plan);

  size_t getWorkspaceSize() const;
  Status initializeWorkspace(void *workspace, size_t bytes,
                             Driver::Stream stream) const;
  Status execute(const jfaAttentionBackwardBuffers &buffers, void *workspace,
                 size_t bytes, Driver::Stream stream) const;

  struct Launch {
    AttentionKernel kernel;
    WorkList work;
    int64_t grid = 0;
    /// Of the sequences that its work list counts.
    int32_t qLength = 0;
    /// Where the work list lies in the workspace.
    size_t listOffset = 0;

    /// Tiles of all sequences and heads, without the one past the end.
    size_t getNumItems() const { return work.items.size() - 1; }
  };
  const Launch &getLaunch(size_t index) const { return launches[index]; }

  AttentionGradients problem;

private:
  const Driver *driver;
  Gpu gpu;
  std::array<Launch, kNumLaunches> launches;
  /// Whether the main kernel is attention_bwd_query.
  bool keepsQueries = false;
  /// Rows of `lse_log2` and `delta`.
  int64_t paddedRows;
  /// Sums of each row of dq.
  int64_t copies = 1;
  /// Queries of a step of attention_bwd.
  int64_t blockM = 1;
  size_t sumsOffset, lseOffset, deltaOffset, turnsOffset, workspaceSize;

  Status loadKernels();
  Status shapeMaps();
  Status listWork();
  Status listRows(const Sequences &sequences, int64_t rowsOfTile,
                  Launch &launch);
  Status loadMain(KernelParameters parameters);
  Status listKeys(Launch &launch);
  void layOutWorkspace();
  int64_t chooseCopies(int64_t workers) const;
  /// Whether there may be several sums of each row of dq.
  bool mayHaveCopies() const;
  size_t getSumsBytes() const;
  size_t getTurnsBytes() const;
  Status clearWorkspace(char *base, Driver::Stream stream) const;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_ATTENTIONBACKWARD_H
