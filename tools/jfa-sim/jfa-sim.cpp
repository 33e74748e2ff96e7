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
#include "Npy.h"
#include "Options.h"
#include "Reference.h"

#include "jfa/InitAll.h"
#include "jfa/Pipelines/Pipelines.h"
#include "jfa/Sim/Passes.h"
#include "jfa/Sim/Schedule.h"
#include "jfa/Sim/Sim.h"
#include "jfa/Sim/Trace.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SourceMgr.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

enum ExitCode { kRight = 0, kWrongValues = 1, kViolation = 2, kBadUsage = 3 };

static int fail(const std::string &message) {
  std::fprintf(stderr, "jfa-sim: error: %s\n", message.c_str());
  return kBadUsage;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Keeps what the source calls values, for messages: it is the text before an
/// op, which has its location.
static void nameOps(ModuleOp module, llvm::SourceMgr &sources) {
  if (sources.getNumBuffers() == 0) {
    return;
  }
  StringRef text =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  module.walk([&](Operation *op) {
    auto location = dyn_cast<FileLineColLoc>(op->getLoc());
    if (!location || op->getNumResults() != 1 || location.getLine() == 0 ||
        location.getLine() > lines.size()) {
      return;
    }
    StringRef line = lines[location.getLine() - 1];
    StringRef before = line.take_front(location.getColumn() - 1).trim();
    if (before.consume_back("=") && before.trim().starts_with("%")) {
      StringRef name = before.trim().drop_front();
      op->setLoc(
          NameLoc::get(StringAttr::get(op->getContext(), name), location));
    }
  });
}

namespace {
/// A kernel that is ready to run, with the sources that messages quote.
struct Loaded {
  std::unique_ptr<llvm::SourceMgr> sources;
  std::unique_ptr<SourceMgrDiagnosticHandler> handler;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Simulation> simulation;
  /// The parameter HEAD_DIM, or 0.
  int64_t headDim = 0, rotary = 0;
  bool rotatesInputs = false;
  /// Whether sums of dq have an order, by DETERMINISTIC or COPIES.
  bool deterministic = false;
  /// Whether sums of dq lie as threads hold them.
  bool hasFragments = false;
};
} // namespace

static bool declares(ModuleOp module, StringRef name) {
  return module
      .walk([&](tlx::ParamOp param) {
        return param.getName() == name ? WalkResult::interrupt()
                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The parameters to bind. Those that come from other options, or with other
/// kernels, are bound where there are such.
static NamedTexts getBindings(ModuleOp module, const Options &options,
                              const std::string &file) {
  NamedTexts bindings;
  for (const auto &binding : options.bindings) {
    if (file == options.file || declares(module, binding.first)) {
      bindings.push_back(binding);
    }
  }
  if (options.attention.causal && declares(module, "CAUSAL")) {
    bindings.emplace_back("CAUSAL", "true");
  }
  if (!options.attention.broadcastQuery) {
    return bindings;
  }
  if (declares(module, "BROADCAST_QUERY")) {
    bindings.emplace_back("BROADCAST_QUERY", "true");
  } else if (file == options.postFile) {
    // To this kernel shared queries are one sequence.
    bindings.emplace_back("JAGGED", "false");
    if (llvm::is_contained(options.bindings,
                           NamedTexts::value_type("DETERMINISTIC", "true"))) {
      bindings.emplace_back("COPIES", "true");
    }
  }
  return bindings;
}

static LogicalResult prepare(ModuleOp module, const Options &options,
                             const std::string &file) {
  PassManager manager(module.getContext());
  PipelineOptions pipeline;
  NamedTexts bindings = getBindings(module, options, file);
  pipeline.bindings.assign(bindings.begin(), bindings.end());
  buildSpecializePipeline(manager, pipeline);
  OpPassManager &kernels = manager.nest<tlx::KernelOp>();
  kernels.addPass(tlx::createAllocateMemoryPass());
  if (options.insertFences) {
    kernels.addPass(tlx::createInsertFencesPass());
  }
  return manager.run(module);
}

static tlx::KernelOp findKernel(ModuleOp module, const std::string &name,
                                const std::string &file, std::string &error) {
  SmallVector<tlx::KernelOp> kernels;
  module.walk([&](tlx::KernelOp kernel) {
    if (name.empty() || kernel.getSymName() == name) {
      kernels.push_back(kernel);
    }
  });
  if (kernels.size() == 1) {
    return kernels.front();
  }
  error = kernels.empty()
              ? "expected a kernel" + (name.empty() ? "" : " '" + name + "'") +
                    " in '" + file + "', but it has none"
              : "expected '--kernel', because '" + file + "' has " +
                    std::to_string(kernels.size()) + " kernels";
  return {};
}

/// Builds the simulation of a module's kernel.
static int build(const Options &options, const std::string &file,
                 Loaded &loaded) {
  std::string error;
  tlx::KernelOp kernel = findKernel(
      *loaded.module, file == options.file ? options.kernel : "", file, error);
  if (!kernel) {
    return fail(error);
  }
  if (failed(checkBudgets(kernel))) {
    return kViolation;
  }
  auto simulation = buildSimulation(kernel, !options.orderOnly);
  if (failed(simulation)) {
    return kBadUsage;
  }
  loaded.simulation = std::move(*simulation);
  std::optional<DictionaryAttr> parameters = kernel.getParameters();
  if (auto dim = dyn_cast_or_null<IntegerAttr>(
          parameters ? parameters->get("HEAD_DIM") : Attribute())) {
    loaded.headDim = dim.getInt();
  }
  if (auto rotary = dyn_cast_or_null<IntegerAttr>(
          parameters ? parameters->get("ROTARY") : Attribute())) {
    loaded.rotary = rotary.getInt();
  }
  auto getFlag = [&](StringRef name) {
    auto flag = dyn_cast_or_null<BoolAttr>(parameters ? parameters->get(name)
                                                      : Attribute());
    return flag && flag.getValue();
  };
  loaded.rotatesInputs = getFlag("ROTATE_INPUTS");
  loaded.deterministic = getFlag("DETERMINISTIC") || getFlag("COPIES");
  loaded.hasFragments = getFlag("FRAGMENTS");
  auto part = getAttentionPart(loaded.simulation->program);
  bool hasMask =
      part && (*part == AttentionPart::Forward || isBackwardMain(*part));
  if (options.attention.causal && hasMask &&
      !(parameters && parameters->get("CAUSAL"))) {
    return fail("expected a kernel with a parameter 'CAUSAL', because "
                "'--causal' was given");
  }
  return kRight;
}

//===----------------------------------------------------------------------===//
// Its arguments
//===----------------------------------------------------------------------===//

static std::string bindAttention(const Options &options, const Loaded &loaded,
                                 bool deterministic, Attention &attention,
                                 Launch &launch) {
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
static std::string bindArguments(const Options &options, const Loaded &loaded,
                                 bool deterministic,
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
static int simulate(const Options &options, const Loaded &loaded,
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
                       const std::vector<Loaded> &kernels, size_t main) {
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
  std::vector<Loaded> kernels;
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
    Loaded &loaded = kernels.emplace_back();
    loaded.sources = std::make_unique<llvm::SourceMgr>();
    loaded.handler =
        std::make_unique<SourceMgrDiagnosticHandler>(*loaded.sources, &context);
    loaded.module = parseSourceFile<ModuleOp>(file, *loaded.sources, &context);
    if (loaded.module) {
      nameOps(*loaded.module, *loaded.sources);
    }
    if (!loaded.module || failed(prepare(*loaded.module, options, file))) {
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
