//===- Grid.h - Which clusters of a grid run --------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cluster launch control (PTX ISA 9.7.13.17): every cluster is launched or
// cancelled, once. Clusters are launched in order, so that one can cancel those
// after it.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_GRID_H
#define JFA_SIM_GRID_H

#include "jfa/Sim/Schedule.h"

#include <optional>

namespace mlir::jfa::sim {

class Grid {
public:
  explicit Grid(uint32_t clusters) : isGone(clusters) {}

  /// Whether cluster `number` runs; false if it has been cancelled.
  bool launch(uint32_t number) {
    bool runs = !isGone[number];
    isGone[number] = true;
    return runs;
  }

  /// Cancels the cluster that `schedule` picks; none, if it lets the request
  /// fail or no cluster is left.
  std::optional<uint32_t> cancel(Schedule &schedule) {
    std::vector<uint32_t> left;
    for (uint32_t i = 0; i < isGone.size(); ++i) {
      if (!isGone[i]) {
        left.push_back(i);
      }
    }
    size_t answer = left.empty() ? 0 : schedule.chooseAnswer(left.size());
    if (answer == 0) {
      return std::nullopt;
    }
    isGone[left[answer - 1]] = true;
    return left[answer - 1];
  }

private:
  /// Whether it has been launched or cancelled.
  std::vector<bool> isGone;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_GRID_H
