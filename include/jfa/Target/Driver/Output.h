//===- Output.h - Files that are whole or absent ----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the results of a compilation so that nobody ever sees a part of one.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TARGET_DRIVER_OUTPUT_H
#define JFA_TARGET_DRIVER_OUTPUT_H

#include "mlir/Support/LLVM.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::jfa {

struct OutputFile {
  /// "-" is the standard output.
  std::string path;
  StringRef contents;
};

/// Writes all of `files` or, as far as the file system lets it, none: each goes
/// to a temporary file in the same directory first, and these are renamed once
/// all are complete. Returns what went wrong, or nothing.
std::string writeOutputs(ArrayRef<OutputFile> files);

/// Returns why writeOutputs() could not write to `path`, or nothing; to be
/// asked before a long compilation.
std::string checkOutput(StringRef path);

} // namespace mlir::jfa

#endif // JFA_TARGET_DRIVER_OUTPUT_H
