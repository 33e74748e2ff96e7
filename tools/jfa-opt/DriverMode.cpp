//===- DriverMode.cpp - The compiler driver of jfa-opt ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a source, has it compiled and writes the results, with mlir-opt's
// options for passes, timing, remarks and diagnostics. It registers only what
// a compilation can meet, because registering all of MLIR takes longer than
// compiling a kernel.
//
//===----------------------------------------------------------------------===//

#include "DriverMode.h"
#include "DriverOptions.h"
#include "Emulate.h"
#include "Heap.h"

#include "jfa/InitAll.h"
#include "jfa/Target/Driver/Output.h"

#include "mlir/Debug/CLOptionsSetup.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::jfa;

void mlir::jfa::registerDriverOptions() { (void)DriverOptions::get(); }

bool mlir::jfa::isDriverInvocation(int argc, char **argv) {
  static constexpr StringLiteral names[] = {"arch",
                                            "D",
                                            "specialize",
                                            "emit",
                                            "list-params",
                                            "manifest",
                                            "ptxas",
                                            "ptxas-timeout",
                                            "ptx-version",
                                            "opt-level",
                                            "lineinfo",
                                            "allow-spills",
                                            "allow-performance-loss",
                                            "emulate"};
  for (int i = 1; i < argc; ++i) {
    StringRef argument = argv[i];
    if (argument == "--") {
      return false;
    }
    if (!argument.consume_front("-")) {
      continue;
    }
    // -DNAME=VALUE; no option of LLVM's or MLIR's begins so.
    bool isDefine = argument.starts_with("D");
    argument.consume_front("-");
    if (isDefine || llvm::is_contained(names, argument.split('=').first)) {
      return true;
    }
  }
  return false;
}

static bool isGiven(StringRef option) {
  auto found = llvm::cl::getRegisteredOptions().find(option);
  return found != llvm::cl::getRegisteredOptions().end() &&
         found->second->getNumOccurrences() > 0;
}

/// The exit code of a compilation that fails. With --emulate 1 means wrong
/// values.
static int getFailure() {
  return DriverOptions::get().emulate ? int(emu::kBadUsage) : 1;
}

static int fail(const Twine &message) {
  llvm::WithColor::error(llvm::errs(), "jfa-opt") << message << "\n";
  return getFailure();
}

static LogicalResult enableRemarks(MLIRContext &context,
                                   const MlirOptMainConfig &config) {
  if (!config.shouldEmitRemarks()) {
    return success();
  }
  auto filter = [](std::string text) {
    return text.empty() ? std::optional<std::string>() : text;
  };
  remark::RemarkCategories categories{filter(config.getRemarksAllFilter()),
                                      filter(config.getRemarksPassedFilter()),
                                      filter(config.getRemarksMissedFilter()),
                                      filter(config.getRemarksAnalyseFilter()),
                                      filter(config.getRemarksFailedFilter())};
  std::unique_ptr<remark::detail::RemarkEmittingPolicyBase> policy;
  if (config.getRemarkPolicy() == RemarkPolicy::REMARK_POLICY_FINAL) {
    policy = std::make_unique<remark::RemarkEmittingPolicyFinal>();
  } else {
    policy = std::make_unique<remark::RemarkEmittingPolicyAll>();
  }
  RemarkFormat format = config.getRemarkFormat();
  if (format == RemarkFormat::REMARK_FORMAT_STDOUT) {
    return remark::enableOptimizationRemarks(context, nullptr,
                                             std::move(policy), categories,
                                             /*printAsEmitRemarks=*/true);
  }
  bool yaml = format == RemarkFormat::REMARK_FORMAT_YAML;
  std::string file = config.getRemarksOutputFile();
  if (file.empty()) {
    file = yaml ? "mlir-remarks.yaml" : "mlir-remarks.bitstream";
  }
  return remark::enableOptimizationRemarksWithLLVMStreamer(
      context, file,
      yaml ? llvm::remarks::Format::YAML : llvm::remarks::Format::Bitstream,
      std::move(policy), categories);
}

