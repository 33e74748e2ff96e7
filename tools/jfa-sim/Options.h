//===- Options.h - The command line of jfa-sim -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_SIM_OPTIONS_H
#define JFA_TOOLS_JFA_SIM_OPTIONS_H

#include "AttentionOptions.h"

namespace mlir::jfa::sim {

struct Options {
  std::string file;
  std::string kernel;
  /// Values of the kernel's parameters.
  NamedTexts bindings;
  /// Arguments, and where to write outputs.
  NamedTexts arguments, outputs;

  AttentionOptions attention;
  /// The backward's other kernels.
  std::string preFile, postFile;

  uint64_t seed = 0;
  uint64_t maxInstructions = kMaxInstructions;
  std::optional<int64_t> grid;
  std::string schedule = "eager";
  bool orderOnly = false;
  /// Whether to run tlx-verify-protocol instead of one launch.
  bool verify = false;
  /// Whether it is an error that this does not show everything.
  bool strictVerify = false;
  /// Whether to insert the fences that the compiler inserts.
  bool insertFences = true;
  /// Whether generic reads need a proxy fence before asynchronous writes.
  bool strictProxy = true;
  std::string trace;
  bool help = false;
};

/// Returns what is wrong with the command line, or nothing.
std::string parseOptions(int argc, char **argv, Options &options);

std::string getHelp();

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_JFA_SIM_OPTIONS_H
