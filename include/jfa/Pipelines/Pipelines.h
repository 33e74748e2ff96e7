//===- Pipelines.h - From a kernel to its lowered form ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sequences of passes, one function for each stage, for embedders and for
// the drivers alike.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_PIPELINES_PIPELINES_H
#define JFA_PIPELINES_PIPELINES_H

#include "jfa/Dialect/TLX/Transforms/Passes.h"
#include "jfa/Sim/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace mlir::jfa {

/// What the stages depend on.
struct PipelineOptions {
  /// The architecture that is compiled for.
  std::string arch = "sm_90a";
  /// Values of the kernels' parameters; the others take their defaults.
  SmallVector<tlx::ParameterBinding> bindings;
  /// Whether to verify the protocol of kernels (`tlx-verify-protocol`).
  sim::Verification verifyProtocol = sim::Verification::On;
};

/// Leaves kernels without parameters, calls, masked-tail questions and marks to
/// unroll. Runs on whatever holds the kernels and the functions they call.
void buildSpecializePipeline(OpPassManager &manager,
                             const PipelineOptions &options);

/// Assigns layouts, places buffers and inserts fences in specialised kernels:
/// the form that `tlx-verify-protocol` takes.
void buildPreparePipeline(OpPassManager &manager,
                          const PipelineOptions &options);

/// Lowers prepared kernels to the NVVM and LLVM dialects.
void buildConvertPipeline(OpPassManager &manager,
                          const PipelineOptions &options);

/// Prepares specialised kernels, verifies their protocol and lowers them.
void buildTLXToNVVMPipeline(OpPassManager &manager,
                            const PipelineOptions &options);

/// Registers `tlx-specialize-pipeline` and `tlx-to-nvvm-pipeline`. Safe to call
/// more than once.
void registerPipelines();

} // namespace mlir::jfa

#endif // JFA_PIPELINES_PIPELINES_H
