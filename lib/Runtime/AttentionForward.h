//===- AttentionForward.h - Plans of the attention forward ------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_ATTENTIONFORWARD_H
#define JFA_LIB_RUNTIME_ATTENTIONFORWARD_H

#include "AttentionKernel.h"

namespace jfa::runtime {

class AttentionForwardPlan {
public:
  static Status create(const jfaAttentionForwardDescription &description,
                       int32_t device, AttentionForwardPlan &plan);
  /// The same once the description is checked and the GPU is known.
  static Status create(const Driver &driver, const Gpu &gpu,
                       AttentionForwardPlan &plan);

  size_t getWorkspaceSize() const;
  Status initializeWorkspace(void *workspace, size_t bytes,
                             Driver::Stream stream) const;
  Status execute(const jfaAttentionForwardBuffers &buffers,
                 const void *workspace, size_t bytes,
                 Driver::Stream stream) const;

  const Kernel &getKernel() const { return kernel.getKernel(); }
  /// CTAs.
  int64_t getGrid() const { return grid * kernel.getClusterSize(); }
  /// Tiles of clusters of all sequences and heads.
  size_t getNumItems() const { return size_t(work.countTiles()); }

  AttentionProblem problem;

private:
  const Driver *driver;
  Gpu gpu;
  AttentionKernel kernel;
  /// Clusters; without clusters, CTAs.
  int64_t grid;
  WorkList work;

  Status chooseGrid();
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_ATTENTIONFORWARD_H
