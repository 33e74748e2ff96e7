//===- Pipelines.cpp - From a kernel to its lowered form --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Composes passes and nothing else.
//
//===----------------------------------------------------------------------===//

#include "jfa/Pipelines/Pipelines.h"

#include "jfa/Conversion/TLXToNVVM/TLXToNVVM.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::jfa;

static void addCleanup(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void jfa::buildSpecializePipeline(OpPassManager &manager,
                                  const PipelineOptions &options) {
  // Helpers may have parameters in their types, which those of the kernel are
  // bound to. The clean-up below simplifies what was inlined.
  manager.addPass(createInlinerPass({}, /*defaultPipelineBuilder=*/nullptr));
  tlx::SpecializePassOptions specialize;
  for (const auto &[name, value] : options.bindings) {
    specialize.bindings.push_back(name + "=" + value);
  }
  manager.addPass(tlx::createSpecializePass(std::move(specialize)));
  addCleanup(manager);
  manager.addPass(createSymbolDCEPass());

  OpPassManager &kernels = manager.nest<tlx::KernelOp>();
  kernels.addPass(tlx::createPeelMaskedTailPass());
  kernels.addPass(tlx::createUnrollPass());
  addCleanup(kernels);
}

void jfa::buildPreparePipeline(OpPassManager &manager,
                               const PipelineOptions &options) {
  OpPassManager &kernels = manager.nest<tlx::KernelOp>();
  tlx::VerifyTargetPassOptions target;
  target.arch = options.arch;
  kernels.addPass(tlx::createVerifyTargetPass(target));
  kernels.addPass(tlx::createAssignLayoutsPass());
  kernels.addPass(tlx::createAllocateMemoryPass());
  kernels.addPass(tlx::createInsertFencesPass());
}

void jfa::buildConvertPipeline(OpPassManager &manager,
                               const PipelineOptions &options) {
  ConvertTLXToNVVMPassOptions lowering;
  // From Blackwell on.
  lowering.packedF32 = options.arch != "sm_90a";
  manager.addPass(createConvertTLXToNVVMPass(lowering));
  // One visit of each op folds what the lowering left; there are no blocks yet.
  // Equal expressions are LLVM's to find, in half of the time.
  GreedyRewriteConfig once;
  once.setMaxIterations(1).setRegionSimplificationLevel(
      GreedySimplifyRegionLevel::Disabled);
  manager.addPass(createCanonicalizerPass(once));
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

void jfa::buildTLXToNVVMPipeline(OpPassManager &manager,
                                 const PipelineOptions &options) {
  buildPreparePipeline(manager, options);
  sim::VerifyProtocolPassOptions verify;
  verify.mode = options.verifyProtocol;
  manager.addNestedPass<tlx::KernelOp>(sim::createVerifyProtocolPass(verify));
  buildConvertPipeline(manager, options);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
/// `PipelineOptions` as text.
struct TextOptions : public PassPipelineOptions<TextOptions> {
  Option<std::string> arch{
      *this, "arch", llvm::cl::desc("The architecture that is compiled for"),
      llvm::cl::init("sm_90a")};
  ListOption<std::string> bindings{
      *this, "bindings",
      llvm::cl::desc("Values of parameters: NAME=VALUE, separated by commas")};

  Option<sim::Verification> verifyProtocol{
      *this, "verify-protocol",
      llvm::cl::desc("Run kernels in the simulator to verify their protocol"),
      llvm::cl::values(
          clEnumValN(sim::Verification::Off, "off", "do not"),
          clEnumValN(sim::Verification::On, "on", "where that can be done"),
          clEnumValN(sim::Verification::Strict, "strict",
                     "an error where that cannot be done")),
      llvm::cl::init(sim::Verification::On)};

  PipelineOptions get() const {
    PipelineOptions options;
    options.arch = arch;
    options.verifyProtocol = verifyProtocol;
    for (StringRef binding : bindings) {
      auto [name, value] = binding.split('=');
      options.bindings.emplace_back(name, value);
    }
    return options;
  }
};
} // namespace

void jfa::registerPipelines() {
  static PassPipelineRegistration<TextOptions> specialize(
      "tlx-specialize-pipeline",
      "Bind parameters, inline helpers, split and unroll loops",
      [](OpPassManager &manager, const TextOptions &options) {
        buildSpecializePipeline(manager, options.get());
      });
  static PassPipelineRegistration<TextOptions> toNVVM(
      "tlx-to-nvvm-pipeline", "Lower specialised kernels to NVVM and LLVM",
      [](OpPassManager &manager, const TextOptions &options) {
        buildTLXToNVVMPipeline(manager, options.get());
      });
}
