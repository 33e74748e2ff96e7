//===- CommandLine.h - Command lines of jfa-sim and jfa-emu -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table of options, and reading a command line with it: one file, flags, and
// options with a value after `=` or in the next argument.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_SUPPORT_COMMANDLINE_H
#define JFA_TOOLS_SUPPORT_COMMANDLINE_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mlir::jfa::sim {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// An option that takes a value: what it expects, and how it is read, which
/// may fail.
struct OptionReader {
  std::string expected;
  std::function<bool(const std::string &)> read;
};

/// The largest number that an option takes.
constexpr int64_t kLargestNumber = int64_t(1) << 24;

/// Reads digits only, up to kLargestNumber.
bool parseNumber(const std::string &text, int64_t &number);
/// Reads numbers separated by commas.
bool parseNumbers(const std::string &text, std::vector<int64_t> &numbers);

/// Any text but the empty one.
OptionReader readText(std::string &to);
/// NAME=VALUE, added to what is there.
OptionReader readNamed(NamedTexts &to);
/// A number that is at least `least`; `to` may be optional.
template <typename T>
OptionReader readNumber(T &to, int64_t least) {
  return {"a number from " + std::to_string(least) + " to " +
              std::to_string(kLargestNumber),
          [&to, least](const std::string &text) {
            int64_t value = 0;
            bool isNumber = parseNumber(text, value) && value >= least;
            to = value;
            return isNumber;
          }};
}

/// Returns what is wrong with the command line, or nothing.
std::string readCommandLine(int argc, char **argv,
                            const std::map<std::string, OptionReader> &readers,
                            const std::map<std::string, bool *> &flags,
                            std::string &file);

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_SUPPORT_COMMANDLINE_H
