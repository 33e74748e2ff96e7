//===- ReferenceAttentionTest.cpp - Tests of the CPU reference --*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceAttention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace jfa::runtime;

namespace {
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

Floats makeNormal(std::mt19937 &random, int64_t count) {
  std::normal_distribution<float> normal;
  Floats values(static_cast<size_t>(count));
  for (float &value : values) {
    value = normal(random);
  }
  return values;
}

/// The sum of dO * O, whose gradients the backward computes.
double getLoss(const ReferenceHead &head, const Floats &q, const Floats &k,
               const Floats &v, const Floats &dO) {
  Floats o(dO.size()), lse(static_cast<size_t>(head.queries));
  computeReference(head, q.data(), k.data(), v.data(), o.data(), lse.data());
  double loss = 0;
  for (size_t i = 0; i < o.size(); ++i) {
    loss += double(o[i]) * double(dO[i]);
  }
  return loss;
}

/// Compares a gradient with central differences of the loss, which vary the
/// elements of `x`, an input of getLoss.
template <typename Loss>
void expectDerivative(Floats &x, const Doubles &gradient, const char *name,
                      Loss loss) {
  constexpr float kStep = 1.0f / 64;
  for (size_t i = 0; i < x.size(); ++i) {
    float before = x[i];
    x[i] = before + kStep;
    double above = loss();
    x[i] = before - kStep;
    double below = loss();
    x[i] = before;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * double(kStep)), 2e-3)
        << name << "[" << i << "]";
  }
}

void expectGradients(const ReferenceHead &head) {
  std::mt19937 random(7);
  Floats q = makeNormal(random, head.queries * head.dim);
  Floats k = makeNormal(random, head.keys * head.dim);
  Floats v = makeNormal(random, head.keys * head.dim);
  Floats dO = makeNormal(random, head.queries * head.dim);
  Doubles dQ(q.size()), dK(k.size()), dV(v.size());
  addReferenceGradients(head, q.data(), k.data(), v.data(), dO.data(),
                        dQ.data(), dK.data(), dV.data());
  auto loss = [&] { return getLoss(head, q, k, v, dO); };
  expectDerivative(q, dQ, "dQ", loss);
  expectDerivative(k, dK, "dK", loss);
  expectDerivative(v, dV, "dV", loss);
}
} // namespace

TEST(ReferenceAttention, TwoKeys) {
  // Scores 0 and log(3): weights 1/4 and 3/4.
  float q[] = {1}, k[] = {0, std::log(3.0f)}, v[] = {4, 8}, o[1], lse[1];
  computeReference({1, 2, 1, false, 1.0}, q, k, v, o, lse);
  EXPECT_NEAR(o[0], 7.0f, 1e-6f);
  EXPECT_NEAR(lse[0], std::log(4.0f), 1e-6f);
}

TEST(ReferenceAttention, CausalIsAlignedBottomRight) {
  // Three queries, two keys: they see 0, 1 and 2 of them.
  float q[] = {1, 1, 1}, k[] = {0, 0}, v[] = {2, 4}, o[3], lse[3];
  computeReference({3, 2, 1, true, 1.0}, q, k, v, o, lse);
  EXPECT_EQ(o[0], 0.0f);
  EXPECT_EQ(lse[0], -INFINITY);
  EXPECT_EQ(o[1], 2.0f);
  EXPECT_EQ(lse[1], 0.0f);
  EXPECT_EQ(o[2], 3.0f);
}

TEST(ReferenceAttention, NoKeys) {
  float q[] = {1}, o[1] = {NAN}, lse[1] = {NAN};
  computeReference({1, 0, 1, false, 1.0}, q, nullptr, nullptr, o, lse);
  EXPECT_EQ(o[0], 0.0f);
  EXPECT_EQ(lse[0], -INFINITY);
}

TEST(ReferenceAttention, GradientsAreDerivatives) {
  for (bool causal : {false, true}) {
    expectGradients({5, 7, 4, causal, 0.5});
    // Causal: the first rows see no key.
    expectGradients({6, 3, 4, causal, 0.5});
    expectGradients({1, 1, 4, causal, 0.5});
    expectGradients({3, 0, 4, causal, 0.5});
    expectGradients({0, 3, 4, causal, 0.5});
  }
}

TEST(ReferenceAttention, GradientsByHand) {
  // Weights 1/4 and 3/4; dP is 4 and 8, so delta is 7 and dS is -3/4 and 3/4.
  float q[] = {2}, k[] = {0, std::log(3.0f) / 2}, v[] = {4, 8}, dO[] = {1};
  double dQ[1] = {}, dK[2] = {}, dV[2] = {};
  addReferenceGradients({1, 2, 1, false, 1.0}, q, k, v, dO, dQ, dK, dV);
  EXPECT_NEAR(dQ[0], 0.75 * double(k[1]), 1e-6);
  EXPECT_NEAR(dK[0], -1.5, 1e-6);
  EXPECT_NEAR(dK[1], 1.5, 1e-6);
  EXPECT_NEAR(dV[0], 0.25, 1e-6);
  EXPECT_NEAR(dV[1], 0.75, 1e-6);
}

TEST(ReferenceAttention, GradientsAddUp) {
  float q[] = {2}, k[] = {0, std::log(3.0f) / 2}, v[] = {4, 8}, dO[] = {1};
  double dQ[1] = {}, dK[2] = {}, dV[2] = {};
  for (int head = 0; head < 2; ++head) {
    addReferenceGradients({1, 2, 1, false, 1.0}, q, k, v, dO, dQ, dK, dV);
  }
  EXPECT_NEAR(dK[1], 3.0, 1e-6);
  EXPECT_NEAR(dV[1], 1.5, 1e-6);
}

TEST(ReferenceAttention, RowsWithoutKeysHaveNoGradients) {
  // Three queries, two keys: the first row sees none.
  float q[] = {1, 1, 1}, k[] = {0, 1}, v[] = {2, 4}, dO[] = {NAN, 0, 0};
  double dQ[3] = {}, dK[2] = {}, dV[2] = {};
  addReferenceGradients({3, 2, 1, true, 1.0}, q, k, v, dO, dQ, dK, dV);
  for (double value : {dQ[0], dQ[1], dQ[2], dK[0], dK[1], dV[0], dV[1]}) {
    EXPECT_EQ(value, 0.0);
  }
}

TEST(ReferenceAttention, BFloat16RoundsToEven) {
  EXPECT_EQ(toBFloat16(1.0f), 0x3f80);
  EXPECT_EQ(toBFloat16(1.00390625f), 0x3f80);
  EXPECT_EQ(toBFloat16(1.01171875f), 0x3f82);
  EXPECT_EQ(fromBFloat16(0xc000), -2.0f);
  EXPECT_TRUE(std::isnan(fromBFloat16(toBFloat16(NAN))));
}
