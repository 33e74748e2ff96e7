//===- Kernels.h - Kernels that are embedded or loaded ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_KERNELS_H
#define JFA_LIB_RUNTIME_KERNELS_H

#include "Bundle.h"
#include "Driver.h"
#include "Status.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace jfa::runtime {

/// A GPU, as far as launching on it goes. Its primary context is the one that
/// CUDA's runtime and the frameworks above it use.
struct Gpu {
  int ordinal;
  Driver::Context context;
  int multiprocessors;
  int computeMajor;
  int computeMinor;
  /// Whether CTAs can be launched in clusters.
  int hasClusters;
};

/// A GPU by its number. Its primary context is retained for the rest of the
/// process, since modules live in it.
Status getGpu(const Driver &driver, int32_t ordinal, Gpu &gpu);

/// Whether code for `arch` ("sm_90a") runs on a GPU.
bool runsOn(const std::string &arch, const Gpu &gpu);

/// One compiled kernel. Its code is loaded when a GPU first needs it.
class Kernel {
public:
  Kernel(Manifest manifest, std::string source,
         std::shared_ptr<const std::vector<uint8_t>> bytes)
      : manifest(std::move(manifest)), source(std::move(source)),
        bytes(std::move(bytes)) {}

  const Manifest &getManifest() const { return manifest; }
  const std::string &getSource() const { return source; }

  /// The function on a GPU; safe to call from many threads.
  Status load(const Driver &driver, const Gpu &gpu, Driver::Function &function);

private:
  Manifest manifest;
  std::string source;
  /// Keeps a loaded bundle's bytes alive; empty for embedded ones.
  std::shared_ptr<const std::vector<uint8_t>> bytes;
  std::mutex mutex;
  std::map<int, Driver::Function> functions;
};

/// All kernels of the process. Kernels are only ever added, so that a pointer
/// to one stays valid.
class KernelRegistry {
public:
  /// The registry, holding the embedded kernels; a damaged embedded bundle is
  /// told by `status`.
  static KernelRegistry &get(Status &status);

  Status add(const uint8_t *data, size_t size, const std::string &source,
             std::shared_ptr<const std::vector<uint8_t>> bytes);
  Status addFile(const std::string &path);

  size_t getCount();
  /// Null if there is no such kernel.
  Kernel *getKernel(size_t index);
  /// The first kernel that satisfies `matches` of the last bundle that has one,
  /// or null: what is loaded comes before what is embedded, and within a bundle
  /// its own order counts.
  Kernel *find(const std::function<bool(const Manifest &)> &matches);

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<Kernel>> kernels;
  /// The number of each bundle's first kernel.
  std::vector<size_t> bundleStarts;

  Status addEmbedded();
};

} // namespace jfa::runtime

/// One bundle that the build linked into the library; the table ends with a
/// null one. Written by cmake/modules/EmbedKernels.cmake.
struct JFAEmbeddedBundle {
  const uint8_t *begin;
  const uint8_t *end;
};
extern "C" const JFAEmbeddedBundle jfaEmbeddedBundles[];

#endif // JFA_LIB_RUNTIME_KERNELS_H
