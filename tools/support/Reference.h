//===- Reference.h - What attention should give -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_SUPPORT_REFERENCE_H
#define JFA_TOOLS_SUPPORT_REFERENCE_H

#include "jfa/Sim/Attention.h"

namespace mlir::jfa::sim {

/// Compares the outputs of a run with the contract's reference (docs/
/// Attention.md) and prints the errors. Returns whether they are acceptable.
bool checkAttention(const Attention &attention, std::vector<GlobalArray> &run);

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_SUPPORT_REFERENCE_H
