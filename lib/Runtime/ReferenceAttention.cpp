//===- ReferenceAttention.cpp - Attention in plain fp32 on the CPU *- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceAttention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace jfa::runtime;

static void computeRow(const ReferenceHead &head, const float *q,
                       const float *k, const float *v, int64_t seen,
                       std::vector<double> &scores, float *o, float *lse) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> sum(static_cast<size_t>(head.dim), 0.0);
  double largest = -kInfinity;
  for (int64_t j = 0; j < seen; ++j) {
    double dot = 0;
    for (int64_t d = 0; d < head.dim; ++d) {
      dot += double(q[d]) * double(k[j * head.dim + d]);
    }
    scores[size_t(j)] = dot * head.scale;
    largest = std::max(largest, scores[size_t(j)]);
  }
  double total = 0;
  for (int64_t j = 0; j < seen; ++j) {
    double weight = std::exp(scores[size_t(j)] - largest);
    total += weight;
    for (int64_t d = 0; d < head.dim; ++d) {
      sum[size_t(d)] += weight * double(v[j * head.dim + d]);
    }
  }
  for (int64_t d = 0; d < head.dim; ++d) {
    o[d] = seen > 0 ? float(sum[size_t(d)] / total) : 0.0f;
  }
  *lse = float(seen > 0 ? largest + std::log(total) : -kInfinity);
}

void jfa::runtime::computeReference(const ReferenceHead &head, const float *q,
                                    const float *k, const float *v, float *o,
                                    float *lse) {
  std::vector<double> scores(static_cast<size_t>(head.keys));
  for (int64_t i = 0; i < head.queries; ++i) {
    int64_t seen = head.keys;
    if (head.causal) {
      seen = std::clamp<int64_t>(i + head.keys - head.queries + 1, 0, seen);
    }
    computeRow(head, q + i * head.dim, k, v, seen, scores, o + i * head.dim,
               lse + i);
  }
}

uint16_t jfa::runtime::toBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value)) {
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  }
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float jfa::runtime::fromBFloat16(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}
