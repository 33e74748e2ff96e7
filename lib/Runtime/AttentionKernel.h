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

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace jfa::runtime {

/// The arguments that the runtime knows. Those that kernels may take as tensor
/// maps come first.
enum class Slot {
  Q,
  K,
  V,
  O,
  DOut,
  DQ,
  DK,
  DV,
  DQSums,
  LseLog2,
  Delta,
  SinCos,
  Lse,
  QOffsets,
  KOffsets,
  Items,
  ItemStarts,
  TileCounts,
  HeadsPerGroup,
  QLength,
  KLength,
  LseStride,
  RowsStride,
  Scale,
  ScaleLog2,
  BlockStarts,
  NumSequences,
  NumItems,
  Heads,
  Turns,
  DQCopies
};
constexpr size_t kNumTensors = size_t(Slot::SinCos) + 1;
constexpr size_t kNumSlots = size_t(Slot::DQCopies) + 1;

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

/// Sets what a problem and the forward's buffers say. A tensor without rows may
/// have no address, but its map needs one: it gets `elsewhere`, which no box of
/// it ever touches.
void setArguments(const AttentionProblem &problem,
                  const jfaAttentionForwardBuffers &buffers,
                  const void *elsewhere, AttentionArguments &arguments);

/// The layouts of the tensors, by slot.
using TensorLayouts = std::array<TensorLayout, kNumTensors>;

/// The names and values of a kernel's parameters. A kernel without a parameter
/// has it at "false".
using KernelParameters = std::vector<std::pair<std::string, std::string>>;

/// The parameters that tell the kernels for one problem from those for others.
KernelParameters getParameters(const AttentionProblem &problem);

/// Whether a kernel is for batches of such sequences: it may have the
/// parameters MIN_QUERIES, MAX_QUERIES and MAX_KEYS, limits of what each
/// sequence has, in which 0 stands for none.
bool suitsLengths(const Manifest &manifest, const Lengths &lengths);

/// The kernel of this name and these parameters that runs on a GPU and suits
/// the lengths of the sequences (see KernelRegistry::find), or null.
Kernel *findKernel(KernelRegistry &registry, const Gpu &gpu,
                   const std::string &entry, const KernelParameters &parameters,
                   const Lengths &lengths);

/// What kernels without limits suit only.
constexpr Lengths kAnyLengths = {0, std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::max()};

class AttentionKernel {
public:
  /// Finds a kernel (see findKernel) and loads it.
  Status load(const Driver &driver, const Gpu &gpu, const std::string &entry,
              const KernelParameters &parameters,
              const Lengths &lengths = kAnyLengths);

  /// Shapes the tensor maps that the kernel takes.
  Status shapeMaps(jfaElementType elementType, const TensorLayouts &tensors);

  /// CTAs of a cluster, 1 without.
  int64_t getClusterSize() const { return getManifest().cluster[0]; }
  /// How many clusters to launch so that all run at once; without clusters, how
  /// many CTAs.
  Status countWorkers(const Driver &driver, const Gpu &gpu,
                      int64_t &workers) const;

  /// How many CTAs run at a time on one multiprocessor.
  Status countResident(const Driver &driver, const Gpu &gpu,
                       int64_t &ctas) const;

  /// What one launch passes. It keeps the arguments' addresses.
  struct Prepared {
    TensorMap maps[kNumTensors];
    void *values[kNumSlots];
  };
  /// Encodes the tensor maps; nothing else about a launch can be refused.
  /// Neither allocates anything.
  Status prepare(const Driver &driver, const AttentionArguments &arguments,
                 Prepared &prepared) const;
  /// Launches `grid` clusters. Allocates nothing. If `isDependent`, what is
  /// before it in the stream is a kernel that the same plan has launched: one
  /// that knows how to wait for it (DEPENDENT_LAUNCH) may start before its end.
  Status launch(const Driver &driver, int64_t grid, Prepared &prepared,
                Driver::Stream stream, bool isDependent = false) const;

  const Kernel &getKernel() const { return *kernel; }
  const Manifest &getManifest() const { return kernel->getManifest(); }
  /// Whether it has such an argument.
  bool takes(Slot slot) const {
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  }
  /// A parameter that has to be a number of rows.
  Status getRows(const char *name, int64_t &rows) const;

private:
  Kernel *kernel = nullptr;
  Driver::Function function = nullptr;
  std::vector<Slot> slots;
  /// Of those tensors that the kernel takes as tensor maps.
  std::array<TensorMapShape, kNumTensors> maps;

  /// Whether its CTAs wait for each other, so that all run at the same time or
  /// none does.
  bool isCooperative = false;
  /// Whether it waits for what the kernel before it has done where it needs it.
  bool mayBeDependent = false;

  Status checkCluster(const Gpu &gpu) const;
  /// Room for as many as a launch may have.
  using LaunchAttributes = std::array<LaunchAttribute, 2>;
  LaunchConfig makeConfig(int64_t grid, LaunchAttributes &attributes,
                          Driver::Stream stream,
                          bool isDependent = false) const;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_ATTENTIONKERNEL_H