namespace {
/// Where the results go.
struct Outputs {
  std::string path;
  /// Empty if no manifest is to be written.
  std::string manifest;
};
} // namespace

/// Decides on the manifest's name and checks both names before the work starts.
static std::string prepareOutputs(StringRef input, StringRef path,
                                  const DriverOptions &driver, EmitStage stage,
                                  Outputs &outputs) {
  outputs.path = path.str();
  outputs.manifest = driver.manifest;
  if (driver.manifest.getNumOccurrences() && driver.manifest.empty()) {
    return "--manifest: expected the name of a file, but got an empty one";
  }
  if (outputs.manifest.empty() && stage >= EmitStage::Cubin && path != "-") {
    SmallString<128> beside(path);
    llvm::sys::path::replace_extension(beside, "json");
    // What is no file has nothing beside it either.
    if (!llvm::sys::fs::exists(path) || llvm::sys::fs::is_regular_file(path)) {
      outputs.manifest = beside.str().str();
    }
  }
  for (StringRef name :
       {StringRef(outputs.path), StringRef(outputs.manifest)}) {
    if (name.empty() && !outputs.path.empty()) {
      continue;
    }
    if (std::string message = checkOutput(name); !message.empty()) {
      return message;
    }
    if (name != "-" && input != "-" && llvm::sys::fs::equivalent(name, input)) {
      return ("expected an output other than the input '" + input + "'").str();
    }
  }
  if (outputs.path == outputs.manifest) {
    return "expected different files for the output and the manifest, but got "
           "'" +
           outputs.path + "' for both";
  }
  return {};
}

/// Parses the source and runs `action` on it, with diagnostics as the options
/// ask for.
static LogicalResult
withSource(std::unique_ptr<llvm::MemoryBuffer> buffer, MLIRContext &context,
           const MlirOptMainConfig &config, TimingScope &timing,
           llvm::function_ref<LogicalResult(ModuleOp)> action) {
  auto sourceMgr = std::make_shared<llvm::SourceMgr>();
  sourceMgr->AddNewSourceBuffer(std::move(buffer), SMLoc());
  auto run = [&]() -> LogicalResult {
    TimingScope parsing = timing.nest("Parser");
    OwningOpRef<ModuleOp> source =
        parseSource(sourceMgr, {&context, config.shouldVerifyOnParsing()});
    parsing.stop();
    return source ? action(*source) : failure();
  };
  if (!config.shouldVerifyDiagnostics()) {
    SourceMgrDiagnosticHandler handler(*sourceMgr, &context);
    return run();
  }
  SourceMgrDiagnosticVerifierHandler handler(*sourceMgr, &context,
                                             config.verifyDiagnosticsLevel());
  // Only the diagnostics matter, as in mlir-opt.
  (void)run();
  return handler.verify();
}

/// The driver compiles by a fixed pipeline; a pass on the command line would
/// otherwise be ignored in silence.
static bool hasPasses(MLIRContext &context, const MlirOptMainConfig &config) {
  PassManager pm(&context);
  return failed(config.setupPassPipeline(pm)) || pm.size() != 0;
}

static LogicalResult compileAndWrite(ModuleOp source, CompileOptions &options,
                                     const Outputs &outputs,
                                     CompileResult &result) {
  if (failed(compile(source, options, result))) {
    return failure();
  }
  if (DriverOptions::get().emulate && outputs.path == "-") {
    return success();
  }
  SmallVector<OutputFile> files = {{outputs.path, result.output}};
  if (!outputs.manifest.empty()) {
    files.push_back({outputs.manifest, result.manifest});
  }
  if (std::string message = writeOutputs(files); !message.empty()) {
    return emitError(UnknownLoc::get(source.getContext())) << message;
  }
  return success();
}

