//===- Manifest.h - Manifests of kernels -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What docs/Manifest.md describes, as far as a launch on the CPU needs it.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_MANIFEST_H
#define JFA_EMU_MANIFEST_H

#include "jfa/Emu/Launch.h"
#include "jfa/Sim/Program.h"

namespace mlir::jfa::emu {

struct ManifestDimension {
  int64_t axis = 0, step = 1, box = 1;
  /// `axis`, `segment`, `position`, or empty for the number beside it.
  std::string extent;
  int64_t fixedExtent = 0;
};

struct ManifestArgument {
  std::string name;
  sim::ArgumentKind kind = sim::ArgumentKind::Scalar;
  uint64_t offset = 0, size = 0;
  sim::ElementKind element = sim::ElementKind::F32;
  int64_t swizzleBytes = 0;
  std::vector<ManifestDimension> dimensions;
  sim::Shape tile;
};

struct Manifest {
  std::string entry;
  LaunchShape shape;
  bool isCausal = false, isDeterministic = false, rotatesInputs = false;
  /// Whether CTAs take over the work of others: the parameter DYNAMIC.
  bool isDynamic = false;
  /// Whether the backward's sums of dq lie as threads hold them.
  bool hasFragments = false;
  /// The parameters HEAD_DIM and ROTARY, or 0.
  int64_t headDim = 0, rotary = 0;
  std::vector<ManifestArgument> arguments;
};

/// Reads the manifest of the kernel `entry`, or of the only one. Returns what
/// is wrong.
std::string parseManifest(llvm::StringRef text, llvm::StringRef entry,
                          Manifest &manifest);

/// One for a kernel that has none: numbers, and pointers where a parameter has
/// 64 bits.
Manifest makeManifest(const Code &code);

/// Its arguments, for what binds those of simulated kernels.
sim::Program makeProgram(const Manifest &manifest);

/// Puts arrays at addresses and fills in the parameters: values[i] is that of
/// argument i, the number of an array for tensor maps and pointers. Returns
/// what is wrong.
std::string bindArguments(const Manifest &manifest,
                          std::vector<sim::GlobalArray> &arrays,
                          const std::vector<sim::Value> &values,
                          GlobalMemory &global,
                          std::vector<uint8_t> &parameters);

/// `bf16` and its like.
bool parseElement(llvm::StringRef name, sim::ElementKind &kind);

} // namespace mlir::jfa::emu

#endif // JFA_EMU_MANIFEST_H
