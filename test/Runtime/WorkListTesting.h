//===- WorkListTesting.h - Batches for tests -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TEST_RUNTIME_WORKLISTTESTING_H
#define JFA_TEST_RUNTIME_WORKLISTTESTING_H

#include "WorkList.h"

#include <cmath>
#include <random>
#include <vector>

namespace jfa::testing {

inline runtime::WorkShape makeShape(bool causal = false,
                                    int64_t workers = 132) {
  return {128, 128, causal, /*heads=*/4, /*sharedHeads=*/2, 512, workers};
}

/// Offsets of random lengths: short, long-tailed, constant or mostly empty.
inline std::vector<int32_t> randomOffsets(std::mt19937 &random, int64_t count) {
  std::vector<int32_t> offsets = {0};
  int kind = int(random() % 4);
  for (int64_t i = 0; i < count; ++i) {
    int32_t length = 0;
    if (kind == 0) {
      length = int32_t(random() % 300);
    } else if (kind == 1) {
      length = int32_t(std::exp(double(random() % 1000) / 120.0));
    } else if (kind == 2) {
      length = 777;
    } else if (random() % 5 == 0) {
      length = int32_t(random() % 5000);
    }
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

} // namespace jfa::testing

#endif // JFA_TEST_RUNTIME_WORKLISTTESTING_H
