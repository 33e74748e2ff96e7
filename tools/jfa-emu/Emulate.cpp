//===- Emulate.cpp - Runs a kernel and compares what it leaves -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulate.h"

#include "GradientReference.h"
#include "Npy.h"
#include "Reference.h"

#include "jfa/Emu/Launch.h"
#include "jfa/Emu/Manifest.h"
#include "jfa/Emu/Trace.h"
#include "jfa/Sim/Schedule.h"

#include "llvm/Support/Process.h"

#include <cstdio>

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static int fail(const Options &options, const std::string &message) {
  std::fprintf(stderr, "%s: error: %s\n", options.tool, message.c_str());
  return kBadUsage;
}

namespace {
/// All that a run changes.
struct State {
  std::vector<sim::GlobalArray> arrays;
  std::vector<sim::Value> values;
  sim::Attention attention;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static std::string bindAttention(const Options &options, Manifest &manifest,
                                 State &state) {
  sim::AttentionProblem problem = options.attention.makeProblem();
  problem.causal |= manifest.isCausal;
  problem.deterministic = manifest.isDeterministic;
  if (manifest.hasFragments) {
    problem.pieceOrder = sim::PieceOrder::Fragments;
  }
  problem.headDim = manifest.headDim;
  problem.rotary = manifest.rotary;
  problem.rotatesInputs = manifest.rotatesInputs;
  problem.seed = options.seed;
  problem.maxCtas =
      options.grid.empty() ? 3 * manifest.shape.cluster[0] : options.grid[0];
  std::string error = state.attention.bind(problem, makeProgram(manifest),
                                           state.arrays, state.values);
  manifest.shape.grid = {state.attention.getCtas(), 1, 1};
  if (error.empty() && !state.attention.isForward()) {
    sim::fillBackwardInputs(state.attention, state.arrays);
  }
  return error;
}

static std::string bindAny(const Options &options, const Manifest &manifest,
                           State &state) {
  for (const ManifestArgument &argument : manifest.arguments) {
    const std::string *text = nullptr;
    for (const auto &given : options.arguments) {
      text = given.first == argument.name ? &given.second : text;
    }
    if (!text) {
      return "expected '--arg " + argument.name + "=...'";
    }
    sim::Value &value = state.values.emplace_back();
    if (argument.kind == sim::ArgumentKind::Scalar) {
      std::string error =
          sim::parseScalar(*text, argument.name, argument.element, value);
      if (!error.empty()) {
        return error;
      }
      continue;
    }
    sim::ElementKind element = argument.element;
    auto [type, rest] = llvm::StringRef(*text).split(':');
    bool hasType = parseElement(type, element);
    value.integer = int64_t(state.arrays.size());
    std::string error =
        sim::makeArray(hasType ? rest.str() : *text, options.seed, state.arrays,
                       argument.name, element);
    if (!error.empty()) {
      return error;
    }
  }
  return "";
}

static void setShape(const Options &options, const Code &code,
                     LaunchShape &shape) {
  for (size_t i = 0; i < options.grid.size() && !options.attention.lengths;
       ++i) {
    shape.grid[i] = uint32_t(options.grid[i]);
  }
  for (size_t i = 0; i < options.block.size(); ++i) {
    shape.block[i] = uint32_t(options.block[i]);
  }
  if (options.sharedBytes) {
    shape.dynamicShared = uint64_t(*options.sharedBytes);
  }
  if (!shape.registersPerThread) {
    shape.registersPerThread = getLaunchRegisters(code, shape);
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static void showProgress(uint32_t cluster, uint32_t clusters) {
  if (llvm::sys::Process::StandardErrIsDisplayed()) {
    std::fprintf(stderr, "\r%u of %u clusters%s", cluster + 1, clusters,
                 cluster + 1 == clusters ? "\n" : "");
  }
}

/// Runs the launch once; `state` becomes what it leaves.
static std::string runOnce(const Options &options, const Code &code,
                           const Manifest &manifest, State &state,
                           sim::Schedule &schedule, sim::Report &report,
                           uint64_t &steps, Trace *trace = nullptr) {
  GlobalMemory global;
  std::vector<uint8_t> parameters(code.function->getParameterBytes(), 0);
  std::string error =
      bindArguments(manifest, state.arrays, state.values, global, parameters);
  if (!error.empty()) {
    return error;
  }
  MachineOptions machine;
  machine.numerics =
      options.numerics == "exact" ? Numerics::Exact : Numerics::Fast;
  machine.fences =
      options.fences == "strict" ? Fences::Strict : Fences::Hardware;
  machine.residentClusters = size_t(options.resident);
  machine.trace = trace;
  if (options.maxInstructions) {
    machine.maxInstructions = uint64_t(*options.maxInstructions);
  }
  steps = launch(code, manifest.shape, parameters, global, machine, schedule,
                 report, showProgress);
  return "";
}

static void printArray(sim::GlobalArray &array) {
  std::string text = array.name + ":";
  for (int64_t i = 0; i < array.getNumElements(); ++i) {
    if (sim::isReal(array.kind)) {
      char number[32];
      std::snprintf(number, sizeof(number), " %.9g",
                    double(sim::decodeReal(array.kind, array.at(i))));
      text += number;
    } else {
      text += " " + std::to_string(sim::decodeInteger(array.kind, array.at(i)));
    }
  }
  std::printf("%s\n", text.c_str());
}

static std::string writeOutputs(const Options &options, State &state) {
  auto find = [&](const std::string &name) -> sim::GlobalArray * {
    for (sim::GlobalArray &array : state.arrays) {
      if (array.name == name) {
        return &array;
      }
    }
    return nullptr;
  };
  for (const std::string &name : options.prints) {
    sim::GlobalArray *array = find(name);
    if (!array) {
      return "expected '--print' to name an array, but got '" + name + "'";
    }
    printArray(*array);
  }
  for (const auto &[name, path] : options.outputs) {
    sim::GlobalArray *array = find(name);
    if (!array) {
      return "expected '--out' to name an array, but got '" + name + "'";
    }
    if (std::string error = sim::writeArray(path, *array); !error.empty()) {
      return error;
    }
  }
  return "";
}

static int runAll(const Options &options, const Code &code, Manifest &manifest,
                  Trace *trace) {
  State initial;
  std::string error = options.attention.lengths
                          ? bindAttention(options, manifest, initial)
                          : bindAny(options, manifest, initial);
  setShape(options, code, manifest.shape);
  if (error.empty()) {
    error = checkLaunch(code, manifest.shape);
  }
  if (!error.empty()) {
    return fail(options, error);
  }
  State state;
  uint64_t steps = 0;
  if (llvm::StringRef(options.schedule).starts_with("pct")) {
    state = initial;
    sim::Report report;
    auto eager = sim::makeSchedule("eager", 0, error);
    error = runOnce(options, code, manifest, state, *eager, report, steps);
  }
  auto schedule = sim::makeSchedule(options.schedule, steps, error);
  if (!schedule) {
    return fail(options, "'--schedule': " + error);
  }
  do {
    state = initial;
    sim::Report report;
    error = runOnce(options, code, manifest, state, *schedule, report, steps,
                    trace);
    if (!error.empty()) {
      return fail(options, error);
    }
    if (!report.empty()) {
      for (const sim::Finding &finding : report.get()) {
        std::fputs(describe(finding, code, options.file).c_str(), stderr);
      }
      std::fprintf(stderr, "%s: violation under schedule %s\n", options.tool,
                   schedule->describe().c_str());
      return kViolation;
    }
  } while (schedule->next());
  std::printf("no violation under schedule %s\n", schedule->describe().c_str());
  if (error = writeOutputs(options, state); !error.empty()) {
    return fail(options, error);
  }
  if (!options.attention.lengths) {
    return kRight;
  }
  bool isForward = state.attention.isForward();
  bool isRight = isForward ? sim::checkAttention(state.attention, state.arrays)
                           : sim::checkBackward(state.attention, state.arrays,
                                                /*isWhole=*/false);
  return isRight ? kRight : kWrongValues;
}

//===----------------------------------------------------------------------===//
// What is run
//===----------------------------------------------------------------------===//

/// Says of each kernel, or of the one asked for, whether it can be executed.
static int decodeOnly(const Options &options, const Module &module) {
  int result = kRight;
  for (const Function &function : module.functions) {
    if (!options.kernel.empty() && function.name != options.kernel) {
      continue;
    }
    std::string error;
    std::unique_ptr<Code> code = decode(module, function, error);
    if (code) {
      std::printf("%s: %zu instructions\n", function.name.c_str(),
                  code->instructions.size());
    } else {
      result = fail(options, options.file + ": " + error);
    }
  }
  return result;
}

static int writeTrace(const Options &options, Trace &trace) {
  std::FILE *file = std::fopen(options.trace.c_str(), "w");
  if (!file) {
    return fail(options,
                "expected to write '" + options.trace + "', but could not");
  }
  std::fputs(trace.finish().c_str(), file);
  std::fclose(file);
  return kRight;
}

int emu::emulate(const Options &options, llvm::StringRef ptx,
                 llvm::StringRef manifestText) {
  std::string error;
  std::unique_ptr<Module> module = parseModule(ptx, error);
  if (!module) {
    return fail(options, options.file + ": " + error);
  }
  const Function *function = module->find(options.kernel);
  if (!function) {
    return fail(options, "expected a kernel '" + options.kernel + "' in '" +
                             options.file + "'");
  }
  if (options.parseOnly) {
    return decodeOnly(options, *module);
  }
  std::unique_ptr<Code> code = decode(*module, *function, error);
  if (!code) {
    return fail(options, options.file + ": " + error);
  }
  Manifest manifest = makeManifest(*code);
  if (!manifestText.empty()) {
    manifest.arguments.clear();
    error = parseManifest(manifestText, function->name, manifest);
    if (!error.empty()) {
      return fail(options, error);
    }
  }
  Trace trace;
  bool traces = !options.trace.empty();
  int result = runAll(options, *code, manifest, traces ? &trace : nullptr);
  if (traces && result != kBadUsage && writeTrace(options, trace) != kRight) {
    return kBadUsage;
  }
  return result;
}
