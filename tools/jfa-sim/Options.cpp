//===- Options.cpp - The command line of jfa-sim -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace mlir::jfa::sim;

/// What comes before and after the options of attention.
static const char *const kHelp =
    R"(USAGE: jfa-sim FILE [options]

Runs a kernel on the CPU, under a schedule of its tasks and asynchronous
operations, and reports violations of its protocol.

  -D NAME=VALUE        binds a parameter of the kernel
  --kernel=NAME        which kernel, if the file has several
  --grid=N             CTAs; by default one cluster, at most 3 with --lengths
  --schedule=S         eager (default), late, random:SEED, pct:DEPTH[:SEED] or
                       all[:LIMIT]
  --verify             runs tlx-verify-protocol, which makes its own launches
  --strict             with --verify: what launches cannot show is a violation
  --order              follows the order of things only: no tiles
  --fences=as-written  does not insert proxy fences as the compiler does
  --proxy=relaxed      asks for no proxy fence between a generic read and an
                       asynchronous write, only after writes (strict: both)
  --trace=FILE         writes a timeline that Perfetto reads
  --seed=N             of random inputs
  --max-steps=N        gives up after N instructions of a cluster; 2^30 by
                       default
)";
static const char *const kHelpAfter =
    R"(  --causal             binds CAUSAL=true, and is bound by it
  --pre=FILE           the backward's kernel before FILE's, whose results it gets
  --post=FILE          the one after it

Any kernel:
  --arg NAME=VALUE     a number, a file in NumPy's format, or zeros:, iota:,
                       random: or none: with extents, such as zeros:128x64
  --out NAME=FILE      writes an argument after the run

Exit codes: 0 right, 1 wrong values, 2 protocol violation, 3 bad usage.
)";

std::string mlir::jfa::sim::getHelp() {
  return std::string(kHelp) + kAttentionHelp + kHelpAfter;
}

static std::map<std::string, OptionReader> getReaders(Options &options) {
  return {
      {"-D", readNamed(options.bindings)},
      {"--arg", readNamed(options.arguments)},
      {"--out", readNamed(options.outputs)},
      {"--kernel", readText(options.kernel)},
      {"--schedule", readText(options.schedule)},
      {"--trace", readText(options.trace)},
      {"--pre", readText(options.preFile)},
      {"--post", readText(options.postFile)},
      {"--grid", readNumber(options.grid, 1)},
      {"--seed", readNumber(options.seed, 0)},
      {"--max-steps",
       {"a number from 1 to 2^40",
        [&](const std::string &value) {
          return !llvm::StringRef(value).getAsInteger(
                     10, options.maxInstructions) &&
                 options.maxInstructions >= 1 &&
                 options.maxInstructions <= uint64_t(1) << 40;
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
  if (options.file.empty()) {
    return "expected a file with a kernel";
  }
  bool isChain = !options.preFile.empty() || !options.postFile.empty();
  if (isChain && (!options.attention.lengths || options.verify)) {
    return "expected '--lengths' and not '--verify' with '--pre' and '--post'";
  }
  if (options.verify && !options.strictProxy) {
    return "expected either '--verify' or '--proxy=relaxed', but got both";
  }
  if (options.strictVerify && !options.verify) {
    return "expected '--strict' with '--verify' only";
  }
  if (options.attention.lengths && !options.arguments.empty()) {
    return "expected either '--lengths' or '--arg', but got both";
  }
  return options.attention.check();
}

/// Takes the problem from bindings that are another way to say --causal and
/// --broadcast-q, so that results are compared with those of that problem.
static void adoptBindings(Options &options) {
  auto isFlag = [&](const NamedTexts::value_type &binding) {
    if (binding.second != "true") {
      return false;
    }
    bool isCausal = binding.first == "CAUSAL";
    bool isShared = binding.first == "BROADCAST_QUERY";
    options.attention.causal |= isCausal;
    options.attention.broadcastQuery |= isShared;
    return isCausal || isShared;
  };
  llvm::erase_if(options.bindings, isFlag);
}

std::string mlir::jfa::sim::parseOptions(int argc, char **argv,
                                         Options &options) {
  std::map<std::string, OptionReader> readers = getReaders(options);
  std::map<std::string, bool *> flags = {{"--order", &options.orderOnly},
                                         {"--verify", &options.verify},
                                         {"--strict", &options.strictVerify},
                                         {"--help", &options.help},
                                         {"-h", &options.help}};
  options.attention.addTo(readers, flags);
  std::string problem =
      readCommandLine(argc, argv, readers, flags, options.file);
  if (!problem.empty()) {
    return problem;
  }
  if (options.attention.lengths) {
    adoptBindings(options);
  }
  return options.help ? "" : check(options);
}
