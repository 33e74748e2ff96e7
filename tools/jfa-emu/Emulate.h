//===- Emulate.h - Runs a kernel and compares what it leaves -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What jfa-emu and `jfa-opt --emulate` do with PTX.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_EMU_EMULATE_H
#define JFA_TOOLS_JFA_EMU_EMULATE_H

#include "Options.h"

#include "llvm/ADT/StringRef.h"

namespace mlir::jfa::emu {

enum ExitCode { kRight = 0, kWrongValues = 1, kViolation = 2, kBadUsage = 3 };

/// Runs a kernel of a module as the options say and returns the exit code.
/// Without a manifest, parameters are numbers and pointers.
int emulate(const Options &options, llvm::StringRef ptx,
            llvm::StringRef manifest);

} // namespace mlir::jfa::emu

#endif // JFA_TOOLS_JFA_EMU_EMULATE_H
