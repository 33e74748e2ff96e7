//===- RegisterPressure.h - Tasks that are short of registers ---*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the accumulators of one step take most of a thread's registers, ptxas
// spills what it computes addresses and descriptors from. There the lowering
// keeps it in uniform registers, and gives a product one descriptor of each
// factor, which the product's own text advances; elsewhere that gains nothing.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_REGISTERPRESSURE_H
#define JFA_LIB_CONVERSION_TLXTONVVM_REGISTERPRESSURE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::jfa::tlx {

/// Marks the products and rings of such a task while it is lowered.
inline constexpr llvm::StringLiteral kShortOfRegisters =
    "tlx.short_of_registers";

/// Registers of a thread that the accumulators of one block may take before the
/// task counts as short of them, of the 255 that a thread can name.
inline constexpr int64_t kManyAccumulators = 160;

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_REGISTERPRESSURE_H
