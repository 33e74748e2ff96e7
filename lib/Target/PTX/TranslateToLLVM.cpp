//===- TranslateToLLVM.cpp - From the LLVM dialect to LLVM IR ---*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates a module of the LLVM and NVVM dialects for an NVIDIA GPU. What
// MLIR cannot express is added here: inline assembly with side effects
// becomes convergent, because wgmma, barriers and setmaxnreg must not be
// duplicated into or sunk under divergent control flow.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Arch.h"
#include "jfa/Target/PTX/PTX.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace mlir;
using namespace mlir::jfa;

void mlir::jfa::registerPTXTranslations(DialectRegistry &registry) {
  registry.insert<DLTIDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

SmallVector<LLVM::LLVMFuncOp> mlir::jfa::getKernels(ModuleOp module) {
  StringRef attr = NVVM::NVVMDialect::getKernelFuncAttrName();
  return llvm::filter_to_vector(
      module.getOps<LLVM::LLVMFuncOp>(), [&](LLVM::LLVMFuncOp func) {
        return func->hasAttr(attr) && !func.isExternal();
      });
}

/// Gives each function a debug-info scope, without which the translation drops
/// every location.
static LogicalResult addDebugScopes(ModuleOp module) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  LLVM::DIScopeForLLVMFuncOpPassOptions options;
  options.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(options));
  return pm.run(module);
}

/// Marks inline assembly with side effects as convergent, and so the functions
/// around it: LLVM takes a call as convergent only if its callee says so, and
/// removes the attribute itself where it can prove it unnecessary.
static void markConvergent(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) {
      continue;
    }
    function.setConvergent();
    for (llvm::Instruction &inst : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<llvm::CallBase>(&inst);
      if (!call || !call->isInlineAsm()) {
        continue;
      }
      auto *inlineAsm = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
      if (inlineAsm->hasSideEffects()) {
        call->setConvergent();
      }
    }
  }
}

static LogicalResult verifyLLVM(ModuleOp module, llvm::Module &llvmModule) {
  std::string message;
  llvm::raw_string_ostream os(message);
  if (llvm::verifyModule(llvmModule, &os)) {
    return module.emitError("expected valid LLVM IR from the translation, "
                            "but got: ")
           << StringRef(message).trim();
  }
  return success();
}

/// What is worth its time for kernels: MLIR has folded and simplified already,
/// and the code generator has scalar optimisations of its own. InstCombine is
/// left out on purpose: it moves conversions across the phis of pipelined
/// loops, where they cost registers and overlap.
static void buildLightPipeline(llvm::ModulePassManager &passes) {
  passes.addPass(llvm::AlwaysInlinerPass());
  llvm::FunctionPassManager functionPasses;
  functionPasses.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  functionPasses.addPass(llvm::EarlyCSEPass());
  functionPasses.addPass(llvm::SimplifyCFGPass());
  functionPasses.addPass(llvm::ADCEPass());
  passes.addPass(
      llvm::createModuleToFunctionPassAdaptor(std::move(functionPasses)));
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned optLevel) {
  if (optLevel == 0) {
    return;
  }
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PipelineTuningOptions tuning;
  // The authors of kernels unroll and pipeline themselves; the schedule that
  // ptxas gets should be the one that the source states.
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(mam);
  builder.registerCGSCCAnalyses(cgam);
  builder.registerFunctionAnalyses(fam);
  builder.registerLoopAnalyses(lam);
  builder.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::ModulePassManager passes;
  if (optLevel == 1) {
    buildLightPipeline(passes);
  } else {
    passes = builder.buildPerModuleDefaultPipeline(
        optLevel == 2 ? llvm::OptimizationLevel::O2
                      : llvm::OptimizationLevel::O3);
  }
  passes.run(module, mam);
}

std::unique_ptr<llvm::Module>
mlir::jfa::translateToLLVM(ModuleOp module, llvm::LLVMContext &context,
                           llvm::TargetMachine &machine,
                           const PTXOptions &options) {
  if (failed(verifyForNVPTX(module)) ||
      (options.lineInfo && failed(addDebugScopes(module)))) {
    return nullptr;
  }
  StringRef name = module.getName().value_or("jfa");
  // The translation would print what its verifier finds to stderr.
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(
      module, context, name, /*disableVerification=*/true);
  if (!llvmModule) {
    return nullptr;
  }
  llvmModule->setTargetTriple(machine.getTargetTriple());
  llvmModule->setDataLayout(machine.createDataLayout());
  markConvergent(*llvmModule);
  if (failed(verifyLLVM(module, *llvmModule))) {
    return nullptr;
  }
  optimize(*llvmModule, machine, options.optLevel);
  return llvmModule;
}
