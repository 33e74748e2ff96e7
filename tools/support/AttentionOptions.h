//===- AttentionOptions.h - Options of attention problems -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options with which a tool runs an attention kernel on random inputs, and
// the problem that they describe.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_SUPPORT_ATTENTIONOPTIONS_H
#define JFA_TOOLS_SUPPORT_ATTENTIONOPTIONS_H

#include "CommandLine.h"

#include "jfa/Sim/Attention.h"

#include <optional>

namespace mlir::jfa::sim {

struct AttentionOptions {
  /// Of the keys; without any, no attention kernel is run.
  std::optional<std::vector<int64_t>> lengths;
  std::optional<int64_t> qLength;
  int64_t heads = 1;
  std::optional<int64_t> kvHeads;
  bool broadcastQuery = false, causal = false;

  /// Adds the options to a tool's own.
  void addTo(std::map<std::string, OptionReader> &readers,
             std::map<std::string, bool *> &flags);
  /// Returns which combination makes no sense, or nothing.
  std::string check() const;
  /// The problem, with all that is a matter of how it is run by default.
  AttentionProblem makeProblem() const;
};

/// What a tool's help says of them.
extern const char *const kAttentionHelp;

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_SUPPORT_ATTENTIONOPTIONS_H
