//===- ReferenceAttention.h - Attention on the CPU --------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_REFERENCEATTENTION_H
#define JFA_LIB_RUNTIME_REFERENCEATTENTION_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace jfa::runtime {

/// One head of one sequence. Rows are `dim` values, packed.
struct ReferenceHead {
  int64_t queries;
  int64_t keys;
  int64_t dim;
  bool causal;
  double scale;

  /// The keys that query `row` sees.
  int64_t countSeen(int64_t row) const {
    return causal ? std::clamp<int64_t>(row + keys - queries + 1, 0, keys)
                  : keys;
  }
};

/// softmax(scale * Q K^T) V with its log-sum-exp, as the contract states it: a
/// row that sees no key gets 0 and -inf. Sums are in double.
void computeReference(const ReferenceHead &head, const float *q, const float *k,
                      const float *v, float *o, float *lse);

/// Adds the gradients for `dO`, that of the output, to `dQ`, `dK` and `dV`, so
/// that query heads of a group and sequences that share their queries add up.
/// A row that sees no key adds nothing. All in double.
void addReferenceGradients(const ReferenceHead &head, const float *q,
                           const float *k, const float *v, const float *dO,
                           double *dQ, double *dK, double *dV);

/// The 16-bit formats, rounded to nearest even.
uint16_t toBFloat16(float value);
float fromBFloat16(uint16_t bits);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_REFERENCEATTENTION_H
