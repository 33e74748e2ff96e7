//===- VerifyProtocol.cpp - Check kernels by running them -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the launches that a kernel is verified with, and runs them.
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Attention.h"
#include "jfa/Sim/Passes.h"
#include "jfa/Sim/Schedule.h"
#include "jfa/Sim/Sim.h"

namespace mlir::jfa::sim {
#define GEN_PASS_DEF_VERIFYPROTOCOLPASS
#include "jfa/Sim/Passes.h.inc"
} // namespace mlir::jfa::sim

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

/// Trip counts go this far past the number of stages of the deepest ring.
static constexpr int64_t kPastDeepest = 3;
/// Launches of a kernel at most.
static constexpr int64_t kMaxLaunches = 1000;

/// The name of the attribute that says which arguments are trip counts.
static constexpr StringLiteral kTripCounts = "tlx.trip_counts";

static int64_t getMaxTrips(const Program &program) {
  int64_t deepest = 1;
  for (const BarrierArray &array : program.barriers) {
    deepest = std::max(deepest, array.count);
  }
  return deepest + kPastDeepest;
}

static IntegerAttr getParameter(tlx::KernelOp kernel, StringRef name) {
  std::optional<DictionaryAttr> parameters = kernel.getParameters();
  return dyn_cast_or_null<IntegerAttr>(parameters ? parameters->get(name)
                                                  : Attribute());
}

