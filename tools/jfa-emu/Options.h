//===- Options.h - The command line of jfa-emu -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_EMU_OPTIONS_H
#define JFA_TOOLS_JFA_EMU_OPTIONS_H

#include "AttentionOptions.h"

namespace mlir::jfa::emu {

using sim::NamedTexts;

struct Options {
  /// What messages begin with.
  const char *tool = "jfa-emu";
  std::string file, manifest, kernel, trace;
  NamedTexts arguments, outputs;
  std::vector<std::string> prints;

  sim::AttentionOptions attention;

  uint64_t seed = 0;
  int64_t resident = 1;
  std::vector<int64_t> grid, block;
  std::optional<int64_t> sharedBytes, maxInstructions;
  std::string schedule = "eager", numerics = "fast", fences = "hardware";
  bool parseOnly = false, help = false;
};

/// Returns what is wrong with the command line, or nothing.
std::string parseOptions(int argc, char **argv, Options &options);

std::string getHelp();

} // namespace mlir::jfa::emu

#endif // JFA_TOOLS_JFA_EMU_OPTIONS_H
