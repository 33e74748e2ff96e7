//===- GradientReference.cpp - What attention's backward should give ------===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientReference.h"
#include "Reference.h"

#include "Runtime/ReferenceAttention.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;
namespace runtime = ::jfa::runtime;

static constexpr int64_t kPaddedRows = 128;
static constexpr float kLog2E = 1.44269504f;

namespace {
/// One head of one sequence.
struct Head {
  int64_t sequence, head, kvHead, queries, keys;
  runtime::ReferenceHead reference;
  std::vector<float> q, k, v, dO;
};

/// A tensor's gradient: the reference, and the formula in the narrow type.
struct Gradient {
  std::vector<double> reference;
  std::vector<float> narrow;

  explicit Gradient(const GlobalArray &array)
      : reference(array.written.size()), narrow(array.written.size()) {}

  /// Adds rows of one head, where they belong.
  void add(const Shape &shape, int64_t start, int64_t head,
           const std::vector<double> &rows, const std::vector<float> &low) {
    int64_t heads = shape[1], dim = shape[2];
    for (size_t i = 0; i < rows.size(); ++i) {
      int64_t row = start + int64_t(i) / dim, column = int64_t(i) % dim;
      auto at = size_t((row * heads + head) * dim + column);
      reference[at] += rows[i];
      narrow[at] += low[i];
    }
  }
};

struct Gradients {
  Gradient dQ, dK, dV;
};

/// Of a head.
struct NarrowGradients {
  std::vector<float> dQ, dK, dV;
};
} // namespace

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

template <typename Visit>
static void forEachHead(const Attention &attention,
                        std::vector<GlobalArray> &arrays, Visit visit) {
  const AttentionProblem &problem = attention.problem;
  double scale = 1 / std::sqrt(double(attention.dim));
  for (size_t b = 0; b < problem.qLengths.size(); ++b) {
    int64_t queries = problem.qLengths[b], keys = problem.kLengths[b];
    for (int64_t head = 0; head < problem.heads; ++head) {
      int64_t kvHead = head / (problem.heads / problem.kvHeads);
      auto get = [&](size_t input, const std::vector<int64_t> &starts,
                     int64_t rows, int64_t which) {
        return getInput(attention, arrays, input, starts[b], rows, which);
      };
      visit(Head{int64_t(b),
                 head,
                 kvHead,
                 queries,
                 keys,
                 {queries, keys, attention.dim, problem.causal, scale},
                 get(Attention::kQ, attention.qStarts, queries, head),
                 get(Attention::kK, attention.kStarts, keys, kvHead),
                 get(Attention::kV, attention.kStarts, keys, kvHead),
                 getHead(arrays[Attention::kDO], attention.oStarts[b], queries,
                         head)});
    }
  }
}

