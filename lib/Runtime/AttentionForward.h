//===- AttentionForward.h - Plans of the attention forward ------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_ATTENTIONFORWARD_H
#define JFA_LIB_RUNTIME_ATTENTIONFORWARD_H

#include "AttentionProblem.h"
#include "Kernels.h"

#include <vector>

namespace jfa::runtime {

/// Where the value of a kernel's argument comes from.
enum class Slot {
  Q,
  K,
  V,
  O,
  Lse,
  QOffsets,
  KOffsets,
  Items,
  ItemStarts,
  HeadsPerGroup,
  QLength,
  KLength,
  LseStride,
  ScaleLog2
};
constexpr size_t kNumSlots = 14;

/// Resolves a kernel's arguments by name; refuses a name that is unknown, or of
/// another kind or type than the runtime passes.
Status bindArguments(const Manifest &manifest, std::vector<Slot> &slots);

class AttentionForwardPlan {
public:
  static Status create(const jfaAttentionForwardDescription &description,
                       int32_t device, AttentionForwardPlan &plan);

  size_t getWorkspaceSize() const;
  Status initializeWorkspace(void *workspace, size_t bytes,
                             Driver::Stream stream) const;
  Status execute(const jfaAttentionForwardBuffers &buffers,
                 const void *workspace, size_t bytes,
                 Driver::Stream stream) const;

  const Kernel &getKernel() const { return *kernel; }
  int64_t getGrid() const { return grid; }
  /// Tiles of all sequences and heads, without the one past the end.
  size_t getNumItems() const { return work.items.size() - 1; }

private:
  AttentionProblem problem;
  const Driver *driver;
  Gpu gpu;
  Kernel *kernel;
  Driver::Function function;
  int64_t grid;
  WorkList work;
  std::vector<Slot> slots;
  /// Of q, k, v and o, for those that the kernel takes as tensor maps.
  TensorMapShape maps[4];

  Status chooseKernel();
  Status shapeMaps();
  Status chooseGrid(int64_t blockM);
  size_t getItemBytes() const;
  Status checkWorkspace(const void *workspace, size_t bytes) const;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_ATTENTIONFORWARD_H
