//===- ReferenceAttention.cpp - Attention on the CPU ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceAttention.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace jfa::runtime;

static double dot(const float *a, const float *b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    sum += double(a[i]) * double(b[i]);
  }
  return sum;
}

/// Makes `weights` the softmax of a row's scores; returns the log-sum-exp.
static double computeWeights(const ReferenceHead &head, const float *q,
                             const float *k, std::vector<double> &weights) {
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t j = 0; j < weights.size(); ++j) {
    weights[j] = dot(q, k + int64_t(j) * head.dim, head.dim) * head.scale;
    largest = std::max(largest, weights[j]);
  }
  if (weights.empty()) {
    return largest;
  }
  double total = 0;
  for (double &weight : weights) {
    weight = std::exp(weight - largest);
    total += weight;
  }
  for (double &weight : weights) {
    weight /= total;
  }
  return largest + std::log(total);
}

void jfa::runtime::computeReference(const ReferenceHead &head, const float *q,
                                    const float *k, const float *v, float *o,
                                    float *lse) {
  std::vector<double> weights, sum;
  for (int64_t i = 0; i < head.queries; ++i) {
    weights.resize(size_t(head.countSeen(i)));
    lse[i] = float(computeWeights(head, q + i * head.dim, k, weights));
    sum.assign(size_t(head.dim), 0.0);
    for (size_t j = 0; j < weights.size(); ++j) {
      for (int64_t d = 0; d < head.dim; ++d) {
        sum[size_t(d)] += weights[j] * double(v[int64_t(j) * head.dim + d]);
      }
    }
    std::copy(sum.begin(), sum.end(), o + i * head.dim);
  }
}

void jfa::runtime::addReferenceGradients(const ReferenceHead &head,
                                         const float *q, const float *k,
                                         const float *v, const float *dO,
                                         double *dQ, double *dK, double *dV) {
  std::vector<double> weights, dWeights;
  for (int64_t i = 0; i < head.queries; ++i) {
    const float *row = q + i * head.dim, *dRow = dO + i * head.dim;
    weights.resize(size_t(head.countSeen(i)));
    computeWeights(head, row, k, weights);
    dWeights.resize(weights.size());
    // The sum of do * o, since o is the sum of weights times values.
    double delta = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      dWeights[j] = dot(dRow, v + int64_t(j) * head.dim, head.dim);
      delta += weights[j] * dWeights[j];
    }
    for (size_t j = 0; j < weights.size(); ++j) {
      double dScore = head.scale * weights[j] * (dWeights[j] - delta);
      for (int64_t d = 0; d < head.dim; ++d) {
        int64_t at = int64_t(j) * head.dim + d;
        dQ[i * head.dim + d] += dScore * double(k[at]);
        dK[at] += dScore * double(row[d]);
        dV[at] += weights[j] * double(dRow[d]);
      }
    }
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
