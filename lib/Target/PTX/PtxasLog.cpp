//===- PtxasLog.cpp - Reading what ptxas says -------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses the output of 'ptxas -v'. Lines it does not know are skipped: NVIDIA
// adds some with every release.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::jfa;

/// Returns the number that `pattern` captures in `line`, 0 if it is not there.
static uint64_t findNumber(StringRef line, StringRef pattern) {
  SmallVector<StringRef, 2> matches;
  uint64_t value = 0;
  if (llvm::Regex(pattern).match(line, &matches)) {
    (void)matches[1].getAsInteger(10, value);
  }
  return value;
}

/// Numbers of device functions count for the kernel they are listed under: a
/// spill in a callee is one of the kernel's.
static void parseResources(StringRef line, KernelResources &kernel) {
  if (line.contains("bytes stack frame")) {
    kernel.stackBytes += findNumber(line, "([0-9]+) bytes stack frame");
    kernel.spillStoreBytes += findNumber(line, "([0-9]+) bytes spill stores");
    kernel.spillLoadBytes += findNumber(line, "([0-9]+) bytes spill loads");
  } else if (line.contains("Used ") && line.contains(" registers")) {
    kernel.registers = findNumber(line, "Used ([0-9]+) registers");
    kernel.barriers = findNumber(line, "used ([0-9]+) barriers");
    kernel.staticSharedBytes = findNumber(line, "([0-9]+) bytes smem");
  }
}

/// "(C7510) Potential Performance Loss: ... in the function 'f'"
static bool parseMessage(StringRef line, PtxasLog &log) {
  static const llvm::Regex numbered("\\(C([0-9]+)\\) *(.*)$");
  static const llvm::Regex named("function '([^']+)'");
  SmallVector<StringRef, 3> matches;
  PtxasMessage message;
  if (numbered.match(line, &matches)) {
    (void)matches[1].getAsInteger(10, message.code);
    message.text = matches[2].trim().str();
  } else if (size_t pos = line.find("Potential Performance Loss");
             pos != StringRef::npos) {
    // Older releases print the same texts without a number.
    message.text = line.substr(pos).trim().str();
  } else {
    return false;
  }
  if (named.match(message.text, &matches)) {
    message.function = matches[1].str();
  }
  log.messages.push_back(std::move(message));
  return true;
}

/// "ptxas FILE, line 6; error   : TEXT" or "ptxas fatal   : TEXT"
static bool parseError(StringRef line, PtxasLog &log) {
  static const llvm::Regex pattern(
      "^ptxas (.*, line ([0-9]+); )?(error|fatal) *: (.*)$");
  SmallVector<StringRef, 5> matches;
  if (!pattern.match(line, &matches)) {
    return false;
  }
  PtxasError error;
  (void)matches[2].getAsInteger(10, error.line);
  error.text = matches[4].trim().str();
  log.errors.push_back(std::move(error));
  return true;
}

PtxasLog mlir::jfa::parsePtxasLog(StringRef text) {
  static const llvm::Regex entry("Compiling entry function '([^']+)'");
  PtxasLog log;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    line = line.rtrim();
    SmallVector<StringRef, 2> matches;
    if (entry.match(line, &matches)) {
      log.kernels.emplace_back();
      log.kernels.back().entry = matches[1].str();
    } else if (!parseMessage(line, log) && !parseError(line, log) &&
               !log.kernels.empty()) {
      parseResources(line, log.kernels.back());
    }
  }
  return log;
}

std::string mlir::jfa::parsePtxasVersion(StringRef text) {
  static const llvm::Regex pattern("V([0-9]+\\.[0-9]+\\.[0-9]+)");
  SmallVector<StringRef, 2> matches;
  return pattern.match(text, &matches) ? matches[1].str() : std::string();
}
