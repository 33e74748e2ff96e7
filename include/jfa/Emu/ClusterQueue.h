//===- ClusterQueue.h - Clusters that wait for their launch -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.13.17: every cluster is launched or cancelled, once.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_CLUSTERQUEUE_H
#define JFA_EMU_CLUSTERQUEUE_H

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace mlir::jfa::emu {

/// Their first CTAs, in order.
class ClusterQueue {
public:
  using Cta = std::array<uint32_t, 3>;

  explicit ClusterQueue(size_t resident) : resident(resident) {}
  void add(Cta first) { clusters.push_back({first, false}); }
  size_t size() const { return clusters.size(); }

  /// The cluster to launch as number `number`; nothing if it is cancelled.
  std::optional<Cta> launch(size_t number) {
    bool isCancelled = clusters[number].isGone;
    clusters[number].isGone = true;
    return isCancelled ? std::nullopt : std::optional(clusters[number].first);
  }
  /// Takes one that has not been launched; nothing if there is none.
  std::optional<Cta> cancel() {
    for (size_t i = resident; i < clusters.size(); ++i) {
      if (!clusters[i].isGone) {
        clusters[i].isGone = true;
        return clusters[i].first;
      }
    }
    return std::nullopt;
  }

private:
  struct Cluster {
    Cta first;
    bool isGone;
  };
  std::vector<Cluster> clusters;
  /// So many run from the beginning.
  size_t resident;
};

} // namespace mlir::jfa::emu

#endif // JFA_EMU_CLUSTERQUEUE_H
