//===- Output.cpp - Files that are whole or absent --------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Temporary files beside their destination, then renames. What is no regular
// file (a pipe, /dev/null) cannot be replaced and is written to directly.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/Driver/Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <vector>

using namespace mlir;
using namespace mlir::jfa;
namespace fs = llvm::sys::fs;

static std::string describeFailure(StringRef path, StringRef reason) {
  return ("expected to write '" + path + "', but got: " + reason).str();
}

/// Whether the path names something that a rename would destroy.
static bool isSpecial(StringRef path) {
  fs::file_status status;
  return !fs::status(path, status) && fs::exists(status) &&
         !fs::is_regular_file(status);
}

std::string mlir::jfa::checkOutput(StringRef path) {
  if (path == "-") {
    return {};
  }
  if (path.empty()) {
    return "expected the name of an output file, but got an empty one";
  }
  if (fs::is_directory(path)) {
    return describeFailure(path, "it is a directory");
  }
  SmallString<128> parent(llvm::sys::path::parent_path(path));
  if (parent.empty()) {
    parent = ".";
  }
  if (!fs::is_directory(parent)) {
    return describeFailure(path, "its directory does not exist");
  }
  if (!isSpecial(path) && !fs::can_write(parent)) {
    return describeFailure(path, "its directory cannot be written to");
  }
  return {};
}

static std::string writeDirectly(const OutputFile &file) {
  std::error_code error;
  llvm::raw_fd_ostream os(file.path, error);
  if (!error) {
    os << file.contents;
    os.flush();
    error = os.error();
    os.clear_error();
  }
  return error ? describeFailure(file.path, error.message()) : std::string();
}

/// Writes `file` to a temporary file beside it.
static std::string writeTemporary(const OutputFile &file, StringRef destination,
                                  std::optional<fs::TempFile> &temporary) {
  llvm::Expected<fs::TempFile> created =
      fs::TempFile::create(destination + ".tmp%%%%%%%%");
  if (!created) {
    return describeFailure(file.path, llvm::toString(created.takeError()));
  }
  temporary.emplace(std::move(*created));
  llvm::raw_fd_ostream os(temporary->FD, /*shouldClose=*/false);
  os << file.contents;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error ? describeFailure(file.path, error.message()) : std::string();
}

namespace {
struct PendingFile {
  const OutputFile *file;
  /// The file itself where `path` is a symbolic link to it.
  std::string destination;
  std::optional<fs::TempFile> temporary;
};
} // namespace

static void discard(std::vector<PendingFile> &pending) {
  for (PendingFile &entry : pending) {
    if (entry.temporary) {
      llvm::consumeError(entry.temporary->discard());
    }
  }
}

static std::string keep(std::vector<PendingFile> &pending) {
  for (auto it = pending.begin(); it != pending.end(); ++it) {
    llvm::Error error = it->temporary->keep(it->destination);
    if (!error) {
      it->temporary.reset();
      continue;
    }
    std::string message =
        describeFailure(it->file->path, llvm::toString(std::move(error)));
    // keep() leaves no temporary file behind when it fails.
    it->temporary.reset();
    for (auto done = pending.begin(); done != it; ++done) {
      (void)fs::remove(done->destination);
    }
    discard(pending);
    return message;
  }
  return {};
}

std::string mlir::jfa::writeOutputs(ArrayRef<OutputFile> files) {
  std::vector<PendingFile> pending;
  for (const OutputFile &file : files) {
    std::string message = checkOutput(file.path);
    if (message.empty() && file.path != "-" && !isSpecial(file.path)) {
      SmallString<128> real;
      if (fs::real_path(file.path, real)) {
        real = file.path;
      }
      pending.push_back({&file, real.str().str(), std::nullopt});
      message = writeTemporary(file, real, pending.back().temporary);
    }
    if (!message.empty()) {
      discard(pending);
      return message;
    }
  }
  for (const OutputFile &file : files) {
    if (file.path != "-" && !isSpecial(file.path)) {
      continue;
    }
    if (std::string message = writeDirectly(file); !message.empty()) {
      discard(pending);
      return message;
    }
  }
  return keep(pending);
}