/// Reads the options of jfa-emu.
static std::string parseEmulation(ArrayRef<char *> arguments, StringRef ptx,
                                  emu::Options &options) {
  options.tool = "jfa-opt";
  options.file = ptx == "-" ? "<PTX>" : ptx.str();
  std::string message = emu::parseOptions(
      int(arguments.size()), const_cast<char **>(arguments.data()), options);
  if (message.empty() && !options.manifest.empty()) {
    message = "expected no '--manifest' after '--', because the compiled "
              "kernel has one";
  }
  return message;
}

static int compileFile(StringRef input, StringRef output,
                       ArrayRef<char *> emulation, DialectRegistry &registry) {
  const DriverOptions &driver = DriverOptions::get();
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  CompileOptions options;
  Outputs outputs;
  emu::Options emulated;
  std::string message;
  if (driver.emulate) {
    message = parseEmulation(emulation, output, emulated);
    if (!message.empty()) {
      return fail(message);
    }
    if (emulated.help) {
      llvm::outs() << emu::getHelp();
      return 0;
    }
  }
  if (!driver.listParams) {
    message = driver.translate(options);
    if (message.empty()) {
      message = prepareOutputs(input, output, driver, options.stage, outputs);
    }
    if (!message.empty()) {
      return fail(message);
    }
  }
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &message);
  if (!buffer) {
    return fail(message);
  }
  DefaultTimingManager timingManager;
  applyDefaultTimingManagerCLOptions(timingManager);
  TimingScope timing = timingManager.getRootScope();
  // A module holds one or two functions, so threads would only cost time.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // The source line is shown; a lowered operation can be pages long.
  context.printOpOnDiagnostic(false);
  context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  tracing::InstallDebugHandler debugHandler(context, config.getDebugConfig());
  if (hasPasses(context, config)) {
    return fail("expected no passes beside the options of the driver, which "
                "runs a pipeline of its own");
  }
  if (failed(enableRemarks(context, config))) {
    return fail("expected to write remarks, but cannot");
  }
  options.timing = &timing;
  options.configurePassManager = [&](PassManager &pm) {
    // The result of all passes is verified once, which takes a fraction of
    // the time.
    pm.enableVerifier(isGiven("verify-each") && config.shouldVerifyPasses());
    return applyPassManagerCLOptions(pm);
  };
  CompileResult compiled;
  auto action = [&](ModuleOp source) -> LogicalResult {
    if (!driver.listParams) {
      return compileAndWrite(source, options, outputs, compiled);
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    listParameters(source, os);
    std::string problem = writeOutputs(OutputFile{output.str(), text});
    return problem.empty() ? success() : emitError(source.getLoc()) << problem;
  };
  LogicalResult result =
      withSource(std::move(buffer), context, config, timing, action);
  if (failed(result)) {
    return getFailure();
  }
  return driver.emulate && !compiled.output.empty()
             ? emu::emulate(emulated, compiled.output, compiled.manifest)
             : 0;
}

/// With --emulate, what follows `--` is for the emulator; the tool's name goes
/// before it.
static SmallVector<char *> takeEmulation(int &argc, char **argv) {
  SmallVector<char *> taken = {argv[0]};
  auto isEmulation = [](StringRef argument) {
    return argument == "--emulate" || argument == "-emulate";
  };
  char **end = std::find_if(
      argv, argv + argc, [](StringRef argument) { return argument == "--"; });
  if (end != argv + argc && std::any_of(argv, end, isEmulation)) {
    taken.append(end + 1, argv + argc);
    argc = int(end - argv);
  }
  return taken;
}

int mlir::jfa::runDriver(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  reserveHeap();
  DialectRegistry registry;
  registerCompilerDialects(registry);
  // For options that name passes, such as --mlir-print-ir-after.
  registerTransformsPasses();
  mlir::jfa::registerAllPasses();
  registerDriverOptions();
  std::string help = registerCLIOptions("JFA compiler driver", registry);
  SmallVector<char *> emulation = takeEmulation(argc, argv);
  auto [input, output] = parseCLIOptions(argc, argv, help);
  return compileFile(input, output, emulation, registry);
}
