//===- Options.h - The command line of jfa-sim -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_SIM_OPTIONS_H
#define JFA_TOOLS_JFA_SIM_OPTIONS_H

#include "CommandLine.h"

#include <optional>

namespace mlir::jfa::sim {

struct Options {
  std::string file;
  std::string kernel;
  /// Values of the kernel's parameters.
  NamedTexts bindings;
  /// Arguments, and where to write outputs.
  NamedTexts arguments, outputs;

  /// Of attention kernels; the lengths are those of the keys.
  std::optional<std::vector<int64_t>> lengths;
  std::optional<int64_t> qLength;
  int64_t heads = 1;
  std::optional<int64_t> kvHeads;
  bool broadcastQuery = false, causal = false;

  uint64_t seed = 0;
  std::optional<int64_t> grid;
  std::string schedule = "eager";
  bool orderOnly = false;
  /// Whether to run tlx-verify-protocol instead of one launch.
  bool verify = false;
  /// Whether to insert the fences that the compiler inserts.
  bool insertFences = true;
  /// Whether generic reads need a proxy fence before asynchronous writes.
  bool strictProxy = false;
  std::string trace;
  bool help = false;
};

/// Returns what is wrong with the command line, or nothing.
std::string parseOptions(int argc, char **argv, Options &options);

extern const char *const kHelp;

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_JFA_SIM_OPTIONS_H
