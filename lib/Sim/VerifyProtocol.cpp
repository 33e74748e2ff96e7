//===- VerifyProtocol.cpp - Check kernels by running them -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the launches that a kernel is verified with, and says what they leave
// open.
//
//===----------------------------------------------------------------------===//

#include "Launches.h"

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

/// Instructions of a launch at most: past that a kernel is taken for endless,
/// and the compiler does not wait for it.
static constexpr uint64_t kMaxInstructionsOfLaunch = uint64_t(1) << 22;
/// Sequences of answers to requests for clusters at most.
static constexpr int64_t kMaxAnswers = 1000;

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

/// What comes of running launches.
enum class Outcome { Right, Wrong, TooLong, TooManyAnswers };

/// Runs a launch once. Emits what is wrong.
static Outcome runOnce(const Simulation &simulation, Launch launch,
                       Schedule &schedule) {
  Report report;
  launch.maxInstructions = kMaxInstructionsOfLaunch;
  run(simulation, launch, schedule, report);
  bool isTooLong = llvm::any_of(report.get(), [](const Finding &finding) {
    return finding.fault == Fault::Endless;
  });
  if (isTooLong) {
    return Outcome::TooLong;
  }
  emitFindings(simulation, report);
  return report.empty() ? Outcome::Right : Outcome::Wrong;
}

/// Runs a launch under a schedule, and under every sequence of answers if it
/// asks for clusters.
static Outcome verifyOne(const Simulation &simulation, const Launch &launch,
                         const char *name) {
  std::string error;
  auto schedule = tryAllAnswers(makeSchedule(name, 0, error));
  for (int64_t i = 0; i < kMaxAnswers; ++i) {
    Outcome outcome = runOnce(simulation, launch, *schedule);
    if (outcome != Outcome::Right || !schedule->next()) {
      return outcome;
    }
  }
  return Outcome::TooManyAnswers;
}

/// With operations early and late.
static Outcome verifyAll(const Simulation &simulation,
                         ArrayRef<Launch> launches) {
  for (const Launch &launch : launches) {
    for (const char *schedule : {"eager", "late"}) {
      Outcome outcome = verifyOne(simulation, launch, schedule);
      if (outcome != Outcome::Right) {
        return outcome;
      }
    }
  }
  return Outcome::Right;
}

/// Where values of tiles decide only on accesses: with none that hold.
static Outcome verifyOtherWay(tlx::KernelOp kernel, ArrayRef<Unseen> unseen,
                              ArrayRef<Launch> launches) {
  OwningOpRef<tlx::KernelOp> other = makeOtherWay(kernel, unseen);
  auto simulation = buildSimulation(*other, /*values=*/false);
  return failed(simulation) ? Outcome::Wrong
                            : verifyAll(**simulation, launches);
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
      std::string why = makeTripCountLaunches(kernel, simulation, launches);
      if (!why.empty()) {
        return settle(kNothing, kernel.getLoc(), why);
      }
    }
    Outcome outcome = verifyAll(simulation, launches);
    bool isOneWay = !unseen.empty() && unseen[0].shown == Unseen::OneWay;
    if (outcome == Outcome::Right && isOneWay) {
      return settle(kPart, unseen[0], ", of which one case was seen");
    }
    if (outcome == Outcome::Right && !unseen.empty()) {
      outcome = verifyOtherWay(kernel, unseen, launches);
    }
    return conclude(outcome);
  }

  /// Of launches that show all there is to see.
  LogicalResult conclude(Outcome outcome) {
    if (outcome == Outcome::TooLong) {
      return settle(kNothing, getOperation().getLoc(),
                    "one of its launches takes more than " +
                        std::to_string(kMaxInstructionsOfLaunch) +
                        " instructions");
    }
    if (outcome == Outcome::TooManyAnswers) {
      return settle(kPart, getOperation().getLoc(),
                    "its requests for clusters have more than " +
                        std::to_string(kMaxAnswers) +
                        " sequences of answers, of which so many were tried");
    }
    if (outcome == Outcome::Right) {
      mark("verified");
    }
    return success(outcome == Outcome::Right);
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
