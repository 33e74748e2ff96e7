//===- Passes.h - Passes on the tlx dialect ---------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constructors and registration of the passes, and what embedders call without
// a pass manager.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_TRANSFORMS_PASSES_H
#define JFA_DIALECT_TLX_TRANSFORMS_PASSES_H

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Pass/Pass.h"

namespace mlir::scf {
class ForOp;
} // namespace mlir::scf

namespace mlir::jfa::tlx {

#define GEN_PASS_DECL
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"

/// The name of a parameter and the text of its value.
using ParameterBinding = std::pair<std::string, std::string>;

/// Binds the parameters of `kernel` (`tlx-specialize`). Names that it does not
/// declare are errors.
LogicalResult specializeKernel(KernelOp kernel,
                               ArrayRef<ParameterBinding> bindings);

/// Splits `loop` where the iterations that need a mask begin, if it says so
/// (`tlx-peel-masked-tail`). True if it did; `loop` is then the bulk.
bool peelMaskedTail(RewriterBase &rewriter, scf::ForOp loop);

/// Checks that every tile in `task` has a layout and that the layouts of every
/// op agree with the rules (`tlx-verify-layouts`).
LogicalResult verifyLayouts(AsyncTaskOp task);

#define GEN_PASS_REGISTRATION
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_TRANSFORMS_PASSES_H
