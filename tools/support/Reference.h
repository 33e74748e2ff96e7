//===- Reference.h - What attention should give -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_SUPPORT_REFERENCE_H
#define JFA_TOOLS_SUPPORT_REFERENCE_H

#include "jfa/Sim/Attention.h"

#include "Runtime/ReferenceAttention.h"

#include <algorithm>
#include <cmath>

namespace mlir::jfa::sim {

/// Rows of one head, as fp32 values.
std::vector<float> getHead(GlobalArray &array, int64_t start, int64_t rows,
                           int64_t head);

/// Rows of one head of an input (Attention::kQ, kK or kV) as the kernel
/// multiplies them: rotated, in fp32 and rounded once, where it does that.
std::vector<float> getInput(const Attention &attention,
                            std::vector<GlobalArray> &arrays, size_t input,
                            int64_t start, int64_t rows, int64_t head);

/// Makes `weights` the softmax of a row's scores for the first `seen` keys,
/// each step rounded to the narrow type.
void computeWeightsNarrow(ElementKind kind, int64_t dim, int64_t seen,
                          float scale, const float *q, const float *k,
                          std::vector<float> &weights);

/// Whether every element has been written.
bool isComplete(const GlobalArray &array);

/// The largest errors of a tensor, and the contract's limit for them.
struct Errors {
  float o = 0, low = 0, shift = 0;

  void compare(float got, float reference, float narrow) {
    o = std::max(o, std::isnan(got) ? INFINITY : std::fabs(got - reference));
    low = std::max(low, std::fabs(narrow - reference));
    shift = std::max(shift, std::fabs(reference + 0.3f - 0.3f - reference));
  }
  float getLimit() const { return 2 * low + 2 * shift; }
};

/// Compares the outputs of a run with the contract's reference (docs/
/// Attention.md) and prints the errors. Returns whether they are acceptable.
bool checkAttention(const Attention &attention, std::vector<GlobalArray> &run);

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_SUPPORT_REFERENCE_H
