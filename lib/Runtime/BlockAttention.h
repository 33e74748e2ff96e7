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

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Which tensors are rotated, and by what.
struct Rotation {
  jfaRotary rotary;
  TensorLayout sinCos;
};

/// Checks everything that can be known without a GPU or a kernel. The problem
/// is that of jagged attention, whose checks and tensors it shares.
Status
checkBlockAttention(const jfaBlockAttentionForwardDescription &description,
                    AttentionProblem &problem, BlockList &blocks,
                    Rotation &rotation);

/// A forward with the tensors of its gradients.
struct BlockGradients {
  AttentionGradients tensors;
  Rotation rotation;
  /// Whether they come as they were before the rotation.
  bool rotatesInputs;
};

Status
checkBlockGradients(const jfaBlockAttentionBackwardDescription &description,
                    BlockGradients &gradients, BlockList &blocks);

/// Check the pointers of one execution.
Status checkBlockBuffers(const AttentionProblem &problem,
                         const Rotation &rotation,
                         const jfaBlockAttentionForwardBuffers &buffers);
Status checkBlockBuffers(const BlockGradients &gradients,
                         const jfaBlockAttentionBackwardBuffers &buffers);

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What the plans share: one kernel, which reads where sequences begin from the
/// workspace.
class BlockPlan {
public:
  size_t getWorkspaceSize() const;
  Status initializeWorkspace(void *workspace, size_t bytes,
                             Driver::Stream stream) const;

  const Kernel &getKernel() const { return kernel.getKernel(); }
  int64_t getGrid() const { return grid; }
  /// Blocks of all sequences and heads.
  int64_t getNumItems() const { return blocks.numBlocks * heads; }

protected:
  BlockList blocks;

  Status load(int32_t device, const char *entry,
              const jfaBlockAttentionForwardDescription &description,
              const AttentionProblem &problem,
              const KernelParameters &parameters, const TensorLayouts &tensors);
  /// `arguments` has everything but what the plan itself knows.
  Status launch(AttentionArguments &arguments, const void *workspace,
                size_t bytes, Driver::Stream stream) const;

private:
  const Driver *driver;
  Gpu gpu;
  AttentionKernel kernel;
  int64_t grid;
  int32_t heads;
};

class BlockAttentionForwardPlan : public BlockPlan {
public:
  static Status create(const jfaBlockAttentionForwardDescription &description,
                       int32_t device, BlockAttentionForwardPlan &plan);
  Status execute(const jfaBlockAttentionForwardBuffers &buffers,
                 const void *workspace, size_t bytes,
                 Driver::Stream stream) const;

private:
  AttentionProblem problem;
  Rotation rotation;
};

class BlockAttentionBackwardPlan : public BlockPlan {
public:
  static Status create(const jfaBlockAttentionBackwardDescription &description,
                       int32_t device, BlockAttentionBackwardPlan &plan);
  Status execute(const jfaBlockAttentionBackwardBuffers &buffers,
                 const void *workspace, size_t bytes,
                 Driver::Stream stream) const;

private:
  BlockGradients problem;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_BLOCKATTENTION_H
