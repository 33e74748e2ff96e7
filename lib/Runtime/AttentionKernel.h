//===- AttentionKernel.h - An attention kernel and its arguments -*- C++ -*-==//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels of a plan have in common: they are looked up by their
// parameters, take their arguments by name, and are launched with those of them
// that their manifest lists.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_ATTENTIONKERNEL_H
#define JFA_LIB_RUNTIME_ATTENTIONKERNEL_H

#include "AttentionProblem.h"
#include "Kernels.h"

#include <array>
#include <cstring>
#include <vector>

namespace jfa::runtime {

/// The arguments that the runtime knows. Tensors come first.
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
  ScaleLog2,
  BlockStarts,
  NumSequences,
  NumItems,
  Heads
};
constexpr size_t kNumSlots = 18;
constexpr size_t kNumTensors = 4;

/// Resolves a kernel's arguments by name; refuses a name that is unknown, or of
/// another kind or type than the runtime passes.
Status bindArguments(const Manifest &manifest, std::vector<Slot> &slots);

/// The values of one launch.
class AttentionArguments {
public:
  /// A number or an address; of a tensor it is where its first row begins.
  template <typename T>
  void set(Slot slot, T value) {
    static_assert(sizeof(T) <= sizeof(uint64_t), "a parameter has 8 bytes");
    std::memcpy(&words[size_t(slot)], &value, sizeof(T));
  }
  const void *getValue(Slot slot) const { return &words[size_t(slot)]; }
  const void *getAddress(Slot slot) const {
    return reinterpret_cast<const void *>(words[size_t(slot)]);
  }

private:
  std::array<uint64_t, kNumSlots> words{};
};

/// Sets what a problem and the forward's buffers say.
void setArguments(const AttentionProblem &problem,
                  const jfaAttentionForwardBuffers &buffers,
                  AttentionArguments &arguments);

/// The names and values of a kernel's parameters. A kernel without a parameter
/// has it at "false".
using KernelParameters = std::vector<std::pair<std::string, std::string>>;

/// The parameters that tell the kernels for one problem from those for others.
KernelParameters getParameters(const AttentionProblem &problem);

class AttentionKernel {
public:
  /// Finds the kernel of this name and these parameters, and loads it.
  Status load(const Driver &driver, const Gpu &gpu, const std::string &entry,
              const KernelParameters &parameters);

  /// Prepares the tensor maps that the kernel takes. `tensors` is in the order
  /// of Slot.
  Status shapeMaps(jfaElementType elementType,
                   const std::array<TensorLayout, kNumTensors> &tensors);

  /// Launches `grid` CTAs. Allocates nothing.
  Status launch(const Driver &driver, int64_t grid,
                const AttentionArguments &arguments,
                Driver::Stream stream) const;

  const Kernel &getKernel() const { return *kernel; }
  const Manifest &getManifest() const { return kernel->getManifest(); }
  /// A parameter that has to be a number of rows.
  Status getRows(const char *name, int64_t &rows) const;

private:
  Kernel *kernel = nullptr;
  Driver::Function function = nullptr;
  std::vector<Slot> slots;
  /// Of those tensors that the kernel takes as tensor maps.
  std::array<TensorMapShape, kNumTensors> maps;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_ATTENTIONKERNEL_H
