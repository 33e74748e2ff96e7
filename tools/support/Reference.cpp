//===- Reference.cpp - What attention should give -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include <cstdio>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

std::vector<float> sim::getHead(GlobalArray &array, int64_t start, int64_t rows,
                                int64_t head) {
  int64_t heads = array.shape[1], dim = array.shape[2];
  std::vector<float> values(size_t(rows * dim));
  for (int64_t i = 0; i < rows; ++i) {
    decodeReals(array.kind, array.at(((start + i) * heads + head) * dim), dim,
                values.data() + i * dim);
  }
  return values;
}

std::vector<float> sim::getInput(const Attention &attention,
                                 std::vector<GlobalArray> &arrays, size_t input,
                                 int64_t start, int64_t rows, int64_t head) {
  std::vector<float> values = getHead(arrays[input], start, rows, head);
  bool isRotated = attention.rotatesInputs() &&
                   (input != Attention::kV || attention.problem.rotary == 2);
  if (!isRotated) {
    return values;
  }
  GlobalArray &sinCos = arrays[Attention::kSinCos];
  int64_t dim = attention.dim;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < dim / 2; ++i) {
      int64_t angle = (start + row) * dim + i;
      float sine = decodeReal(sinCos.kind, sinCos.at(angle)),
            cosine = decodeReal(sinCos.kind, sinCos.at(angle + dim / 2));
      float *pair = &values[size_t(row * dim + 2 * i)];
      float x = pair[0], y = pair[1];
      pair[0] = roundTo(attention.element, x * cosine - y * sine);
      pair[1] = roundTo(attention.element, y * cosine + x * sine);
    }
  }
  return values;
}

bool sim::isComplete(const GlobalArray &array) {
  return std::find(array.written.begin(), array.written.end(), false) ==
         array.written.end();
}

void sim::computeWeightsNarrow(ElementKind kind, int64_t dim, int64_t seen,
                               float scale, const float *q, const float *k,
                               std::vector<float> &weights) {
  weights.assign(size_t(seen), 0.0f);
  float largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < seen; ++j) {
    float dot = 0;
    for (int64_t d = 0; d < dim; ++d) {
      dot += q[d] * k[j * dim + d];
    }
    float score = roundTo(kind, roundTo(kind, dot) * scale);
    weights[size_t(j)] = score;
    largest = std::max(largest, score);
  }
  for (float &weight : weights) {
    weight = std::exp(weight - largest);
    sum += weight;
  }
  for (float &weight : weights) {
    weight = roundTo(kind, weight / sum);
  }
}

/// One row of the same formula in the narrow type, with no fusion.
static void computeRowNarrow(ElementKind kind, int64_t dim, int64_t seen,
                             float scale, const float *q, const float *k,
                             const float *v, float *o) {
  std::vector<float> weights, row(size_t(dim), 0.0f);
  computeWeightsNarrow(kind, dim, seen, scale, q, k, weights);
  for (int64_t j = 0; j < seen; ++j) {
    for (int64_t d = 0; d < dim; ++d) {
      row[size_t(d)] += weights[size_t(j)] * v[j * dim + d];
    }
  }
  for (int64_t d = 0; d < dim; ++d) {
    o[d] = roundTo(kind, row[size_t(d)]);
  }
}

static float getLogError(float got, float reference) {
  bool same = std::isinf(reference) ? got == reference : !std::isnan(got);
  float error = std::isinf(reference) ? 0 : std::fabs(got - reference);
  return same ? error : INFINITY;
}

bool sim::checkAttention(const Attention &attention,
                         std::vector<GlobalArray> &run) {
  const AttentionProblem &problem = attention.problem;
  int64_t dim = attention.dim;
  Errors errors;
  float lseError = 0;
  double scale = 1 / std::sqrt(double(dim));
  GlobalArray &o = run[Attention::kO], &lse = run[Attention::kLse];
  for (size_t b = 0; b < problem.qLengths.size(); ++b) {
    int64_t queries = problem.qLengths[b], keys = problem.kLengths[b];
    for (int64_t head = 0; head < problem.heads; ++head) {
      int64_t kvHead = head / (problem.heads / problem.kvHeads);
      auto get = [&](size_t input, const std::vector<int64_t> &starts,
                     int64_t rows, int64_t which) {
        return getInput(attention, run, input, starts[b], rows, which);
      };
      std::vector<float> q =
          get(Attention::kQ, attention.qStarts, queries, head);
      std::vector<float> k =
          get(Attention::kK, attention.kStarts, keys, kvHead);
      std::vector<float> v =
          get(Attention::kV, attention.kStarts, keys, kvHead);
      std::vector<float> got = getHead(o, attention.oStarts[b], queries, head);
      std::vector<float> want(got.size()), wantLse(size_t(queries), 0.0f);
      ::jfa::runtime::ReferenceHead reference{queries, keys, dim,
                                              problem.causal, scale};
      ::jfa::runtime::computeReference(reference, q.data(), k.data(), v.data(),
                                       want.data(), wantLse.data());
      std::vector<float> narrow(size_t(dim), 0.0f);
      for (int64_t i = 0; i < queries; ++i) {
        computeRowNarrow(attention.element, dim, reference.countSeen(i),
                         float(scale), &q[size_t(i * dim)], k.data(), v.data(),
                         narrow.data());
        for (int64_t d = 0; d < dim; ++d) {
          errors.compare(got[size_t(i * dim + d)], want[size_t(i * dim + d)],
                         narrow[size_t(d)]);
        }
        if (attention.isBlocked()) {
          continue;
        }
        float gotLse = decodeReal(lse.kind, lse.at(head * attention.oRows +
                                                   attention.oStarts[b] + i));
        lseError = std::max(lseError, getLogError(gotLse, wantLse[size_t(i)]));
      }
    }
  }
  bool areComplete =
      isComplete(o) && (attention.isBlocked() || isComplete(lse));
  std::printf("o: error %.3g, at most %.3g allowed\n", double(errors.o),
              double(errors.getLimit()));
  if (!attention.isBlocked()) {
    std::printf("lse: error %.3g, at most 0.001 allowed\n", double(lseError));
  }
  if (!areComplete) {
    std::printf("some elements of o or lse have not been written\n");
  }
  return areComplete && errors.o <= errors.getLimit() && lseError <= 1e-3f;
}
