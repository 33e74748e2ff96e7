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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

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
    // Of a block of keys a CTA of a pair may copy a part.
    problem.qLengths.push_back(tiles * getRows("q"));
    problem.kLengths.push_back(count * getRows("v"));
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

static SmallVector<StringRef> getTripCounts(tlx::KernelOp kernel) {
  SmallVector<StringRef> counts;
  if (auto names = kernel->getAttrOfType<ArrayAttr>(kTripCounts)) {
    for (auto name : names.getAsRange<StringAttr>()) {
      counts.push_back(name.getValue());
    }
  }
  return counts;
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

/// All combinations of the trip counts. Returns why there are none.
static std::string makeLaunches(tlx::KernelOp kernel,
                                const Simulation &simulation,
                                std::vector<Launch> &launches) {
  SmallVector<StringRef> counts = getTripCounts(kernel);
  int64_t base = getMaxTrips(simulation.program) + 1, total = 1;
  for (size_t i = 0; i < counts.size(); ++i) {
    total *= base;
    if (total > kMaxLaunches) {
      return std::to_string(base) + " values of each of " +
             std::to_string(counts.size()) + " trip counts are more than " +
             std::to_string(kMaxLaunches) + " launches";
    }
  }
  for (int64_t number = 0; number < total; ++number) {
    makeLaunch(simulation, counts, number, base, launches.emplace_back());
  }
  return "";
}

//===----------------------------------------------------------------------===//
// What launches do not show
//===----------------------------------------------------------------------===//

namespace {
/// An op that others notice and that depends on what no launch knows.
struct Unseen {
  /// How much of it launches show: not what can be any number; one of the ways
  /// that values of tiles decide on; or both, where that is all there is to
  /// see.
  enum Shown { Nothing, OneWay, BothWays };

  Operation *op;
  mlir::Value source;
  std::string what;
  Shown shown;
};
} // namespace

/// What the launches of a kernel do not know of a source, or nothing.
static std::string describe(mlir::Value source, tlx::KernelOp kernel,
                            bool isAttention, ArrayRef<StringRef> counts) {
  bool isInteger = source.getType().isIntOrIndex();
  if (auto argument = dyn_cast<BlockArgument>(source)) {
    StringRef name =
        cast<StringAttr>(kernel.getArgumentNames()[argument.getArgNumber()]);
    if (isInteger && (isAttention || llvm::is_contained(counts, name))) {
      return "";
    }
    std::string text = "the argument '" + name.str() + "'";
    return isInteger
               ? text + ", which '" + kTripCounts.str() + "' does not name"
               : text;
  }
  if (hasEffect<MemoryEffects::Read>(source.getDefiningOp())) {
    if (isInteger && isAttention) {
      return "";
    }
    return isInteger ? "integers in global memory" : "numbers in memory";
  }
  return "values of tiles";
}

/// Whether a branch does nothing but to access buffers: who is ordered after
/// whom is the same on both ways, so that a run of each shows all.
static bool isOnlyAccesses(Operation *branch) {
  WalkResult result = branch->walk([](Operation *op) {
    bool isAccess = isa<tlx::BufferAccessOpInterface>(op) &&
                    !isa<tlx::AsyncOpInterface>(op);
    return op->getNumRegions() > 0 || isAccess || isMemoryEffectFree(op)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

static Unseen::Shown getShown(Operation *op, mlir::Value source) {
  Operation *definition = source.getDefiningOp();
  if (!definition || hasEffect<MemoryEffects::Read>(definition) ||
      !source.getType().isInteger(1) || !isa<RegionBranchOpInterface>(op) ||
      isa<LoopLikeOpInterface>(op)) {
    return Unseen::Nothing;
  }
  return isOnlyAccesses(op) ? Unseen::BothWays : Unseen::OneWay;
}

/// The ops whose effect no launch alone shows in full; the least shown first.
static std::vector<Unseen> findUnseen(const Simulation &simulation,
                                      tlx::KernelOp kernel, bool isAttention) {
  SmallVector<StringRef> counts = getTripCounts(kernel);
  std::vector<Unseen> found;
  for (const Dependence &dependence : simulation.dependences) {
    for (mlir::Value source : dependence.sources) {
      std::string what = describe(source, kernel, isAttention, counts);
      if (what.empty()) {
        continue;
      }
      Unseen::Shown shown = getShown(dependence.op, source);
      auto place = llvm::find_if(
          found, [&](const Unseen &other) { return other.shown > shown; });
      found.insert(place, {dependence.op, source, std::move(what), shown});
    }
  }
  return found;
}

/// The kernel on the other way: where none of the `sources` holds.
static OwningOpRef<tlx::KernelOp> makeOtherWay(tlx::KernelOp kernel,
                                               ArrayRef<Unseen> unseen) {
  IRMapping mapping;
  OwningOpRef<tlx::KernelOp> other(cast<tlx::KernelOp>(kernel->clone(mapping)));
  OpBuilder builder(kernel.getContext());
  for (const Unseen &each : unseen) {
    mlir::Value source = mapping.lookup(each.source);
    builder.setInsertionPointAfterValue(source);
    auto never = arith::ConstantOp::create(builder, source.getLoc(),
                                           builder.getBoolAttr(false));
    source.replaceAllUsesWith(never);
  }
  return other;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Runs a launch under a schedule. Fails after diagnostics.
static LogicalResult verifyOne(const Simulation &simulation, Launch launch,
                               const char *schedule) {
  std::string error;
  Report report;
  run(simulation, launch, *makeSchedule(schedule, 0, error), report);
  if (!report.empty()) {
    emitFindings(simulation, report);
  }
  return success(report.empty());
}

/// With operations early and late.
static LogicalResult verifyAll(const Simulation &simulation,
                               ArrayRef<Launch> launches) {
  return success(llvm::all_of(launches, [&](const Launch &launch) {
    return succeeded(verifyOne(simulation, launch, "eager")) &&
           succeeded(verifyOne(simulation, launch, "late"));
  }));
}

/// Where values of tiles decide only on accesses: with none that hold.
static LogicalResult verifyOtherWay(tlx::KernelOp kernel,
                                    ArrayRef<Unseen> unseen,
                                    ArrayRef<Launch> launches) {
  OwningOpRef<tlx::KernelOp> other = makeOtherWay(kernel, unseen);
  auto simulation = buildSimulation(*other, /*values=*/false);
  return success(succeeded(simulation) &&
                 succeeded(verifyAll(**simulation, launches)));
}

namespace {
struct VerifyProtocolPass
    : public sim::impl::VerifyProtocolPassBase<VerifyProtocolPass> {
  using Base::Base;

  void runOnOperation() override {
    tlx::KernelOp kernel = getOperation();
    if (mode == Verification::Off) {
      return (void)settle(kNothing, kernel.getLoc(), "it was switched off");
    }
    auto simulation = buildSimulation(kernel, /*values=*/false);
    if (failed(simulation) || failed(verifyLaunches(**simulation))) {
      signalPassFailure();
    }
  }

private:
  /// How far a kernel has been verified, if not in full: for its manifest, and
  /// in a sentence.
  struct Extent {
    std::string mark, words;
  };
  const Extent kNothing{"not verified: ", "not been verified"};
  const Extent kPart{"partly verified: ", "been verified in part"};

  LogicalResult verifyLaunches(const Simulation &simulation) {
    tlx::KernelOp kernel = getOperation();
    std::vector<Launch> launches;
    bool isAttention = makeAttentionLaunches(kernel, simulation, launches);
    std::vector<Unseen> unseen = findUnseen(simulation, kernel, isAttention);
    if (!unseen.empty() && unseen[0].shown == Unseen::Nothing) {
      return settle(kNothing, unseen[0], "");
    }
    if (!isAttention) {
      launches.clear();
      std::string why = makeLaunches(kernel, simulation, launches);
      if (!why.empty()) {
        return settle(kNothing, kernel.getLoc(), why);
      }
    }
    if (failed(verifyAll(simulation, launches))) {
      return failure();
    }
    if (!unseen.empty() && unseen[0].shown == Unseen::OneWay) {
      return settle(kPart, unseen[0], ", of which one case was seen");
    }
    if (!unseen.empty() && failed(verifyOtherWay(kernel, unseen, launches))) {
      return failure();
    }
    mark("verified");
    return success();
  }

  void mark(const std::string &text) {
    getOperation()->setAttr("tlx.protocol",
                            StringAttr::get(&getContext(), text));
  }

  /// Says that the protocol has not been verified, or partly. Fails if it had
  /// to be.
  LogicalResult settle(const Extent &extent, Location location,
                       const std::string &why,
                       std::optional<Location> source = std::nullopt) {
    mark(extent.mark + why);
    bool isError = mode == Verification::Strict;
    InFlightDiagnostic diagnostic =
        isError ? mlir::emitError(location) : emitRemark(location);
    diagnostic << "the protocol has " << extent.words << ": " << why;
    if (source) {
      diagnostic.attachNote(*source) << "which comes from here";
    }
    return failure(isError);
  }
  LogicalResult settle(const Extent &extent, const Unseen &unseen,
                       const std::string &limit) {
    return settle(extent, unseen.op->getLoc(),
                  "it depends on " + unseen.what + limit,
                  unseen.source.getLoc());
  }
};
} // namespace