static bool getFlag(tlx::KernelOp kernel, StringRef name,
                    bool otherwise = false) {
  IntegerAttr flag = getParameter(kernel, name);
  return flag ? !flag.getValue().isZero() : otherwise;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Adds a sequence on which a tile takes `count` steps.
static void addSequence(AttentionPart part, const Simulation &simulation,
                        int64_t count, int64_t tiles,
                        AttentionProblem &problem) {
  auto getRows = [&](const char *name) {
    const Argument *argument = simulation.findArgument(name);
    return argument && !argument->box.empty() ? argument->box[0] : 1;
  };
  switch (part) {
  case AttentionPart::Forward:
    problem.qLengths.push_back(tiles * getRows("q"));
    problem.kLengths.push_back(count * getRows("k"));
    break;
  case AttentionPart::Backward:
    problem.qLengths.push_back(count * getRows("q"));
    problem.kLengths.push_back(tiles * getRows("k"));
    break;
  // A tile here is a run.
  case AttentionPart::BackwardQuery:
    problem.qLengths.push_back(getRows("q"));
    problem.kLengths.push_back(count * getRows("k"));
    break;
  // These take one step for each tile.
  case AttentionPart::BackwardPre:
    problem.qLengths.push_back(count * getRows("o"));
    problem.kLengths.push_back(1);
    break;
  case AttentionPart::BackwardPost:
    problem.qLengths.push_back(count * getRows("dq"));
    problem.kLengths.push_back(1);
    break;
  case AttentionPart::BlockForward:
  case AttentionPart::BlockBackward:
    problem.qLengths.push_back(count * getRows("q"));
    problem.kLengths.push_back(count * getRows("q"));
    break;
  }
}

/// Makes a launch for sequences of these numbers of steps. False if the kernel
/// has other arguments than attention.
static bool makeAttention(tlx::KernelOp kernel, const Simulation &simulation,
                          ArrayRef<int64_t> steps, int64_t tilesPerSequence,
                          Launch &launch) {
  std::optional<AttentionPart> part = getAttentionPart(simulation.program);
  if (!part) {
    return false;
  }
  AttentionProblem problem;
  problem.values = false;
  problem.balances = false;
  problem.causal = getFlag(kernel, "CAUSAL");
  problem.broadcastQuery = getFlag(kernel, "BROADCAST_QUERY") ||
                           part == AttentionPart::BackwardQuery;
  if (IntegerAttr dim = getParameter(kernel, "HEAD_DIM")) {
    problem.headDim = dim.getInt();
  }
  for (int64_t count : steps) {
    addSequence(*part, simulation, count, tilesPerSequence, problem);
  }
  Attention attention;
  std::string error = attention.bind(problem, simulation.program, launch.arrays,
                                     launch.arguments);
  launch.ctas = attention.getCtas();
  return error.empty();
}

/// A launch of block attention for sequences of these lengths.
static bool makeBlockAttention(const Simulation &simulation,
                               ArrayRef<int64_t> lengths, int64_t heads,
                               int64_t maxCtas, Launch &launch) {
  AttentionProblem problem;
  problem.values = false;
  problem.balances = false;
  problem.qLengths.assign(lengths.begin(), lengths.end());
  problem.kLengths = problem.qLengths;
  problem.heads = problem.kvHeads = heads;
  problem.maxCtas = maxCtas;
  Attention attention;
  std::string error = attention.bind(problem, simulation.program, launch.arrays,
                                     launch.arguments);
  launch.ctas = attention.getCtas();
  return error.empty();
}

/// Every number of blocks in one CTA, of one sequence and of as many; then
/// sequences of all kinds with several heads, shared by several CTAs. Nothing
/// is launched without a block.
static bool makeBlockAttentionLaunches(const Simulation &simulation,
                                       std::vector<Launch> &launches) {
  int64_t rows = simulation.findArgument("q")->box[0];
  for (int64_t count = 1; count <= getMaxTrips(simulation.program); ++count) {
    SmallVector<int64_t> apart(size_t(count), rows);
    if (!makeBlockAttention(simulation, {count * rows}, 1, 1,
                            launches.emplace_back()) ||
        !makeBlockAttention(simulation, apart, 1, 1, launches.emplace_back())) {
      return false;
    }
  }
  int64_t mixed[] = {1, 0, rows, rows + 1, 3 * rows, 0, 0, 2 * rows - 1};
  return makeBlockAttention(simulation, mixed, 3, 2, launches.emplace_back());
}

/// Every number of steps alone, then all of them in one cluster, up and down.
static bool makeAttentionLaunches(tlx::KernelOp kernel,
                                  const Simulation &simulation,
                                  std::vector<Launch> &launches) {
  std::optional<AttentionPart> part = getAttentionPart(simulation.program);
  if (part == AttentionPart::BlockForward ||
      part == AttentionPart::BlockBackward) {
    return makeBlockAttentionLaunches(simulation, launches);
  }
  int64_t maxSteps = getMaxTrips(simulation.program);
  int64_t cluster = simulation.program.clusterSize;
  // Without offsets all sequences are as long as the first; shared queries are
  // as many for each, and the backward's steps are queries.
  bool isForward = part == AttentionPart::Forward;
  bool mayVary = getFlag(kernel, "JAGGED", /*otherwise=*/true) &&
                 (isForward || !getFlag(kernel, "BROADCAST_QUERY"));
  SmallVector<int64_t> chain;
  for (int64_t count = 0; count <= maxSteps; ++count) {
    SmallVector<int64_t> alone(mayVary ? 1 : 3, count);
    // Two items, of which the second has rows for one CTA only.
    if (!makeAttention(kernel, simulation, alone, cluster + 1,
                       launches.emplace_back())) {
      return false;
    }
    chain.push_back(count);
  }
  if (!mayVary) {
    return true;
  }
  for (int64_t count = maxSteps; count >= 0; --count) {
    chain.push_back(count);
  }
  return makeAttention(kernel, simulation, chain, cluster,
                       launches.emplace_back());
}

//===----------------------------------------------------------------------===//
// Any kernel
//===----------------------------------------------------------------------===//

/// What keeps a kernel from being enumerated, or nothing.
static std::string findObstacle(tlx::KernelOp kernel,
                                const Simulation &simulation,
                                ArrayRef<StringRef> counts) {
  for (const Argument &argument : simulation.program.arguments) {
    if (argument.kind == ArgumentKind::Scalar && !isReal(argument.element) &&
        !llvm::is_contained(counts, argument.name)) {
      return "the argument '" + argument.name + "', which '" +
             kTripCounts.str() + "' does not name";
    }
  }
  bool loads = kernel
                   .walk([](tlx::GlobalLoadOp load) {
                     return load.getType().isSignlessInteger()
                                ? WalkResult::interrupt()
                                : WalkResult::advance();
                   })
                   .wasInterrupted();
  return loads ? "integers in global memory" : "";
}

static void makeLaunch(const Simulation &simulation, ArrayRef<StringRef> counts,
                       int64_t number, int64_t base, Launch &launch) {
  launch.ctas = simulation.program.clusterSize;
  for (const Argument &argument : simulation.program.arguments) {
    sim::Value &value = launch.arguments.emplace_back();
    if (argument.kind != ArgumentKind::Scalar) {
      value.integer = int64_t(launch.arrays.size());
      Shape shape = argument.box.empty() ? Shape{1} : argument.box;
      launch.arrays.emplace_back(argument.name, argument.element, shape);
      launch.arrays.back().isBoundless = true;
    } else if (llvm::is_contained(counts, argument.name)) {
      value.integer = number % base;
      number /= base;
    }
  }
}

/// All combinations of the trip counts. Returns what it cannot enumerate.
static std::string makeLaunches(tlx::KernelOp kernel,
                                const Simulation &simulation,
                                std::vector<Launch> &launches) {
  SmallVector<StringRef> counts;
  if (auto names = kernel->getAttrOfType<ArrayAttr>(kTripCounts)) {
    for (auto name : names.getAsRange<StringAttr>()) {
      counts.push_back(name.getValue());
    }
  }
  std::string obstacle = findObstacle(kernel, simulation, counts);
  if (!obstacle.empty()) {
    return obstacle;
  }
  int64_t base = getMaxTrips(simulation.program) + 1, total = 1;
  for (size_t i = 0; i < counts.size(); ++i) {
    total *= base;
    if (total > kMaxLaunches) {
      return "so many trip counts";
    }
  }
  for (int64_t number = 0; number < total; ++number) {
    makeLaunch(simulation, counts, number, base, launches.emplace_back());
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Runs a launch under a schedule. Fails after diagnostics.
static LogicalResult verify(const Simulation &simulation, Launch launch,
                            const char *schedule) {
  std::string error;
  Report report;
  run(simulation, launch, *makeSchedule(schedule, 0, error), report);
  if (!report.empty()) {
    emitFindings(simulation, report);
  }
  return success(report.empty());
}

namespace {
struct VerifyProtocolPass
    : public sim::impl::VerifyProtocolPassBase<VerifyProtocolPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!enabled) {
      return giveUp("it was switched off");
    }
    tlx::KernelOp kernel = getOperation();
    auto simulation = buildSimulation(kernel, /*values=*/false);
    if (failed(simulation)) {
      return signalPassFailure();
    }
    std::vector<Launch> launches;
    if (!makeAttentionLaunches(kernel, **simulation, launches)) {
      launches.clear();
      std::string obstacle = makeLaunches(kernel, **simulation, launches);
      if (!obstacle.empty()) {
        return giveUp("its trip counts cannot be enumerated because of " +
                      obstacle);
      }
    }
    // With operations early and late.
    for (Launch &launch : launches) {
      if (failed(verify(**simulation, launch, "eager")) ||
          failed(verify(**simulation, std::move(launch), "late"))) {
        return signalPassFailure();
      }
    }
    mark("verified");
  }

private:
  void mark(const std::string &text) {
    getOperation()->setAttr("tlx.protocol",
                            StringAttr::get(&getContext(), text));
  }
  void giveUp(const std::string &why) {
    mark("not verified: " + why);
    emitRemark(getOperation().getLoc())
        << "the protocol has not been verified: " << why;
  }
};
} // namespace
