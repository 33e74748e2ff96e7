//===- Stages.cpp - The MLIR part of a compilation --------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only file of the driver that knows the tlx dialect: it runs the
// pipelines of jfa/Pipelines. A module without tlx operations is taken as
// lowered already; then the values it was compiled for have to agree with
// those asked for.
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "jfa/Dialect/TLX/IR/TLX.h"
#include "jfa/InitAll.h"
#include "jfa/Pipelines/Pipelines.h"

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::jfa;

void mlir::jfa::registerCompilerDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
              gpu::GPUDialect, index::IndexDialect, math::MathDialect,
              memref::MemRefDialect, nvgpu::NVGPUDialect, scf::SCFDialect,
              tensor::TensorDialect, ub::UBDialect, vector::VectorDialect>();
  mlir::jfa::registerAllDialects(registry);
  registerPTXTranslations(registry);
}

static bool isTLX(Operation *op) {
  return op->getName().getDialectNamespace() == "tlx";
}

static bool hasTLX(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isTLX(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The value of a parameter as it is written in a binding.
static std::string spell(Attribute value) {
  if (auto text = dyn_cast<StringAttr>(value)) {
    return text.str();
  }
  std::string spelling;
  llvm::raw_string_ostream os(spelling);
  value.print(os, /*elideType=*/true);
  return spelling;
}

/// Refuses to compile a lowered kernel for other values than its own.
static LogicalResult checkLowered(ModuleOp module,
                                  const Specialization &specialization) {
  for (LLVM::LLVMFuncOp kernel : getKernels(module)) {
    auto parameters = kernel->getAttrOfType<DictionaryAttr>("tlx.parameters");
    for (const auto &[name, value] : specialization.bindings) {
      Attribute own = parameters ? parameters.get(name) : Attribute();
      if (!own) {
        return kernel.emitError("expected values for parameters of the kernel "
                                "only, but got one for '")
               << name << "', and it has no such parameter";
      }
      if (spell(own) != value) {
        return kernel.emitError("expected the value that the kernel was "
                                "lowered for, which is '")
               << spell(own) << "' for '" << name << "', but got '" << value
               << "'";
      }
    }
  }
  return success();
}

static std::unique_ptr<PassManager>
createPassManager(MLIRContext *context, const CompileOptions &options,
                  TimingScope *timing) {
  auto manager =
      std::make_unique<PassManager>(context, ModuleOp::getOperationName());
  if (options.configurePassManager &&
      failed(options.configurePassManager(*manager))) {
    return nullptr;
  }
  if (timing) {
    manager->enableTiming(*timing);
  }
  return manager;
}

/// Runs the passes that `build` adds to a manager.
static LogicalResult
runPasses(ModuleOp module, const CompileOptions &options,
          llvm::function_ref<void(OpPassManager &)> build) {
  auto manager =
      createPassManager(module.getContext(), options, options.timing);
  if (!manager) {
    return failure();
  }
  build(*manager);
  return manager->run(module);
}

/// Runs the pipelines of jfa/Pipelines up to `options.stage`.
static LogicalResult runPipelines(ModuleOp module,
                                  const PipelineOptions &pipeline,
                                  const CompileOptions &options,
                                  OwningOpRef<ModuleOp> &unverified) {
  if (options.stage <= EmitStage::NVVM) {
    return runPasses(module, options, [&](OpPassManager &manager) {
      buildSpecializePipeline(manager, pipeline);
      if (options.stage != EmitStage::TLX) {
        buildTLXToNVVMPipeline(manager, pipeline);
      }
    });
  }
  if (failed(runPasses(module, options, [&](OpPassManager &manager) {
        buildSpecializePipeline(manager, pipeline);
        buildPreparePipeline(manager, pipeline);
      }))) {
    return failure();
  }
  unverified = cast<ModuleOp>(module->clone());
  return runPasses(module, options, [&](OpPassManager &manager) {
    buildConvertPipeline(manager, pipeline);
    // NVVM operations that stand for PTX text have no translation of their own.
    manager.addPass(createConvertNVVMToLLVMPass());
  });
}

LogicalResult mlir::jfa::runStages(ModuleOp module,
                                   const Specialization &specialization,
                                   const CompileOptions &options,
                                   OwningOpRef<ModuleOp> &unverified) {
  LogicalResult status = success();
  if (hasTLX(module)) {
    PipelineOptions pipeline;
    pipeline.arch = specialization.arch;
    pipeline.verifyProtocol = options.verifyProtocol;
    pipeline.bindings.assign(specialization.bindings.begin(),
                             specialization.bindings.end());
    status = runPipelines(module, pipeline, options, unverified);
  } else {
    status = checkLowered(module, specialization);
    if (succeeded(status)) {
      status = runPasses(module, options, [&](OpPassManager &manager) {
        if (options.stage > EmitStage::NVVM) {
          manager.addPass(createConvertNVVMToLLVMPass());
        }
      });
    }
  }
  return success(succeeded(status) && succeeded(verify(module)));
}

//===----------------------------------------------------------------------===//
// Verification of protocols
//===----------------------------------------------------------------------===//

/// Runs `tlx-verify-protocol`.
static LogicalResult verifyProtocol(ModuleOp kernels,
                                    const CompileOptions &options) {
  TimingScope timing =
      options.timing ? options.timing->nest("Protocol") : TimingScope();
  auto manager = createPassManager(kernels.getContext(), options,
                                   options.timing ? &timing : nullptr);
  if (!manager) {
    return failure();
  }
  sim::VerifyProtocolPassOptions verify;
  verify.mode = options.verifyProtocol;
  manager->addNestedPass<tlx::KernelOp>(sim::createVerifyProtocolPass(verify));
  return manager->run(kernels);
}

ProtocolVerification::ProtocolVerification(OwningOpRef<ModuleOp> unverified,
                                           const CompileOptions &options)
    : kernels(std::move(unverified)) {
  if (kernels) {
    result = std::async(std::launch::async, [this, &options] {
      return verifyProtocol(*kernels, options);
    });
  }
}

ProtocolVerification::~ProtocolVerification() = default;

LogicalResult ProtocolVerification::finish(ModuleOp module) {
  if (!kernels) {
    return success();
  }
  LogicalResult status = result.get();
  for (tlx::KernelOp kernel : kernels->getOps<tlx::KernelOp>()) {
    if (Attribute protocol = kernel->getAttr("tlx.protocol")) {
      module.lookupSymbol(kernel.getName())->setAttr("tlx.protocol", protocol);
    }
  }
  kernels = nullptr;
  return status;
}

void mlir::jfa::listParameters(ModuleOp source, raw_ostream &os) {
  source.walk([&](tlx::ParameterOpInterface parameter) {
    os << parameter.getParameterName();
    if (Attribute value = parameter.getDefaultValue()) {
      os << " = " << spell(value);
    }
    if (std::string legal = parameter.describeLegalValues(); !legal.empty()) {
      os << ", legal: " << legal;
    }
    os << "\n";
  });
}
