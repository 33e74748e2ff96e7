//===- Schedule.h - Who takes the next step -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of a run's freedom: which of the tasks and asynchronous operations that
// can take a step does. The same schedule gives the same run.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_SCHEDULE_H
#define JFA_SIM_SCHEDULE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlir::jfa::sim {

/// Someone who can take a step.
struct Choice {
  bool isAsync;
  /// The number of the task, or the number of the operation in order of issue.
  uint64_t id;
};

class Schedule {
public:
  virtual ~Schedule() = default;
  /// Picks one of `choices`, of which there is at least one. Tasks come first,
  /// in order; operations after them, the oldest first.
  virtual size_t choose(const std::vector<Choice> &choices) = 0;
  /// Whether to run again under another order, and with which.
  virtual bool next() { return false; }
  /// What was run, for messages.
  virtual std::string describe() const = 0;
  /// Picks the answer to a request for one of `count` clusters that have not
  /// been launched (PTX ISA 9.7.13.17), of which there is at least one: 0 if it
  /// fails, otherwise which of them, counted from 1.
  virtual size_t chooseAnswer(size_t count) = 0;
};

/// `eager`, `late`, `random:SEED`, `pct:DEPTH` or `pct:DEPTH:SEED`, `all` or
/// `all:LIMIT`. Null, with `error` set, for anything else. `steps` estimates
/// the length of a run.
std::unique_ptr<Schedule> makeSchedule(const std::string &text, uint64_t steps,
                                       std::string &error);

/// The order of `schedule`, under every sequence of answers to requests for
/// clusters.
std::unique_ptr<Schedule> tryAllAnswers(std::unique_ptr<Schedule> schedule);

} // namespace mlir::jfa::sim

#endif // JFA_SIM_SCHEDULE_H
