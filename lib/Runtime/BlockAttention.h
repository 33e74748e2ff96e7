//===- BlockAttention.h - Plans of block attention --------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_BLOCKATTENTION_H
#define JFA_LIB_RUNTIME_BLOCKATTENTION_H

#include "AttentionKernel.h"
#include "BlockList.h"

namespace jfa::runtime {

/// Checks everything that can be known without a GPU or a kernel. The problem
/// is that of jagged attention, whose checks and tensors it shares.
Status
checkBlockAttention(const jfaBlockAttentionForwardDescription &description,
                    AttentionProblem &problem, BlockList &blocks);

/// Checks the pointers of one execution.
Status checkBlockBuffers(const AttentionProblem &problem,
                         const jfaBlockAttentionForwardBuffers &buffers);

class BlockAttentionForwardPlan {
public:
  static Status create(const jfaBlockAttentionForwardDescription &description,
                       int32_t device, BlockAttentionForwardPlan &plan);

  size_t getWorkspaceSize() const;
  Status initializeWorkspace(void *workspace, size_t bytes,
                             Driver::Stream stream) const;
  Status execute(const jfaBlockAttentionForwardBuffers &buffers,
                 const void *workspace, size_t bytes,
                 Driver::Stream stream) const;

  const Kernel &getKernel() const { return kernel.getKernel(); }
  int64_t getGrid() const { return grid; }
  /// Blocks of all sequences and heads.
  int64_t getNumItems() const { return blocks.numBlocks * problem.queryHeads; }

private:
  AttentionProblem problem;
  BlockList blocks;
  const Driver *driver;
  Gpu gpu;
  AttentionKernel kernel;
  int64_t grid;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_BLOCKATTENTION_H
