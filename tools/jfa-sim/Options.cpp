//===- Options.cpp - The command line of jfa-sim -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

using namespace mlir::jfa::sim;

const char *const mlir::jfa::sim::kHelp =
    R"(USAGE: jfa-sim FILE [options]

Runs a kernel on the CPU, under a schedule of its tasks and asynchronous
operations, and reports violations of its protocol.

  -D NAME=VALUE        binds a parameter of the kernel
  --kernel=NAME        which kernel, if the file has several
  --grid=N             CTAs; by default 1, and at most 3 with --lengths
  --schedule=S         eager (default), late, random:SEED, pct:DEPTH[:SEED] or
                       all[:LIMIT]
  --verify             runs tlx-verify-protocol, which makes its own launches
  --order              follows the order of things only: no tiles
  --fences=as-written  does not insert proxy fences as the compiler does
  --proxy=strict       asks for a proxy fence between a generic read and an
                       asynchronous write too (relaxed: only after writes)
  --trace=FILE         writes a timeline that Perfetto reads
  --seed=N             of random inputs

Attention kernels (docs/Attention.md) on random inputs:
  --lengths=N,N,...    of the sequences; keys, and queries without --q-len
  --q-len=N            queries of each sequence
  --broadcast-q        one block of --q-len queries for all sequences
  --heads=N            query heads
  --kv-heads=N         heads of keys and values; as many by default
  --causal             binds CAUSAL=true

Any kernel:
  --arg NAME=VALUE     a number, a file in NumPy's format, or zeros:, iota:,
                       random: or none: with extents, such as zeros:128x64
  --out NAME=FILE      writes an argument after the run

Exit codes: 0 right, 1 wrong values, 2 protocol violation, 3 bad usage.
)";

static std::map<std::string, OptionReader> getReaders(Options &options) {
  return {
      {"-D", readNamed(options.bindings)},
      {"--arg", readNamed(options.arguments)},
      {"--out", readNamed(options.outputs)},
      {"--kernel", readText(options.kernel)},
      {"--schedule", readText(options.schedule)},
      {"--trace", readText(options.trace)},
      {"--grid", readNumber(options.grid, 1)},
      {"--q-len", readNumber(options.qLength, 0)},
      {"--heads", readNumber(options.heads, 1)},
      {"--kv-heads", readNumber(options.kvHeads, 1)},
      {"--seed", readNumber(options.seed, 0)},
      {"--lengths",
       {"numbers separated by commas",
        [&](const std::string &value) {
          return parseNumbers(value, options.lengths.emplace());
        }}},
      {"--proxy",
       {"relaxed or strict",
        [&](const std::string &value) {
          options.strictProxy = value == "strict";
          return value == "strict" || value == "relaxed";
        }}},
      {"--fences",
       {"insert or as-written",
        [&](const std::string &value) {
          options.insertFences = value == "insert";
          return value == "insert" || value == "as-written";
        }}},
  };
}

/// Combinations that make no sense.
static std::string check(const Options &options) {
  bool isAttention = options.lengths.has_value();
  if (options.file.empty()) {
    return "expected a file with a kernel";
  }
  if (!isAttention && (options.broadcastQuery || options.qLength)) {
    return "expected '--lengths' with '--q-len' and '--broadcast-q'";
  }
  if (options.broadcastQuery && !options.qLength) {
    return "expected '--q-len' with '--broadcast-q'";
  }
  if (options.verify && options.strictProxy) {
    return "expected either '--verify' or '--proxy=strict', but got both";
  }
  if (isAttention && !options.arguments.empty()) {
    return "expected either '--lengths' or '--arg', but got both";
  }
  return "";
}

std::string mlir::jfa::sim::parseOptions(int argc, char **argv,
                                         Options &options) {
  std::map<std::string, OptionReader> readers = getReaders(options);
  std::map<std::string, bool *> flags = {
      {"--broadcast-q", &options.broadcastQuery},
      {"--causal", &options.causal},
      {"--order", &options.orderOnly},
      {"--verify", &options.verify},
      {"--help", &options.help},
      {"-h", &options.help}};
  std::string problem =
      readCommandLine(argc, argv, readers, flags, options.file);
  if (!problem.empty()) {
    return problem;
  }
  return options.help ? "" : check(options);
}
