//===- jfa-sim.cpp - Runs kernels on the CPU -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Specialises a kernel, places its buffers, inserts its fences, and runs it.
//
//===----------------------------------------------------------------------===//

#include "GradientReference.h"
#include "LoadedKernel.h"
#include "Npy.h"
#include "Reference.h"

#include "jfa/InitAll.h"
#include "jfa/Sim/Passes.h"
#include "jfa/Sim/Schedule.h"
#include "jfa/Sim/Sim.h"
#include "jfa/Sim/Trace.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

//===----------------------------------------------------------------------===//
// The arguments of a kernel
//===----------------------------------------------------------------------===//

static std::string bindAttention(const Options &options,
                                 const LoadedKernel &loaded, bool deterministic,
                                 Attention &attention, Launch &launch) {
  AttentionProblem problem = options.attention.makeProblem();
  problem.seed = options.seed;
  problem.maxCtas = options.grid.value_or(
      3 * int64_t(loaded.simulation->program.clusterSize));
  problem.values = !options.orderOnly;
  problem.headDim = loaded.headDim;
  problem.rotary = loaded.rotary;
  problem.rotatesInputs = loaded.rotatesInputs;
  problem.deterministic = deterministic;
  if (loaded.hasFragments) {
    problem.pieceOrder = PieceOrder::Transposed;
  }
  std::string error = attention.bind(problem, loaded.simulation->program,
                                     launch.arrays, launch.arguments);
  launch.ctas = attention.getCtas();
  return error;
}

