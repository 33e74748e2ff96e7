//===- TLXToNVVM.cpp - Lowering of the tlx dialect -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Composes the families' patterns; see Passes.td for what they do.
//
//===----------------------------------------------------------------------===//

#include "PackedF32ToNVVM.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

namespace mlir::jfa {
#define GEN_PASS_DEF_CONVERTTLXTONVVMPASS
#include "jfa/Conversion/TLXToNVVM/Passes.h.inc"
} // namespace mlir::jfa

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Lowers what is inside of tasks; the tasks themselves stay.
static LogicalResult lowerOps(KernelOp kernel, bool packedF32) {
  TLXTypeConverter converter;
  RewritePatternSet patterns(kernel.getContext());
  populateTaskToNVVMPatterns(converter, patterns);
  populateMemoryToNVVMPatterns(converter, patterns);
  populateBarrierToNVVMPatterns(converter, patterns);
  populateTMAToNVVMPatterns(converter, patterns);
  populateMMAToNVVMPatterns(converter, patterns);
  populateTensorMemoryToNVVMPatterns(converter, patterns);
  populateScaledMMAToNVVMPatterns(converter, patterns);
  populateTileToNVVMPatterns(converter, patterns);
  populateClusterToNVVMPatterns(converter, patterns);
  populateGridToNVVMPatterns(converter, patterns);
  populateElementwiseToNVVMPatterns(converter, patterns);
  if (packedF32) {
    populatePackedF32Patterns(converter, patterns);
  }

  ConversionTarget target(*kernel.getContext());
  target.addIllegalDialect<TLXDialect>();
  target.addLegalOp<KernelOp, AsyncTasksOp, AsyncTaskOp>();
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<UnrealizedConversionCastOp>();
  // What is left of the other dialects has to be on scalars.
  target.markUnknownOpDynamicallyLegal(
      [&](Operation *op) { return converter.isLegal(op); });
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       target);
  return applyFullConversion(kernel, target, std::move(patterns));
}

namespace {
struct ConvertTLXToNVVM
    : public mlir::jfa::impl::ConvertTLXToNVVMPassBase<ConvertTLXToNVVM> {
  using ConvertTLXToNVVMPassBase::ConvertTLXToNVVMPassBase;

  void runOnOperation() override {
    SmallVector<KernelOp> kernels;
    getOperation().walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels) {
      if (failed(checkLowerable(kernel))) {
        return signalPassFailure();
      }
      prepareBarriers(kernel);
      prepareDots(kernel);
      prepareTensorMemory(kernel);
      if (failed(lowerOps(kernel, packedF32)) ||
          failed(lowerKernelToLLVM(kernel))) {
        return signalPassFailure();
      }
    }
  }
};
} // namespace
