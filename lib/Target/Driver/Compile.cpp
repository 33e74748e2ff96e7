//===- Compile.cpp - From a source to what is asked for ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every specialization is lowered and translated one after the other, and its
// protocol verified beside LLVM's code generator; then ptxas, which takes most
// of the time, assembles several at once. Diagnostics are emitted in the order
// of the specializations whatever ends first.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "jfa/Target/PTX/Manifest.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::jfa;

namespace {
/// A specialization on its way.
struct Unit {
  const Specialization *specialization;
  OwningOpRef<ModuleOp> module;
  /// The kernels as they are to be verified; null if there is nothing to do.
  OwningOpRef<ModuleOp> unverified;
};
} // namespace

static TimingScope nestTiming(const CompileOptions &options, StringRef name) {
  return options.timing ? options.timing->nest(name) : TimingScope();
}

/// Says which specialization a failure belongs to, if there are several.
static LogicalResult failedFor(ModuleOp source, const Unit &unit,
                               const CompileOptions &options) {
  if (options.specializations.size() > 1) {
    emitError(source.getLoc()) << "expected every specialization to compile, "
                                  "but this one does not: "
                               << unit.specialization->str();
  }
  return failure();
}

static void printModule(ModuleOp module, std::string &text) {
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
}

/// Generates the PTX of `llvmModule`, which is that of `unit`, and verifies the
/// protocol meanwhile.
static FailureOr<std::string> generateVerified(Unit &unit,
                                               llvm::Module &llvmModule,
                                               llvm::TargetMachine &machine,
                                               const CompileOptions &options) {
  ProtocolVerification verification(std::move(unit.unverified), options);
  TimingScope timing = nestTiming(options, "PTX");
  GeneratedPTX generated = generatePTX(llvmModule, machine, options.ptx);
  timing.stop();
  if (failed(verification.finish(*unit.module))) {
    return failure();
  }
  return takePTX(*unit.module, std::move(generated));
}

/// Brings `unit` to the stage LLVM or PTX and appends its text to `text`.
static LogicalResult translate(Unit &unit, const CompileOptions &options,
                               std::string &text) {
  if (getKernels(*unit.module).empty()) {
    return unit.module->emitError("expected a kernel, a function with "
                                  "'nvvm.kernel', but the module has none");
  }
  PTXOptions ptx = options.ptx;
  ptx.arch = unit.specialization->arch;
  auto machine = createNVPTXTargetMachine(unit.module->getLoc(), ptx);
  if (!machine) {
    return failure();
  }
  llvm::LLVMContext context;
  TimingScope translation = nestTiming(options, "LLVM IR");
  auto llvmModule = translateToLLVM(*unit.module, context, *machine, ptx);
  if (!llvmModule) {
    return failure();
  }
  translation.stop();
  if (options.stage == EmitStage::LLVM) {
    llvm::raw_string_ostream os(text);
    llvmModule->print(os, nullptr);
    return ProtocolVerification(std::move(unit.unverified), options)
        .finish(*unit.module);
  }
  auto assembly = generateVerified(unit, *llvmModule, *machine, options);
  if (failed(assembly)) {
    return failure();
  }
  text += *assembly;
  return success();
}

/// Adds the kernels of `unit` to `bundle`.
static LogicalResult describe(Unit &unit, PtxasJob &job, StringRef ptxasVersion,
                              BundleBuilder &bundle) {
  unsigned cubin = bundle.addCubin(std::move(job.cubin));
  for (LLVM::LLVMFuncOp kernel : getKernels(*unit.module)) {
    auto resources =
        llvm::find_if(job.log.kernels, [&](const KernelResources &candidate) {
          return candidate.entry == kernel.getName();
        });
    if (resources == job.log.kernels.end()) {
      return kernel.emitError("expected ptxas to report the resources of the "
                              "kernel, but it did not");
    }
    auto manifest = buildManifest(kernel, unit.specialization->arch, *resources,
                                  ptxasVersion);
    if (failed(manifest)) {
      return failure();
    }
    bundle.addKernel(std::move(*manifest), cubin);
  }
  return success();
}

/// Makes the manifest of kernels that are not assembled.
static LogicalResult describePTX(Unit &unit, std::string &manifest) {
  PtxasJob job;
  for (LLVM::LLVMFuncOp kernel : getKernels(*unit.module)) {
    job.log.kernels.emplace_back().entry = kernel.getName().str();
  }
  BundleBuilder bundle;
  if (failed(describe(unit, job, "", bundle))) {
    return failure();
  }
  manifest = bundle.getManifest();
  return success();
}

static LogicalResult assemble(ModuleOp source, MutableArrayRef<Unit> units,
                              MutableArrayRef<PtxasJob> jobs,
                              const CompileOptions &options,
                              CompileResult &result) {
  TimingScope timing = nestTiming(options, "ptxas");
  std::string version = runPtxas(jobs, options.ptxas);
  timing.stop();
  LogicalResult status = success();
  BundleBuilder bundle;
  for (auto [unit, job] : llvm::zip_equal(units, jobs)) {
    if (failed(checkAssembly(*unit.module, job, options.policy))) {
      status = failedFor(source, unit, options);
      continue;
    }
    if (options.stage == EmitStage::Cubin) {
      result.output = job.cubin;
    }
    if (failed(describe(unit, job, version, bundle))) {
      status = failedFor(source, unit, options);
    }
  }
  if (failed(status)) {
    return failure();
  }
  result.manifest = bundle.getManifest();
  if (options.stage == EmitStage::Bundle) {
    result.output = bundle.getBundle();
  }
  return success();
}

LogicalResult mlir::jfa::compile(ModuleOp source, const CompileOptions &options,
                                 CompileResult &result) {
  size_t count = options.specializations.size();
  if (count == 0 || (count > 1 && options.stage != EmitStage::Bundle)) {
    return emitError(source.getLoc())
           << "expected one specialization, because only a bundle holds "
              "several, but got "
           << count;
  }
  std::vector<Unit> units;
  std::vector<PtxasJob> jobs;
  for (const Specialization &specialization : options.specializations) {
    Unit unit{&specialization, cast<ModuleOp>(source->clone()), nullptr};
    if (failed(runStages(*unit.module, specialization, options,
                         unit.unverified))) {
      return failedFor(source, unit, options);
    }
    if (options.stage <= EmitStage::NVVM) {
      printModule(*unit.module, result.output);
      return success();
    }
    PtxasJob job;
    job.arch = specialization.arch;
    if (failed(translate(unit, options, job.ptx))) {
      return failedFor(source, unit, options);
    }
    if (options.stage <= EmitStage::PTX) {
      result.output = std::move(job.ptx);
      return options.describesPTX && options.stage == EmitStage::PTX
                 ? describePTX(unit, result.manifest)
                 : success();
    }
    units.push_back(std::move(unit));
    jobs.push_back(std::move(job));
  }
  return assemble(source, units, jobs, options, result);
}
