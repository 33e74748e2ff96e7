//===- GradientReference.h - What attention's backward should give -*- C++ -*-//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_SUPPORT_GRADIENTREFERENCE_H
#define JFA_TOOLS_SUPPORT_GRADIENTREFERENCE_H

#include "jfa/Sim/Attention.h"

namespace mlir::jfa::sim {

/// Gives the inputs of one of the backward's kernels the values that the
/// kernels before it would leave: `o` and `lse` by the reference, and what
/// follows from them.
void fillBackwardInputs(const Attention &attention,
                        std::vector<GlobalArray> &arrays);

/// Compares what one of the backward's kernels has left, or the last one after
/// the others if `isWhole`, with the contract's reference and prints the
/// errors. Returns whether they are acceptable.
bool checkBackward(const Attention &attention, std::vector<GlobalArray> &run,
                   bool isWhole);

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_SUPPORT_GRADIENTREFERENCE_H
