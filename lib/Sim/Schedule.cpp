//===- Schedule.cpp - Who takes the next step -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Schedule.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <random>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

namespace {
/// Operations finish at once; a task runs until it waits.
class EagerSchedule : public Schedule {
public:
  size_t choose(const std::vector<Choice> &choices) override {
    size_t next = 0;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (choices[i].isAsync) {
        return i;
      }
      if (choices[i].id == current) {
        next = i;
      }
    }
    current = choices[next].id;
    return next;
  }
  /// The next cluster.
  size_t chooseAnswer(size_t) override { return 1; }
  std::string describe() const override { return "eager"; }

private:
  uint64_t current = 0;
};

/// Operations go on only when every task waits, one step at a time.
class LateSchedule : public Schedule {
public:
  size_t choose(const std::vector<Choice> &choices) override {
    size_t next = 0;
    for (size_t i = 0; i < choices.size() && !choices[i].isAsync; ++i) {
      if (choices[i].id == current) {
        next = i;
      }
    }
    if (!choices[next].isAsync) {
      current = choices[next].id;
    }
    return next;
  }
  /// The last cluster.
  size_t chooseAnswer(size_t count) override { return count; }
  std::string describe() const override { return "late"; }

private:
  uint64_t current = 0;
};

class RandomSchedule : public Schedule {
public:
  explicit RandomSchedule(uint64_t seed) : seed(seed), random(seed) {}
  size_t choose(const std::vector<Choice> &choices) override {
    return random() % choices.size();
  }
  size_t chooseAnswer(size_t count) override { return random() % (count + 1); }
  std::string describe() const override {
    return "random:" + std::to_string(seed);
  }

private:
  uint64_t seed;
  std::mt19937_64 random;
};

/// Priorities with a few changes (Burckhardt et al., "A Randomized Scheduler
/// with Probabilistic Guarantees of Finding Bugs"): finds bugs that need few
/// orderings with a probability that does not depend on what else runs.
class PriorityChangeSchedule : public Schedule {
public:
  PriorityChangeSchedule(uint64_t depth, uint64_t seed, uint64_t steps)
      : depth(depth), seed(seed), random(seed) {
    for (uint64_t i = 1; i < depth; ++i) {
      changes[random() % std::max<uint64_t>(1, steps)] = i;
    }
  }
  size_t choose(const std::vector<Choice> &choices) override {
    size_t best = 0;
    for (size_t i = 1; i < choices.size(); ++i) {
      if (getPriority(choices[i]) > getPriority(choices[best])) {
        best = i;
      }
    }
    if (auto change = changes.find(step++); change != changes.end()) {
      getPriority(choices[best]) = depth - change->second;
    }
    return best;
  }
  size_t chooseAnswer(size_t count) override { return random() % (count + 1); }
  std::string describe() const override {
    return "pct:" + std::to_string(depth) + ":" + std::to_string(seed);
  }

private:
  uint64_t &getPriority(const Choice &choice) {
    auto [it, isNew] = priorities.try_emplace({choice.isAsync, choice.id}, 0);
    if (isNew) {
      it->second = depth + (random() >> 1);
    }
    return it->second;
  }

  uint64_t depth, seed;
  std::mt19937_64 random;
  uint64_t step = 0;
  std::map<uint64_t, uint64_t> changes;
  std::map<std::pair<bool, uint64_t>, uint64_t> priorities;
};

/// What was chosen in a run, for all runs one after the other: depth first.
class ChoicePath {
public:
  size_t take(size_t count) {
    if (count == 1) {
      return 0;
    }
    if (at == path.size()) {
      path.push_back({0, count});
    }
    return path[at++].taken;
  }
  /// Goes on to the next run; false if that was the last.
  bool next() {
    at = 0;
    ++runs;
    while (!path.empty() && path.back().taken + 1 == path.back().count) {
      path.pop_back();
    }
    if (path.empty()) {
      return false;
    }
    ++path.back().taken;
    return true;
  }
  /// Runs that are over.
  uint64_t getRuns() const { return runs; }
  bool isEmpty() const { return path.empty(); }

private:
  struct Branch {
    size_t taken, count;
  };
  uint64_t runs = 0;
  size_t at = 0;
  std::vector<Branch> path;
};

/// Every order, up to a limit.
class ExhaustiveSchedule : public Schedule {
public:
  explicit ExhaustiveSchedule(uint64_t limit) : limit(limit) {}
  size_t choose(const std::vector<Choice> &choices) override {
    return path.take(choices.size());
  }
  size_t chooseAnswer(size_t count) override { return path.take(count + 1); }
  bool next() override { return path.next() && path.getRuns() < limit; }
  std::string describe() const override {
    uint64_t runs = path.getRuns();
    return path.isEmpty()
               ? "all " + std::to_string(std::max<uint64_t>(1, runs)) +
                     " orders"
               : std::to_string(runs) + " of all orders";
  }

private:
  uint64_t limit;
  ChoicePath path;
};

/// Another schedule's order, and every sequence of answers.
class AnswersSchedule : public Schedule {
public:
  explicit AnswersSchedule(std::unique_ptr<Schedule> order)
      : order(std::move(order)) {}
  size_t choose(const std::vector<Choice> &choices) override {
    return order->choose(choices);
  }
  size_t chooseAnswer(size_t count) override { return path.take(count + 1); }
  bool next() override { return path.next(); }
  std::string describe() const override {
    return order->describe() + " under every answer of launch control";
  }

private:
  std::unique_ptr<Schedule> order;
  ChoicePath path;
};
} // namespace

/// Orders at most, if nothing else is said.
static constexpr uint64_t kMaxOrders = 100000;
/// Changes of priority at most.
static constexpr uint64_t kMaxDepth = 1 << 20;

std::unique_ptr<Schedule>
sim::makeSchedule(const std::string &text, uint64_t steps, std::string &error) {
  auto [name, rest] = llvm::StringRef(text).split(':');
  auto [first, second] = rest.split(':');
  uint64_t number = 0, seed = 1;
  bool isNumber = first.empty() || !first.getAsInteger(10, number);
  isNumber &= second.empty() || !second.getAsInteger(10, seed);
  if (isNumber && name == "eager" && rest.empty()) {
    return std::make_unique<EagerSchedule>();
  }
  if (isNumber && name == "late" && rest.empty()) {
    return std::make_unique<LateSchedule>();
  }
  if (isNumber && name == "random" && !first.empty() && second.empty()) {
    return std::make_unique<RandomSchedule>(number);
  }
  if (isNumber && name == "pct" && number > 0 && number <= kMaxDepth) {
    return std::make_unique<PriorityChangeSchedule>(number, seed, steps);
  }
  if (isNumber && name == "all" && (number > 0 || first.empty()) &&
      second.empty()) {
    return std::make_unique<ExhaustiveSchedule>(number ? number : kMaxOrders);
  }
  error = "expected eager, late, random:SEED, pct:DEPTH[:SEED] or "
          "all[:LIMIT], but got '" +
          text + "'";
  return nullptr;
}

std::unique_ptr<Schedule>
sim::tryAllAnswers(std::unique_ptr<Schedule> schedule) {
  return std::make_unique<AnswersSchedule>(std::move(schedule));
}