static std::string bindAny(const Options &options, const Simulation &simulation,
                           Launch &launch) {
  for (const auto &[name, text] : options.arguments) {
    if (!simulation.findArgument(name)) {
      return "expected arguments of the kernel, but it has no '" + name + "'";
    }
  }
  for (const Argument &argument : simulation.program.arguments) {
    auto given = llvm::find_if(options.arguments, [&](const auto &entry) {
      return entry.first == argument.name;
    });
    if (given == options.arguments.end()) {
      return "expected '--arg " + argument.name + "=...'";
    }
    sim::Value &value = launch.arguments.emplace_back();
    std::string error;
    if (argument.kind == ArgumentKind::Scalar) {
      error =
          parseScalar(given->second, argument.name, argument.element, value);
    } else {
      value.integer = int64_t(launch.arrays.size());
      error = makeArray(given->second, options.seed, launch.arrays,
                        argument.name, argument.element);
    }
    if (!error.empty()) {
      return error;
    }
    if (argument.kind != ArgumentKind::Scalar) {
      GlobalArray &array = launch.arrays.back();
      array.isOutput = argument.isOutput;
      if (argument.kind == ArgumentKind::TensorMap &&
          array.shape.size() != argument.box.size()) {
        return "expected " + std::to_string(argument.box.size()) +
               " axes of '" + argument.name + "', but got " +
               std::to_string(array.shape.size());
      }
    }
  }
  int64_t size = simulation.program.clusterSize;
  launch.ctas = uint32_t(options.grid.value_or(size));
  if (launch.ctas % size != 0) {
    return "expected '--grid' to be a multiple of " + std::to_string(size) +
           ", since the kernel's clusters are of so many CTAs, but got " +
           std::to_string(launch.ctas);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

namespace {
/// Says how far a long run has come, where someone watches.
class Progress {
public:
  ~Progress() {
    if (isShown) {
      std::fputc('\n', stderr);
    }
  }
  void show(uint32_t cta, uint32_t ctas, uint64_t orders) {
    auto now = std::chrono::steady_clock::now();
    if (!isWatched || now - last < std::chrono::milliseconds(100)) {
      return;
    }
    last = now;
    isShown = true;
    std::fprintf(stderr, "\r%u of %u CTAs", cta + 1, ctas);
    if (orders > 0) {
      std::fprintf(stderr, ", after %" PRIu64 " orders", orders);
    }
  }

private:
  bool isWatched = llvm::sys::Process::StandardErrIsDisplayed();
  bool isShown = false;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};
} // namespace

/// Whether two runs have left the same in global memory.
static bool haveSameResults(const Launch &a, const Launch &b) {
  return llvm::equal(a.arrays, b.arrays,
                     [](const GlobalArray &x, const GlobalArray &y) {
                       return x.bytes == y.bytes;
                     });
}

/// Runs the launch under all orders of the schedule; `launch` becomes what the
/// last run has left. All of them have to give the same, unless they add up in
/// global memory, where the order decides on the rounding.
static int runAll(const Simulation &simulation, Launch &launch,
                  Schedule &schedule, Trace *trace) {
  const Launch initial = launch;
  std::optional<Launch> first;
  bool isOrdered = true;
  tlx::KernelOp kernel = simulation.kernel;
  kernel.walk([&](tlx::AsyncDescriptorReduceOp reduce) {
    isOrdered &= reduce.getOrdered();
  });
  Progress progress;
  uint64_t orders = 0;
  do {
    launch = initial;
    Report report;
    run(simulation, launch, schedule, report, trace,
        [&](uint32_t cta) { progress.show(cta, launch.ctas, orders); });
    ++orders;
    if (!report.empty()) {
      emitFindings(simulation, report);
      std::fprintf(stderr, "jfa-sim: protocol violated under schedule %s\n",
                   schedule.describe().c_str());
      return kViolation;
    }
    if (!first) {
      first = launch;
    } else if (isOrdered && !haveSameResults(*first, launch)) {
      std::fprintf(stderr,
                   "jfa-sim: schedule %s gives other values than the "
                   "first order\n",
                   schedule.describe().c_str());
      return kWrongValues;
    }
  } while (schedule.next());
  std::printf("no violation under schedule %s\n", schedule.describe().c_str());
  return kRight;
}

/// Runs tlx-verify-protocol on kernels that can be simulated.
static int verify(ModuleOp module, bool isStrict) {
  for (auto kernel : module.getOps<tlx::KernelOp>()) {
    if (failed(checkBudgets(kernel))) {
      return kViolation;
    }
    if (failed(buildSimulation(kernel, /*values=*/false))) {
      return kBadUsage;
    }
  }
  PassManager manager(module.getContext());
  VerifyProtocolPassOptions pass;
  pass.mode = isStrict ? Verification::Strict : Verification::On;
  manager.nest<tlx::KernelOp>().addPass(createVerifyProtocolPass(pass));
  return succeeded(manager.run(module)) ? kRight : kViolation;
}

static uint64_t countSteps(const Simulation &simulation, Launch launch) {
  std::string error;
  Report report;
  auto eager = makeSchedule("eager", 0, error);
  return run(simulation, launch, *eager, report).steps;
}

static std::string writeOutputs(const Options &options, Launch &launch) {
  for (const auto &output : options.outputs) {
    const std::string &name = output.first, &path = output.second;
    auto array = llvm::find_if(launch.arrays, [&](const GlobalArray &entry) {
      return entry.name == name;
    });
    if (array == launch.arrays.end()) {
      return "expected '--out' to name an array of the kernel, but got '" +
             name + "'";
    }
    if (std::string error = writeArray(path, *array); !error.empty()) {
      return error;
    }
  }
  return "";
}

/// Binds a kernel's arguments; of the backward's, what the kernel before has
/// left in `earlier`, if there was one.
static std::string bindArguments(const Options &options,
                                 const LoadedKernel &loaded, bool deterministic,
                                 std::vector<GlobalArray> &earlier,
                                 Attention &attention, Launch &launch) {
  launch.strictProxy = options.strictProxy;
  launch.maxInstructions = options.maxInstructions;
  if (!options.attention.lengths) {
    return bindAny(options, *loaded.simulation, launch);
  }
  std::string error =
      bindAttention(options, loaded, deterministic, attention, launch);
  bool isBackward = !attention.isForward();
  if (!error.empty() || !isBackward || options.orderOnly) {
    return error;
  }
  if (earlier.empty()) {
    fillBackwardInputs(attention, launch.arrays);
    return "";
  }
  if (earlier.size() != launch.arrays.size() ||
      earlier[Attention::kDQ].shape != launch.arrays[Attention::kDQ].shape) {
    return "expected the backward's kernels to have the same 'HEAD_DIM'";
  }
  for (size_t i = Attention::kDQ; i < launch.arrays.size(); ++i) {
    launch.arrays[i].bytes = std::move(earlier[i].bytes);
    launch.arrays[i].written = std::move(earlier[i].written);
    launch.arrays[i].isComplete = false;
  }
  return "";
}

/// Runs one kernel; `launch` becomes what it leaves.
static int simulate(const Options &options, const LoadedKernel &loaded,
                    const Attention &attention, Launch &launch, bool traces) {
  const Simulation &simulation = *loaded.simulation;
  std::string error;
  bool needsLength = StringRef(options.schedule).starts_with("pct");
  auto schedule =
      makeSchedule(options.schedule,
                   needsLength ? countSteps(simulation, launch) : 0, error);
  if (!schedule) {
    return fail("'--schedule': " + error);
  }
  Trace trace;
  int code = runAll(simulation, launch, *schedule, traces ? &trace : nullptr);
  if (!traces) {
    return code;
  }
  std::FILE *file = std::fopen(options.trace.c_str(), "w");
  if (!file) {
    return fail("expected to write '" + options.trace + "', but could not");
  }
  std::fputs(trace.finish().c_str(), file);
  std::fclose(file);
  return code;
}

/// Runs the kernels one after the other, and checks what the last leaves.
static int simulateAll(const Options &options,
                       const std::vector<LoadedKernel> &kernels, size_t main) {
  Launch launch;
  Attention attention;
  bool deterministic = kernels[main].deterministic;
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::vector<GlobalArray> earlier = std::move(launch.arrays);
    launch = {};
    attention = {};
    std::string error = bindArguments(options, kernels[i], deterministic,
                                      earlier, attention, launch);
    if (!error.empty()) {
      return fail(error);
    }
    bool traces = i == main && !options.trace.empty();
    int code = simulate(options, kernels[i], attention, launch, traces);
    if (code != kRight) {
      return code;
    }
  }
  if (options.orderOnly) {
    return kRight;
  }
  std::string error = writeOutputs(options, launch);
  if (!error.empty()) {
    return fail(error);
  }
  if (!options.attention.lengths) {
    return kRight;
  }
  bool isRight =
      attention.isForward()
          ? checkAttention(attention, launch.arrays)
          : checkBackward(attention, launch.arrays, kernels.size() > 1);
  return isRight ? kRight : kWrongValues;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Options options;
  if (std::string error = parseOptions(argc, argv, options); !error.empty()) {
    return fail(error);
  }
  if (options.help) {
    std::fputs(getHelp().c_str(), stdout);
    return kRight;
  }
  DialectRegistry registry;
  mlir::jfa::registerAllDialects(registry);
  MLIRContext context(registry);
  std::vector<LoadedKernel> kernels;
  size_t main = 0;
  for (const std::string *each :
       {&options.preFile, &options.file, &options.postFile}) {
    const std::string &file = *each;
    if (file.empty()) {
      continue;
    }
    if (each == &options.file) {
      main = kernels.size();
    }
    LoadedKernel &loaded = kernels.emplace_back();
    if (failed(load(options, file, context, loaded))) {
      return kBadUsage;
    }
    if (options.verify) {
      return verify(*loaded.module, options.strictVerify);
    }
    if (int code = build(options, file, loaded); code != kRight) {
      return code;
    }
  }
  return simulateAll(options, kernels, main);
}
