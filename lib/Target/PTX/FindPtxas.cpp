//===- FindPtxas.cpp - Finding ptxas ----------------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The search for NVIDIA's assembler. A place that was named explicitly is
// never passed over in silence: a wrong path is an error, not a reason to
// look on.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::jfa;

/// Whether a program can be started from `path`.
static bool isProgram(StringRef path) {
  return llvm::sys::fs::can_execute(path) &&
         llvm::sys::fs::is_regular_file(path);
}

/// Takes `path`, which `origin` names, or says why not.
static std::string takeExplicit(StringRef path, StringRef origin,
                                std::string &message) {
  if (isProgram(path)) {
    return path.str();
  }
  // A bare name is looked up in PATH, as a shell would.
  if (!path.contains('/')) {
    if (auto found = llvm::sys::findProgramByName(path)) {
      return *found;
    }
  }
  message = ("expected " + origin + " to name an executable file, but got '" +
             path + "'")
                .str();
  return {};
}

std::string mlir::jfa::findPtxas(StringRef option, std::string &message) {
  if (!option.empty()) {
    return takeExplicit(option, "the option for ptxas", message);
  }
  if (auto value = llvm::sys::Process::GetEnv("JFA_PTXAS");
      value && !value->empty()) {
    return takeExplicit(*value, "the environment variable JFA_PTXAS", message);
  }
  if (auto found = llvm::sys::findProgramByName("ptxas")) {
    return *found;
  }
  SmallVector<std::string> looked = {"the option for ptxas (not given)",
                                     "JFA_PTXAS (not set)", "PATH"};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"}) {
    auto root = llvm::sys::Process::GetEnv(variable);
    if (!root || root->empty()) {
      looked.push_back(std::string(variable) + " (not set)");
      continue;
    }
    SmallString<128> path(*root);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (isProgram(path)) {
      return path.str().str();
    }
    looked.push_back((variable + Twine(" (") + path + ")").str());
  }
  message = "expected NVIDIA's assembler ptxas, but found none; looked at " +
            llvm::join(looked, ", ");
  return {};
}
