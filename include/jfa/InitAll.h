//===- InitAll.h - Register JFA's dialects and passes -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an embedding compiler calls: once for its registry of dialects, once for
// the global registry of passes.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_INITALL_H
#define JFA_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir::jfa {

/// Adds the tlx dialect, the other dialects that kernels are written in, and
/// the extensions of these and of LLVM's that the pipelines need.
void registerAllDialects(DialectRegistry &registry);

/// Registers every pass and pipeline. Safe to call more than once.
void registerAllPasses();

} // namespace mlir::jfa

#endif // JFA_INITALL_H
