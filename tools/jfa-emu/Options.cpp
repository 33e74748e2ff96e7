//===- Options.cpp - The command line of jfa-emu -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <map>

using namespace mlir::jfa::emu;
using llvm::StringRef;

const char *const mlir::jfa::emu::kHelp =
    R"(USAGE: jfa-emu FILE.ptx [options]

Executes a kernel's PTX on the CPU, instruction by instruction, under a schedule
of its warps and asynchronous operations, and reports what is wrong.

  --manifest=FILE      what jfa-opt has written beside a cubin or a bundle
  --kernel=NAME        which kernel, if the file has several
  --schedule=S         eager (default), late, random:SEED, pct:DEPTH[:SEED] or
                       all[:LIMIT]
  --numerics=N         fast (default), or exact: products and ex2 as on an H200
  --grid=N,N,N         CTAs; by default 1, and at most 3 with --lengths
  --block=N,N,N        threads, if neither the manifest nor the kernel says
  --shared=N           bytes of dynamic shared memory, without a manifest
  --seed=N             of random inputs
  --max-instructions=N of a cluster's warps, after which it is taken for endless
  --parse              only reads and decodes the kernel

Attention kernels (docs/Attention.md) on random inputs, as of jfa-sim:
  --lengths=N,N,...    of the sequences; keys, and queries without --q-len
  --q-len=N            queries of each sequence
  --broadcast-q        one block of --q-len queries for all sequences
  --heads=N            query heads
  --kv-heads=N         heads of keys and values; as many by default
  --causal             compares with causal attention, as the manifest may say

Any kernel:
  --arg NAME=VALUE     a number, a file in NumPy's format, or zeros:, iota:,
                       random: or none: with extents, such as zeros:128x64;
                       with a type before it, such as i32:zeros:32
  --out NAME=FILE      writes an argument after the run
  --print NAME         prints one

Exit codes: 0 right, 1 wrong values, 2 violation, 3 bad usage.
)";

static bool parseNumber(StringRef text, int64_t &number) {
  return !text.getAsInteger(10, number) && number >= 0 &&
         number <= (int64_t(1) << 24);
}

static bool parseNumbers(StringRef text, std::vector<int64_t> &numbers) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (!parseNumber(part, numbers.emplace_back())) {
      return false;
    }
  }
  return true;
}

static bool parseNamed(StringRef text, NamedTexts &texts) {
  auto [name, value] = text.split('=');
  texts.emplace_back(name.str(), value.str());
  return !name.empty() && !value.empty();
}

using Reader = std::function<bool(StringRef)>;

static std::map<std::string, Reader> getReaders(Options &options) {
  auto text = [](std::string &to) -> Reader {
    return [&to](StringRef value) {
      to = value.str();
      return !value.empty();
    };
  };
  auto number = [](auto &to) -> Reader {
    return [&to](StringRef value) {
      int64_t parsed = 0;
      bool isGood = parseNumber(value, parsed);
      to = parsed;
      return isGood;
    };
  };
  auto numbers = [](std::vector<int64_t> &to) -> Reader {
    return [&to](StringRef value) {
      return parseNumbers(value, to) && to.size() <= 3;
    };
  };
  return {
      {"--manifest", text(options.manifest)},
      {"--kernel", text(options.kernel)},
      {"--schedule", text(options.schedule)},
      {"--numerics",
       [&](StringRef value) {
         options.numerics = value.str();
         return value == "fast" || value == "exact";
       }},
      {"--grid", numbers(options.grid)},
      {"--block", numbers(options.block)},
      {"--shared", number(options.sharedBytes)},
      {"--max-instructions", number(options.maxInstructions)},
      {"--seed", number(options.seed)},
      {"--q-len", number(options.qLength)},
      {"--heads", number(options.heads)},
      {"--kv-heads", number(options.kvHeads)},
      {"--lengths",
       [&](StringRef value) {
         return parseNumbers(value, options.lengths.emplace());
       }},
      {"--arg",
       [&](StringRef value) { return parseNamed(value, options.arguments); }},
      {"--out",
       [&](StringRef value) { return parseNamed(value, options.outputs); }},
      {"--print", [&](StringRef value) {
         options.prints.push_back(value.str());
         return true;
       }}};
}

std::string mlir::jfa::emu::parseOptions(int argc, char **argv,
                                         Options &options) {
  std::map<std::string, Reader> readers = getReaders(options);
  std::map<std::string, bool *> flags = {
      {"--broadcast-q", &options.broadcastQuery},
      {"--causal", &options.causal},
      {"--parse", &options.parseOnly},
      {"--help", &options.help},
      {"-h", &options.help}};
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (auto flag = flags.find(argument); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    if (argument[0] != '-') {
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
      return "expected a value after '" + name + "'";
    }
    std::string value = isNext ? argv[++i] : argument.substr(equals + 1);
    if (!reader->second(value)) {
      return "expected another value for '" + name + "', but got '" + value +
             "'";
    }
  }
  if (options.file.empty() && !options.help) {
    return "expected a file of PTX";
  }
  if (options.heads < 1 || options.kvHeads.value_or(1) < 1) {
    return "expected at least one head";
  }
  return "";
}
