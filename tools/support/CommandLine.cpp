//===- CommandLine.cpp - Command lines of jfa-sim and jfa-emu -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include <sstream>

using namespace mlir::jfa::sim;

bool mlir::jfa::sim::parseNumber(const std::string &text, int64_t &number) {
  if (text.empty() || text.size() > 18 ||
      text.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  number = std::stoll(text);
  return number <= kLargestNumber;
}

bool mlir::jfa::sim::parseNumbers(const std::string &text,
                                  std::vector<int64_t> &numbers) {
  std::istringstream stream(text);
  std::string part;
  while (std::getline(stream, part, ',')) {
    if (!parseNumber(part, numbers.emplace_back())) {
      return false;
    }
  }
  return true;
}

OptionReader mlir::jfa::sim::readText(std::string &to) {
  return {"a text", [&to](const std::string &value) {
            to = value;
            return !value.empty();
          }};
}

OptionReader mlir::jfa::sim::readNamed(NamedTexts &to) {
  return {"NAME=VALUE", [&to](const std::string &text) {
            size_t at = text.find('=');
            if (at == std::string::npos || at == 0) {
              return false;
            }
            to.emplace_back(text.substr(0, at), text.substr(at + 1));
            return true;
          }};
}

std::string mlir::jfa::sim::readCommandLine(
    int argc, char **argv, const std::map<std::string, OptionReader> &readers,
    const std::map<std::string, bool *> &flags, std::string &file) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (auto flag = flags.find(argument); flag != flags.end()) {
      *flag->second = true;
      continue;
    }
    if (argument[0] != '-' || argument == "-") {
      if (!file.empty()) {
        return "expected one file, but got '" + argument + "' too";
      }
      file = argument;
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
      return "expected " + reader->second.expected + " after '" + name + "'";
    }
    std::string value = isNext ? argv[++i] : argument.substr(equals + 1);
    if (!reader->second.read(value)) {
      return "expected " + reader->second.expected + " for '" + name +
             "', but got '" + value + "'";
    }
  }
  return "";
}
