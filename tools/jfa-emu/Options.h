//===- Options.h - The command line of jfa-emu -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_EMU_OPTIONS_H
#define JFA_TOOLS_JFA_EMU_OPTIONS_H

#include "../jfa-sim/CommandLine.h"

#include <optional>

namespace mlir::jfa::emu {

using sim::NamedTexts;

struct Options {
  std::string file, manifest, kernel, trace;
  NamedTexts arguments, outputs;
  std::vector<std::string> prints;

  /// Of attention kernels; the lengths are those of the keys.
  std::optional<std::vector<int64_t>> lengths;
  std::optional<int64_t> qLength;
  int64_t heads = 1;
  std::optional<int64_t> kvHeads;
  bool broadcastQuery = false, causal = false;

  uint64_t seed = 0;
  int64_t resident = 1;
  std::vector<int64_t> grid, block;
  std::optional<int64_t> sharedBytes, maxInstructions;
  std::string schedule = "eager", numerics = "fast", fences = "hardware";
  bool parseOnly = false, help = false;
};

/// Returns what is wrong with the command line, or nothing.
std::string parseOptions(int argc, char **argv, Options &options);

extern const char *const kHelp;

} // namespace mlir::jfa::emu

#endif // JFA_TOOLS_JFA_EMU_OPTIONS_H
