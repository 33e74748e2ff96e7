//===- ReferenceAttention.h - Attention in plain fp32 on the CPU *- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_REFERENCEATTENTION_H
#define JFA_LIB_RUNTIME_REFERENCEATTENTION_H

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
};

/// softmax(scale * Q K^T) V with its log-sum-exp, as the contract states it: a
/// row that sees no key gets 0 and -inf. Sums are in double.
void computeReference(const ReferenceHead &head, const float *q, const float *k,
                      const float *v, float *o, float *lse);

/// The 16-bit formats, rounded to nearest even.
uint16_t toBFloat16(float value);
float fromBFloat16(uint16_t bits);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_REFERENCEATTENTION_H
