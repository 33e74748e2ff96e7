//===- Options.cpp - The command line of jfa-emu -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir::jfa::emu;
using namespace mlir::jfa::sim;

/// What comes before and after the options of attention.
static const char *const kHelp =
    R"(USAGE: jfa-emu FILE.ptx [options]

Executes a kernel's PTX on the CPU, instruction by instruction, under a schedule
of its warps and asynchronous operations, and reports what is wrong.

  --manifest=FILE      what jfa-opt has written beside a cubin or a bundle
  --kernel=NAME        which kernel, if the file has several
  --schedule=S         eager (default), late, random:SEED, pct:DEPTH[:SEED] or
                       all[:LIMIT]
  --numerics=N         fast (default), or exact: products and ex2 as on an H200
  --fences=M           hardware (default): what a thread makes the tensor cores
                       do is in order; or strict: only what PTX promises is,
                       and reads too need a proxy fence before asynchronous
                       writes
  --grid=N,N,N         CTAs; by default 1, and at most 3 with --lengths
  --block=N,N,N        threads, if neither the manifest nor the kernel says
  --shared=N           bytes of dynamic shared memory, without a manifest
  --seed=N             of random inputs
  --max-instructions=N of a cluster's warps, after which it is taken for endless
  --resident=N         clusters that run from the beginning (1 by default): the
                       others can be cancelled by clusterlaunchcontrol
  --trace=FILE         writes a timeline that Perfetto reads
  --parse              only reads and decodes: the kernel, or all of them
)";
static const char *const kHelpAfter =
    R"(  --causal             compares with causal attention, as the manifest may say

Any kernel:
  --arg NAME=VALUE     a number, a file in NumPy's format, or zeros:, iota:,
                       random: or none: with extents, such as zeros:128x64;
                       with a type before it, such as i32:zeros:32
  --out NAME=FILE      writes an argument after the run
  --print NAME         prints one

Exit codes: 0 right, 1 wrong values, 2 violation, 3 bad usage.
)";

std::string mlir::jfa::emu::getHelp() {
  return std::string(kHelp) + kAttentionHelp + kHelpAfter;
}

static std::map<std::string, OptionReader> getReaders(Options &options) {
  auto numbers = [](std::vector<int64_t> &to) -> OptionReader {
    return {"one to three numbers", [&to](const std::string &value) {
              return parseNumbers(value, to) && to.size() <= 3;
            }};
  };
  return {{"--manifest", readText(options.manifest)},
          {"--kernel", readText(options.kernel)},
          {"--trace", readText(options.trace)},
          {"--resident", readNumber(options.resident, 1)},
          {"--schedule", readText(options.schedule)},
          {"--numerics",
           {"fast or exact",
            [&](const std::string &value) {
              options.numerics = value;
              return value == "fast" || value == "exact";
            }}},
          {"--fences",
           {"hardware or strict",
            [&](const std::string &value) {
              options.fences = value;
              return value == "hardware" || value == "strict";
            }}},
          {"--grid", numbers(options.grid)},
          {"--block", numbers(options.block)},
          {"--shared", readNumber(options.sharedBytes, 0)},
          {"--max-instructions", readNumber(options.maxInstructions, 0)},
          {"--seed", readNumber(options.seed, 0)},
          {"--arg", readNamed(options.arguments)},
          {"--out", readNamed(options.outputs)},
          {"--print", {"a name", [&](const std::string &value) {
                         options.prints.push_back(value);
                         return !value.empty();
                       }}}};
}

std::string mlir::jfa::emu::parseOptions(int argc, char **argv,
                                         Options &options) {
  std::map<std::string, OptionReader> readers = getReaders(options);
  std::map<std::string, bool *> flags = {{"--parse", &options.parseOnly},
                                         {"--help", &options.help},
                                         {"-h", &options.help}};
  options.attention.addTo(readers, flags);
  std::string problem =
      readCommandLine(argc, argv, readers, flags, options.file);
  if (!problem.empty()) {
    return problem;
  }
  if (options.help) {
    return "";
  }
  return options.file.empty() ? "expected a file of PTX"
                              : options.attention.check();
}