static float dot(const float *a, const float *b, int64_t size) {
  float sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

/// The formula in the narrow type, with no fusion: every product of matrices is
/// rounded, and so are P and dS.
static NarrowGradients computeNarrow(ElementKind kind, const Head &head) {
  int64_t dim = head.reference.dim;
  auto scale = float(head.reference.scale);
  NarrowGradients sums = {std::vector<float>(head.q.size()),
                          std::vector<float>(head.k.size()),
                          std::vector<float>(head.v.size())};
  std::vector<float> weights, dWeights;
  for (int64_t i = 0; i < head.queries; ++i) {
    const float *q = &head.q[size_t(i * dim)], *dO = &head.dO[size_t(i * dim)];
    computeWeightsNarrow(kind, dim, head.reference.countSeen(i), scale, q,
                         head.k.data(), weights);
    dWeights.resize(weights.size());
    float delta = 0;
    for (size_t j = 0; j < weights.size(); ++j) {
      const float *v = &head.v[j * size_t(dim)];
      dWeights[j] = roundTo(kind, dot(dO, v, dim));
      delta += weights[j] * dWeights[j];
    }
    for (size_t j = 0; j < weights.size(); ++j) {
      float dScore = roundTo(kind, weights[j] * (dWeights[j] - delta));
      dScore = roundTo(kind, dScore * scale);
      for (size_t d = 0; d < size_t(dim); ++d) {
        sums.dQ[size_t(i * dim) + d] += dScore * head.k[j * size_t(dim) + d];
        sums.dK[j * size_t(dim) + d] += dScore * q[d];
        sums.dV[j * size_t(dim) + d] += weights[j] * dO[d];
      }
    }
  }
  for (std::vector<float> *values : {&sums.dQ, &sums.dK, &sums.dV}) {
    for (float &value : *values) {
      value = roundTo(kind, value);
    }
  }
  return sums;
}

static Gradients computeGradients(const Attention &attention,
                                  std::vector<GlobalArray> &arrays) {
  Gradients all = {Gradient(arrays[Attention::kDQ]),
                   Gradient(arrays[Attention::kDK]),
                   Gradient(arrays[Attention::kDV])};
  forEachHead(attention, arrays, [&](const Head &head) {
    std::vector<double> dQ(head.q.size()), dK(head.k.size()), dV(head.v.size());
    runtime::addReferenceGradients(head.reference, head.q.data(), head.k.data(),
                                   head.v.data(), head.dO.data(), dQ.data(),
                                   dK.data(), dV.data());
    NarrowGradients narrow = computeNarrow(attention.element, head);
    auto b = size_t(head.sequence);
    const Shape &kvShape = arrays[Attention::kDK].shape;
    all.dQ.add(arrays[Attention::kDQ].shape, attention.qStarts[b], head.head,
               dQ, narrow.dQ);
    all.dK.add(kvShape, attention.kStarts[b], head.kvHead, dK, narrow.dK);
    all.dV.add(kvShape, attention.kStarts[b], head.kvHead, dV, narrow.dV);
  });
  for (Gradient *gradient : {&all.dQ, &all.dK, &all.dV}) {
    for (float &value : gradient->narrow) {
      value = roundTo(attention.element, value);
    }
  }
  return all;
}

//===----------------------------------------------------------------------===//
// The order of the sums of dq
//===----------------------------------------------------------------------===//

/// Rows and columns of a piece of the sums of dq.
static constexpr int64_t kPiece = 64;

/// Where the sum of a query and column of a piece lies in it: the row and the
/// column there.
static std::pair<int64_t, int64_t> getPlace(PieceOrder order, int64_t query,
                                            int64_t column) {
  if (order == PieceOrder::Transposed) {
    return {column, query};
  }
  // Thread and register of an accumulator (PTX ISA 9.7.15.5.1), whose row is
  // the column and whose column is the query.
  int64_t thread = column / 16 * 32 + column % 8 * 4 + query % 8 / 2;
  int64_t lane = column / 8 % 2 * 2 + query % 2;
  int64_t word = query / 8 * 512 + thread * 4 + lane;
  // Panels of 32 columns, whose 16-byte chunks are swizzled by the row.
  int64_t row = word / 32 % kPiece, chunk = word / 4 % 8 ^ row % 8;
  return {row, word / 2048 * 32 + chunk * 4 + word % 4};
}

/// Where the sum of each element of dq lies.
static std::vector<int64_t> placeSums(const Attention &attention,
                                      const Shape &shape) {
  std::vector<int64_t> places(size_t(getNumElements(shape)));
  std::iota(places.begin(), places.end(), 0);
  const AttentionProblem &problem = attention.problem;
  if (problem.pieceOrder == PieceOrder::Rows) {
    return places;
  }
  int64_t heads = shape[1], dim = shape[2];
  auto placePiece = [&](int64_t firstRow, int64_t head, int64_t firstColumn) {
    auto getIndex = [&](int64_t row, int64_t column) {
      return ((firstRow + row) * heads + head) * dim + firstColumn + column;
    };
    for (int64_t at = 0; at < kPiece * kPiece; ++at) {
      int64_t query = at / kPiece, column = at % kPiece;
      auto [row, placeColumn] = getPlace(problem.pieceOrder, query, column);
      places[size_t(getIndex(query, column))] = getIndex(row, placeColumn);
    }
  };
  for (size_t b = 0; b < problem.qLengths.size(); ++b) {
    // Of the last queries, fewer than a piece, rows lie as they are.
    int64_t pieces = problem.qLengths[b] / kPiece, columns = dim / kPiece;
    for (int64_t i = 0; i < pieces * heads * columns; ++i) {
      placePiece(attention.qStarts[b] + i / columns / heads * kPiece,
                 i / columns % heads, i % columns * kPiece);
    }
  }
  return places;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static void set(GlobalArray &array, int64_t at, float value) {
  encode(array.kind, value, array.at(at));
  array.written[size_t(at)] = true;
}

/// What the first kernel leaves for a row of the output.
struct RowFacts {
  float lseLog2, delta;
};

static RowFacts getRowFacts(float lse, const std::vector<float> &o,
                            const std::vector<float> &dO, int64_t row,
                            int64_t dim) {
  auto at = size_t(row * dim);
  return {std::isinf(lse) ? INFINITY : lse * kLog2E, dot(&dO[at], &o[at], dim)};
}

/// Calls `visit` with every padded row's place and facts.
template <typename Visit>
static void forEachPaddedRow(const Attention &attention,
                             std::vector<GlobalArray> &arrays, Visit visit) {
  forEachHead(attention, arrays, [&](const Head &head) {
    auto b = size_t(head.sequence);
    std::vector<float> o = getHead(arrays[Attention::kO], attention.oStarts[b],
                                   head.queries, head.head);
    int64_t padded =
        (head.queries + kPaddedRows - 1) / kPaddedRows * kPaddedRows;
    for (int64_t i = 0; i < padded; ++i) {
      int64_t at =
          head.head * attention.paddedRows + attention.paddedStarts[b] + i;
      GlobalArray &lse = arrays[Attention::kLse];
      int64_t lseAt = head.head * attention.oRows + attention.oStarts[b] + i;
      visit(at, i < head.queries
                    ? getRowFacts(decodeReal(lse.kind, lse.at(lseAt)), o,
                                  head.dO, i, attention.dim)
                    : RowFacts{INFINITY, 0});
    }
  });
}

void sim::fillBackwardInputs(const Attention &attention,
                             std::vector<GlobalArray> &arrays) {
  GlobalArray &o = arrays[Attention::kO], &lse = arrays[Attention::kLse];
  forEachHead(attention, arrays, [&](const Head &head) {
    std::vector<float> rows(head.q.size()), logs(size_t(head.queries));
    runtime::computeReference(head.reference, head.q.data(), head.k.data(),
                              head.v.data(), rows.data(), logs.data());
    int64_t dim = attention.dim,
            start = attention.oStarts[size_t(head.sequence)];
    for (int64_t i = 0; i < head.queries; ++i) {
      set(lse, head.head * attention.oRows + start + i, logs[size_t(i)]);
      for (int64_t d = 0; d < dim; ++d) {
        set(o, ((start + i) * o.shape[1] + head.head) * dim + d,
            rows[size_t(i * dim + d)]);
      }
    }
  });
  if (isBackwardMain(attention.part)) {
    forEachPaddedRow(attention, arrays, [&](int64_t at, const RowFacts &facts) {
      set(arrays[Attention::kLseLog2], at, facts.lseLog2);
      set(arrays[Attention::kDelta], at, facts.delta);
    });
  }
  if (attention.part == AttentionPart::BackwardPost) {
    double scale = 1 / std::sqrt(double(attention.dim));
    std::vector<double> dQ = computeGradients(attention, arrays).dQ.reference;
    std::vector<int64_t> places =
        placeSums(attention, arrays[Attention::kDQ].shape);
    for (size_t i = 0; i < dQ.size(); ++i) {
      set(arrays[Attention::kDQSums], places[i], float(dQ[i] / scale));
    }
    // Others have added nothing.
    arrays[Attention::kDQSums].setAllWritten();
  }
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool report(const char *name, float error, float limit,
                   bool isComplete) {
  std::printf("%s: error %.3g, at most %.3g allowed\n", name, double(error),
              double(limit));
  if (!isComplete) {
    std::printf("some elements of %s have not been written\n", name);
  }
  return isComplete && error <= limit;
}

/// Compares an array, times a factor, with a gradient, of which it may have
/// several parts. `places` says where elements lie in a part, if not in order.
static bool checkGradient(const char *name, GlobalArray &array, float factor,
                          const Gradient &gradient,
                          llvm::ArrayRef<int64_t> places = {}) {
  Errors errors;
  auto size = int64_t(gradient.reference.size());
  for (int64_t i = 0; i < size; ++i) {
    float sum = 0;
    for (int64_t at = places.empty() ? i : places[size_t(i)];
         at < array.getNumElements(); at += size) {
      sum += decodeReal(array.kind, array.at(at));
    }
    errors.compare(factor * sum, float(gradient.reference[size_t(i)]),
                   gradient.narrow[size_t(i)]);
  }
  return report(name, errors.o, errors.getLimit(), isComplete(array));
}

/// The gradients of q, k and perhaps v before they were rotated: those of the
/// rotated ones, rotated back.
static void rotateBack(const Attention &attention, GlobalArray &sinCos,
                       Gradients &gradients) {
  int64_t dim = attention.dim, heads = attention.problem.heads;
  Gradient *all[] = {&gradients.dQ, &gradients.dK, &gradients.dV};
  auto rotate = [&](Gradient &gradient, size_t at, float sine, float cosine) {
    double x = gradient.reference[at], y = gradient.reference[at + 1];
    gradient.reference[at] = x * cosine + y * sine;
    gradient.reference[at + 1] = y * cosine - x * sine;
    float low = gradient.narrow[at], high = gradient.narrow[at + 1];
    gradient.narrow[at] =
        roundTo(attention.element, low * cosine + high * sine);
    gradient.narrow[at + 1] =
        roundTo(attention.element, high * cosine - low * sine);
  };
  int64_t rotary = attention.problem.rotary;
  for (int64_t which = 0; which < (rotary ? rotary + 1 : 0); ++which) {
    for (int64_t row = 0; row < attention.qRows * heads; ++row) {
      int64_t angles = row / heads * dim;
      for (int64_t i = 0; i < dim / 2; ++i) {
        rotate(*all[which], size_t(row * dim + 2 * i),
               decodeReal(sinCos.kind, sinCos.at(angles + i)),
               decodeReal(sinCos.kind, sinCos.at(angles + dim / 2 + i)));
      }
    }
  }
}

/// Checks what the first kernel leaves.
static bool checkPre(const Attention &attention,
                     std::vector<GlobalArray> &run) {
  GlobalArray &lse = run[Attention::kLseLog2], &delta = run[Attention::kDelta];
  float lseError = 0, deltaError = 0;
  bool isWritten = true;
  auto compare = [](float got, float wanted) {
    return got == wanted ? 0
           : std::isfinite(got) && std::isfinite(wanted)
               ? std::fabs(got - wanted)
               : INFINITY;
  };
  forEachPaddedRow(attention, run, [&](int64_t at, const RowFacts &facts) {
    lseError = std::max(
        lseError, compare(decodeReal(lse.kind, lse.at(at)), facts.lseLog2));
    deltaError = std::max(
        deltaError, compare(decodeReal(delta.kind, delta.at(at)), facts.delta));
    isWritten &= lse.written[size_t(at)] && delta.written[size_t(at)];
  });
  GlobalArray &sums = run[Attention::kDQSums];
  float largest = 0;
  for (int64_t i = 0; i < sums.getNumElements(); ++i) {
    largest = std::max(largest, compare(decodeReal(sums.kind, sums.at(i)), 0));
  }
  // Without a sequence nobody writes to sums of shared queries.
  bool isCleared = attention.problem.qLengths.empty() || isComplete(sums);
  bool isRight = report("lse_log2", lseError, 1e-3f, isWritten);
  isRight &= report("delta", deltaError, 1e-3f, isWritten);
  return report("dq_acc", largest, 0, isCleared) && isRight;
}

bool sim::checkBackward(const Attention &attention,
                        std::vector<GlobalArray> &run, bool isWhole) {
  if (attention.part == AttentionPart::BackwardPre) {
    return checkPre(attention, run);
  }
  Gradients gradients = computeGradients(attention, run);
  if (attention.part == AttentionPart::BlockBackward) {
    rotateBack(attention, run[Attention::kSinCos], gradients);
    bool isRight = checkGradient("dq", run[Attention::kDQ], 1, gradients.dQ);
    isRight &= checkGradient("dk", run[Attention::kDK], 1, gradients.dK);
    return checkGradient("dv", run[Attention::kDV], 1, gradients.dV) && isRight;
  }
  bool isPost = attention.part == AttentionPart::BackwardPost;
  auto scale = float(1 / std::sqrt(double(attention.dim)));
  bool isRight =
      isPost ? checkGradient("dq", run[Attention::kDQ], 1, gradients.dQ)
             : checkGradient("dq", run[Attention::kDQSums], scale, gradients.dQ,
                             placeSums(attention, run[Attention::kDQ].shape));
  if (!isPost || isWhole) {
    isRight &= checkGradient("dk", run[Attention::kDK], 1, gradients.dK);
    isRight &= checkGradient("dv", run[Attention::kDV], 1, gradients.dV);
  }
  return isRight;
}
