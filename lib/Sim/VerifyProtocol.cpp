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

static bool getFlag(tlx::KernelOp kernel, StringRef name) {
  std::optional<DictionaryAttr> parameters = kernel.getParameters();
  auto value = parameters ? parameters->get(name) : Attribute();
  auto flag = dyn_cast_or_null<IntegerAttr>(value);
  return flag && !flag.getValue().isZero();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Makes a launch for sequences of these numbers of blocks of keys. False if
/// the kernel has other arguments than attention.
static bool makeAttention(tlx::KernelOp kernel, const Simulation &simulation,
                          ArrayRef<int64_t> blocks, int64_t tilesPerSequence,
                          Launch &launch) {
  const Argument *q = simulation.findArgument("q");
  const Argument *k = simulation.findArgument("k");
  if (!q || !k || q->box.empty() || k->box.empty()) {
    return false;
  }
  AttentionProblem problem;
  problem.values = false;
  problem.balances = false;
  problem.causal = getFlag(kernel, "CAUSAL");
  problem.broadcastQuery = getFlag(kernel, "BROADCAST_QUERY");
  for (int64_t count : blocks) {
    problem.qLengths.push_back(tilesPerSequence * q->box[0]);
    problem.kLengths.push_back(count * k->box[0]);
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

/// Every number of blocks alone, then all of them in one CTA, up and down.
static bool makeAttentionLaunches(tlx::KernelOp kernel,
                                  const Simulation &simulation,
                                  std::vector<Launch> &launches) {
  if (simulation.findArgument("block_starts")) {
    const Argument *q = simulation.findArgument("q");
    return q && !q->box.empty() &&
           makeBlockAttentionLaunches(simulation, launches);
  }
  int64_t maxBlocks = getMaxTrips(simulation.program);
  // Without offsets all sequences are as long as the first.
  auto jagged =
      kernel.getParameters()
          ? dyn_cast_or_null<IntegerAttr>(kernel.getParameters()->get("JAGGED"))
          : IntegerAttr();
  bool isJagged = !jagged || !jagged.getValue().isZero();
  SmallVector<int64_t> chain;
  for (int64_t count = 0; count <= maxBlocks; ++count) {
    SmallVector<int64_t> alone(isJagged ? 1 : 3, count);
    if (!makeAttention(kernel, simulation, alone, 2, launches.emplace_back())) {
      return false;
    }
    chain.push_back(count);
  }
  if (!isJagged) {
    return true;
  }
  for (int64_t count = maxBlocks; count >= 0; --count) {
    chain.push_back(count);
  }
  return makeAttention(kernel, simulation, chain, 1, launches.emplace_back());
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
