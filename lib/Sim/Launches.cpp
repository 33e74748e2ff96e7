//===- Launches.cpp - What kernels are verified with -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launches.h"

#include "jfa/Sim/Attention.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

/// Trip counts go this far past the number of stages of the deepest ring.
static constexpr int64_t kPastDeepest = 3;
/// Launches of a kernel at most.
static constexpr int64_t kMaxLaunches = 1000;
/// Clusters of a grid in which some may be cancelled: with three of them, one
/// can get none, one or two, in either order.
static constexpr int64_t kClusters = 3;

static int64_t getClusters(const Program &program) {
  return program.asksForClusters ? kClusters : 1;
}

static int64_t getDeepestRing(const Program &program) {
  int64_t deepest = 1;
  for (const BarrierArray &array : program.barriers) {
    deepest = std::max(deepest, array.count);
  }
  return deepest;
}

static int64_t getMaxTrips(const Program &program) {
  return getDeepestRing(program) + kPastDeepest;
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

namespace {
/// A sequence: the rows that tiles are made of, and those that a tile passes in
/// steps.
struct Extent {
  int64_t tileRows, stepRows;
};

/// Makes launches of an attention kernel other than block attention's.
class AttentionLaunches {
public:
  AttentionLaunches(tlx::KernelOp kernel, const Simulation &simulation,
                    AttentionPart part, std::vector<Launch> &launches);

  /// Every number of steps alone, then all of them in one cluster, up and down,
  /// and tiles of one step in a row, more than any ring of tiles has stages.
  bool addSteps();
  /// Tiles with rows for some of the replicas only, each before one with rows
  /// for all: replicas without rows may not run ahead.
  bool addPartialTiles();

private:
  /// The rows of so many steps, of which the last has all or one.
  int64_t getSteps(int64_t count, bool isLastFull = true) const;
  /// Adds a launch; false if the kernel has other arguments than attention.
  bool add(ArrayRef<Extent> sequences);

  tlx::KernelOp kernel;
  const Simulation &simulation;
  AttentionPart part;
  std::vector<Launch> &launches;
  /// Rows of a tile and of a step in a CTA.
  int64_t rowsPerTile, rowsPerStep;
  int64_t cluster;
  /// Without offsets all sequences are as long as the first, and shared queries
  /// are as many for each.
  bool mayTilesVary, mayStepsVary;
};
} // namespace

static int64_t getRows(const Simulation &simulation, const char *name) {
  const Argument *argument = simulation.findArgument(name);
  return argument && !argument->box.empty() ? argument->box[0] : 1;
}

/// The rows of a step. A CTA of a pair may copy a part of a block of keys or of
/// queries; it has the LSE of all of them. What comes before and after the
/// backward takes a step for each tile.
static int64_t getStepRows(const Simulation &simulation, AttentionPart part) {
  if (part == AttentionPart::Backward) {
    const Argument *lse = simulation.findArgument("lse_log2");
    return lse && !lse->box.empty() ? lse->box.back() : 1;
  }
  return getRows(simulation, part == AttentionPart::Forward        ? "v"
                             : part == AttentionPart::BackwardPre  ? "o"
                             : part == AttentionPart::BackwardPost ? "dq"
                                                                   : "k");
}

AttentionLaunches::AttentionLaunches(tlx::KernelOp kernel,
                                     const Simulation &simulation,
                                     AttentionPart part,
                                     std::vector<Launch> &launches)
    : kernel(kernel), simulation(simulation), part(part), launches(launches),
      rowsPerTile(
          getRows(simulation, part == AttentionPart::Backward ? "k" : "q")),
      rowsPerStep(getStepRows(simulation, part)),
      cluster(simulation.program.clusterSize) {
  bool isJagged = getFlag(kernel, "JAGGED", /*otherwise=*/true);
  bool isShared = getFlag(kernel, "BROADCAST_QUERY");
  bool areTilesQueries =
      part == AttentionPart::Forward || part == AttentionPart::BackwardQuery;
  mayTilesVary = isJagged && part != AttentionPart::BackwardQuery &&
                 !(areTilesQueries && isShared);
  mayStepsVary = isJagged && (areTilesQueries || !isShared);
}

int64_t AttentionLaunches::getSteps(int64_t count, bool isLastFull) const {
  return isLastFull || count == 0 ? count * rowsPerStep
                                  : (count - 1) * rowsPerStep + 1;
}

/// Adds a launch for a problem, without values, whose tiles keep their order.
static bool addLaunch(const Simulation &simulation, AttentionProblem problem,
                      std::vector<Launch> &launches) {
  problem.values = false;
  problem.balances = false;
  problem.clustersInOrder = getClusters(simulation.program);
  Launch &launch = launches.emplace_back();
  Attention attention;
  std::string error = attention.bind(problem, simulation.program, launch.arrays,
                                     launch.arguments);
  launch.ctas = attention.getCtas();
  return error.empty();
}

bool AttentionLaunches::add(ArrayRef<Extent> sequences) {
  AttentionProblem problem;
  problem.causal = getFlag(kernel, "CAUSAL");
  problem.broadcastQuery = getFlag(kernel, "BROADCAST_QUERY") ||
                           part == AttentionPart::BackwardQuery;
  problem.deterministic = getFlag(kernel, "DETERMINISTIC");
  if (getFlag(kernel, "COPIES")) {
    // Shared queries, with a sum of each of several CTAs.
    problem.deterministic = problem.broadcastQuery = true;
    problem.maxCtas = 3;
  }
  if (IntegerAttr dim = getParameter(kernel, "HEAD_DIM")) {
    problem.headDim = dim.getInt();
  }
  for (Extent sequence : sequences) {
    auto [queries, keys] = sequence;
    if (part != AttentionPart::Forward &&
        part != AttentionPart::BackwardQuery) {
      std::swap(queries, keys);
    }
    problem.qLengths.push_back(queries);
    problem.kLengths.push_back(keys);
  }
  return addLaunch(simulation, problem, launches);
}

bool AttentionLaunches::addSteps() {
  int64_t maxSteps = getMaxTrips(simulation.program);
  // A tile of the kernel for few queries is a run of steps. Of two items the
  // second has rows for one CTA of a cluster only.
  bool hasOneTile = part == AttentionPart::BackwardQuery;
  int64_t items = hasOneTile ? rowsPerTile : (cluster + 1) * rowsPerTile;
  int64_t item = hasOneTile ? rowsPerTile : cluster * rowsPerTile;
  SmallVector<Extent> chain;
  for (int64_t count = 0; count <= maxSteps; ++count) {
    SmallVector<Extent> alone(mayStepsVary ? 1 : 3, {items, getSteps(count)});
    if (!add(alone)) {
      return false;
    }
    chain.push_back({item, getSteps(count)});
  }
  if (!mayStepsVary) {
    return true;
  }
  for (int64_t count = maxSteps; count >= 0; --count) {
    chain.push_back({item, getSteps(count, /*isLastFull=*/false)});
  }
  size_t inRow = size_t(getDeepestRing(simulation.program)) + 2;
  SmallVector<Extent> shortest(inRow, {item, getSteps(1)});
  return add(chain) && add(shortest);
}

bool AttentionLaunches::addPartialTiles() {
  int64_t replicas = 1;
  for (const TaskProgram &task : simulation.program.tasks) {
    replicas = std::max(replicas, task.replicas);
  }
  // Enough for a replica that does not wait to be a whole ring ahead.
  int64_t count = std::max<int64_t>(2, getDeepestRing(simulation.program));
  int64_t item = cluster * rowsPerTile;
  SmallVector<Extent> sequences;
  for (int64_t with = 1; with < cluster * replicas; ++with) {
    int64_t rows = (with - 1) * rowsPerTile / replicas + 1;
    Extent part{rows, getSteps(count, /*isLastFull=*/false)};
    if (mayTilesVary) {
      sequences.append({part, {item, getSteps(count)}});
      continue;
    }
    if (this->part != AttentionPart::BackwardQuery) {
      part.tileRows += item;
    }
    if (!add({part, part})) {
      return false;
    }
  }
  return sequences.empty() || add(sequences);
}

/// A launch of block attention for sequences of these lengths.
static bool addBlockAttention(const Simulation &simulation,
                              ArrayRef<int64_t> lengths, int64_t heads,
                              int64_t maxCtas, std::vector<Launch> &launches) {
  AttentionProblem problem;
  problem.qLengths.assign(lengths.begin(), lengths.end());
  problem.kLengths = problem.qLengths;
  problem.heads = problem.kvHeads = heads;
  problem.maxCtas = maxCtas;
  return addLaunch(simulation, problem, launches);
}

/// Every number of blocks in one CTA, of one sequence and of as many; then
/// sequences of all kinds with several heads, shared by several CTAs. Nothing
/// is launched without a block.
static bool addBlockAttentionLaunches(const Simulation &simulation,
                                      std::vector<Launch> &launches) {
  int64_t rows = getRows(simulation, "q");
  for (int64_t count = 1; count <= getMaxTrips(simulation.program); ++count) {
    SmallVector<int64_t> apart(size_t(count), rows);
    if (!addBlockAttention(simulation, {count * rows}, 1, 1, launches) ||
        !addBlockAttention(simulation, apart, 1, 1, launches)) {
      return false;
    }
  }
  int64_t mixed[] = {1, 0, rows, rows + 1, 3 * rows, 0, 0, 2 * rows - 1};
  return addBlockAttention(simulation, mixed, 3, 2, launches);
}

bool sim::makeAttentionLaunches(tlx::KernelOp kernel,
                                const Simulation &simulation,
                                std::vector<Launch> &launches) {
  std::optional<AttentionPart> part = getAttentionPart(simulation.program);
  if (!part) {
    return false;
  }
  if (part == AttentionPart::BlockForward ||
      part == AttentionPart::BlockBackward) {
    return addBlockAttentionLaunches(simulation, launches);
  }
  AttentionLaunches attention(kernel, simulation, *part, launches);
  return attention.addSteps() && attention.addPartialTiles();
}

//===----------------------------------------------------------------------===//
// Any kernel
//===----------------------------------------------------------------------===//

SmallVector<StringRef> sim::getTripCounts(tlx::KernelOp kernel) {
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
  launch.ctas =
      simulation.program.clusterSize * getClusters(simulation.program);
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

std::string sim::makeTripCountLaunches(tlx::KernelOp kernel,
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
