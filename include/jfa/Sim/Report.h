//===- Report.h - What the simulator finds -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Findings of a run, in terms of sites: numbers that stand for the ops of the
// simulated program.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_REPORT_H
#define JFA_SIM_REPORT_H

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace mlir::jfa::sim {

/// An op of the program, or an argument.
using Site = uint32_t;

enum class Fault {
  Deadlock,
  Race,
  MissingFence,
  EarlyRelease,
  PhaseLapped,
  ParityAliased,
  Unbalanced,
  OutOfBounds,
  NeverWritten,
  NamedBarrier,
  ClusterBarrier,
  NotStarted,
  Ended,
  Unwaited,
  Endless,
  Unsupported,
  // Of instructions.
  Misaligned,
  Convergence,
  RegisterInFlight,
  Illegal,
  Leak,
  // Of clusters that are cancelled.
  LaunchControl
};

/// The name of a kind of fault in messages and tests: `data race`.
const char *getName(Fault fault);

struct Note {
  Site site;
  std::string text;
};

struct Finding {
  Fault fault;
  Site site;
  std::string text;
  std::vector<Note> notes;
};

/// Keeps the first finding of each kind at each pair of sites.
class Report {
public:
  void add(Finding finding) {
    Site other = finding.notes.empty() ? finding.site : finding.notes[0].site;
    if (findings.size() < kLimit &&
        seen.emplace(finding.fault, finding.site, other).second) {
      findings.push_back(std::move(finding));
    }
  }
  bool empty() const { return findings.empty(); }
  const std::vector<Finding> &get() const { return findings; }

private:
  /// More would only bury the first.
  static constexpr size_t kLimit = 20;
  std::vector<Finding> findings;
  std::set<std::tuple<Fault, Site, Site>> seen;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_REPORT_H
