//===- Bundle.h - Bundles of compiled kernels -------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle is what jfa-opt writes for the runtime: the manifests of some
// kernels, as JSON, and their machine code.
//
//   "JFABUNDL"  u32 version = 1  u32 0  u64 header bytes   (little endian)
//   header: {"schema": 1, "kernels": [manifest, ...]}
//   zeros up to a multiple of 16, then the code, each at a multiple of 16
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_BUNDLE_H
#define JFA_LIB_RUNTIME_BUNDLE_H

#include "Status.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace jfa::runtime {

enum class Extent { Fixed, Axis, Segment, Position };

/// One dimension of a tensor map. It walks `axis` of the tensor (0: rows,
/// 1: heads, 2: the contiguous elements of a row) in steps of `step`.
struct TensorMapDimension {
  int axis;
  int64_t step;
  uint32_t box;
  Extent extent;
  /// With Extent::Fixed.
  uint64_t fixedExtent;
};

struct TensorMapRecipe {
  /// Innermost first; at most 5.
  std::vector<TensorMapDimension> dimensions;
  int swizzleBytes;
  /// Two dimensions walk the rows, so that a box can be cut off at the end of
  /// its own sequence; see TensorMap.h.
  bool ragged;
};

enum class ArgumentKind { TensorMap, Pointer, Scalar };
enum class ElementType { BF16, F16, F32, I32, I64 };

struct Argument {
  std::string name;
  ArgumentKind kind;
  ElementType element;
  size_t size;
  size_t offset;
  /// With ArgumentKind::TensorMap.
  TensorMapRecipe recipe;
};

struct Manifest {
  std::string entry;
  std::string arch;
  /// Compile-time parameters. Numbers and truth values are kept as they were
  /// spelt: "128", "false".
  std::map<std::string, std::string> parameters;
  std::array<int32_t, 3> block;
  std::array<int32_t, 3> cluster;
  int32_t sharedMemoryBytes;
  int32_t registers;
  int32_t spillStoreBytes;
  int32_t spillLoadBytes;
  int32_t stackBytes;
  std::vector<Argument> arguments;
  std::string llvmVersion;
  std::string ptxasVersion;
  /// The machine code, inside of the bundle's bytes.
  const uint8_t *cubin;
  size_t cubinBytes;

  /// A parameter as a number, or `otherwise` if it is absent or none.
  int64_t getInteger(const std::string &name, int64_t otherwise) const;
  /// A parameter as it was spelt, or `otherwise` if it is absent.
  std::string getParameter(const std::string &name,
                           const std::string &otherwise) const;
};

/// Reads a bundle's manifests. They point into `data`, which must outlive them.
/// Anything that departs from the format is refused.
Status readBundle(const uint8_t *data, size_t size,
                  std::vector<Manifest> &manifests);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_BUNDLE_H
