//===- Options.cpp - The command line of jfa-sim -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include <functional>
#include <map>
#include <sstream>

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

static bool parseNumber(const std::string &text, int64_t &number) {
  if (text.empty() || text.size() > 18 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  number = std::stoll(text);
  return true;
}

static bool parseNumbers(const std::string &text,
                         std::vector<int64_t> &numbers) {
  std::istringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ',')) {
    if (!parseNumber(part, numbers.emplace_back()) ||
        numbers.back() > (int64_t(1) << 24)) {
      return false;
    }
  }
  return true;
}

static bool parseNamed(const std::string &text, NamedTexts &texts) {
  size_t at = text.find('=');
  if (at == std::string::npos || at == 0) {
    return false;
  }
  texts.emplace_back(text.substr(0, at), text.substr(at + 1));
  return true;
}

namespace {
/// An option that takes a value: what it expects and how it is read.
struct Reader {
  const char *expected;
  std::function<bool(const std::string &)> read;
};
} // namespace

static std::map<std::string, Reader> getReaders(Options &options) {
  auto number = [](auto &to, int64_t least) -> Reader {
    return {"a number", [&to, least](const std::string &text) {
              int64_t value = 0;
              bool isNumber = parseNumber(text, value) && value >= least &&
                              value <= (int64_t(1) << 24);
              to = value;
              return isNumber;
            }};
  };
  auto text = [](std::string &to) -> Reader {
    return {"a text", [&to](const std::string &value) {
              to = value;
              return !value.empty();
            }};
  };
  auto named = [](NamedTexts &to) -> Reader {
    return {"NAME=VALUE",
            [&to](const std::string &value) { return parseNamed(value, to); }};
  };
  return {
      {"-D", named(options.bindings)},
      {"--arg", named(options.arguments)},
      {"--out", named(options.outputs)},
      {"--kernel", text(options.kernel)},
      {"--schedule", text(options.schedule)},
      {"--trace", text(options.trace)},
      {"--grid", number(options.grid, 1)},
      {"--q-len", number(options.qLength, 0)},
      {"--heads", number(options.heads, 1)},
      {"--kv-heads", number(options.kvHeads, 1)},
      {"--seed", number(options.seed, 0)},
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
  std::map<std::string, Reader> readers = getReaders(options);
  std::map<std::string, bool *> flags = {
      {"--broadcast-q", &options.broadcastQuery},
      {"--causal", &options.causal},
      {"--order", &options.orderOnly},
      {"--verify", &options.verify},
      {"--help", &options.help},
      {"-h", &options.help}};
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (auto flag = flags.find(argument); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    if (argument[0] != '-' || argument == "-") {
      if (!options.file.empty()) {
        return "expected one file, but got '" + argument + "' too";
      }
      options.file = argument;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    auto reader = readers.find(name);
    if (reader == readers.end()) {
      return "unknown option '" + argument + "'";
    }
    bool isNext = equals == std::string::npos;
    if (isNext && i + 1 == argc) {
      return "expected " + std::string(reader->second.expected) + " after '" +
             name + "'";
    }
    std::string value = isNext ? argv[++i] : argument.substr(equals + 1);
    if (!reader->second.read(value)) {
      return "expected " + std::string(reader->second.expected) + " for '" +
             name + "', but got '" + value + "'";
    }
  }
  return options.help ? "" : check(options);
}
