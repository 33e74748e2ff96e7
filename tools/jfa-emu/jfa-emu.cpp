//===- jfa-emu.cpp - Executes PTX on the CPU -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulate.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>

using namespace mlir::jfa::emu;

static int fail(const std::string &message) {
  std::fprintf(stderr, "jfa-emu: error: %s\n", message.c_str());
  return kBadUsage;
}

static std::string readFile(const std::string &path, std::string &text) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    return "expected to read '" + path + "': " + buffer.getError().message();
  }
  text = (*buffer)->getBuffer().str();
  return "";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Options options;
  if (std::string error = parseOptions(argc, argv, options); !error.empty()) {
    return fail(error);
  }
  if (options.help) {
    std::fputs(getHelp().c_str(), stdout);
    return kRight;
  }
  std::string ptx, manifest;
  std::string error = readFile(options.file, ptx);
  if (error.empty() && !options.manifest.empty()) {
    error = readFile(options.manifest, manifest);
    if (error.empty() && manifest.empty()) {
      error = "expected a manifest in '" + options.manifest + "'";
    }
  }
  return error.empty() ? emulate(options, ptx, manifest) : fail(error);
}
