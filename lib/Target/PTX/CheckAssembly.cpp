//===- CheckAssembly.cpp - What ptxas may not say in silence ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the complaints of ptxas into diagnostics. A kernel whose register
// hand-over is ignored, whose wgmma are serialised or which spills still runs
// and still gives right results, at a fraction of its speed; so these are
// errors unless the policy allows them.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/PTX.h"
#include "jfa/Target/PTX/Ptxas.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::jfa;

/// Where to report something about the function called `name`.
static Location locate(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    if (Operation *op = module.lookupSymbol(name)) {
      return op->getLoc();
    }
  }
  // Some messages do not say which kernel they mean.
  SmallVector<LLVM::LLVMFuncOp> kernels = getKernels(module);
  return kernels.empty() ? module.getLoc() : kernels.front().getLoc();
}

/// C7508 is an ignored setmaxnreg, C7510 to C7519 are wgmma that ptxas
/// serialises or repairs.
static bool isPerformanceLoss(const PtxasMessage &message) {
  if (message.code == 7508 || (message.code >= 7510 && message.code <= 7519)) {
    return true;
  }
  StringRef text(message.text);
  return (text.contains("setmaxnreg") && text.contains("ignored")) ||
         (text.contains("wgmma") && text.contains("serialized"));
}

static LogicalResult checkErrors(ModuleOp module, const PtxasJob &job) {
  SmallVector<StringRef> lines;
  StringRef(job.ptx).split(lines, '\n');
  for (const PtxasError &error : job.log.errors) {
    InFlightDiagnostic diag = emitError(locate(module, ""))
                              << "expected PTX that ptxas accepts, but got: "
                              << error.text;
    if (error.line > 0 && error.line <= lines.size()) {
      diag.attachNote() << "line " << error.line
                        << " of the PTX: " << lines[error.line - 1].trim();
    }
  }
  if (!job.failure.empty()) {
    emitError(locate(module, "")) << job.failure;
  }
  return success(job.succeeded);
}

static LogicalResult checkMessages(ModuleOp module, const PtxasJob &job,
                                   const PtxasPolicy &policy) {
  LogicalResult result = success();
  for (const PtxasMessage &message : job.log.messages) {
    Location loc = locate(module, message.function);
    bool fatal = isPerformanceLoss(message) && !policy.allowPerformanceLoss;
    InFlightDiagnostic diag = fatal ? emitError(loc) : emitWarning(loc);
    diag << "expected code that ptxas assembles as written, but got: ";
    if (message.code) {
      diag << "C" << message.code << ": ";
    }
    diag << message.text;
    if (fatal) {
      result = failure();
    }
  }
  return result;
}

static LogicalResult checkSpills(ModuleOp module, const PtxasJob &job,
                                 const PtxasPolicy &policy) {
  LogicalResult result = success();
  for (const KernelResources &kernel : job.log.kernels) {
    if (!kernel.stackBytes && !kernel.spillStoreBytes &&
        !kernel.spillLoadBytes) {
      continue;
    }
    Location loc = locate(module, kernel.entry);
    InFlightDiagnostic diag =
        policy.allowSpills ? emitWarning(loc) : emitError(loc);
    diag << "expected a kernel without a stack frame or spills, but got "
         << kernel.stackBytes << " bytes of stack, " << kernel.spillStoreBytes
         << " bytes of spill stores and " << kernel.spillLoadBytes
         << " bytes of spill loads with " << kernel.registers << " registers";
    if (!policy.allowSpills) {
      result = failure();
    }
  }
  return result;
}

LogicalResult mlir::jfa::checkAssembly(ModuleOp module, const PtxasJob &job,
                                       const PtxasPolicy &policy) {
  if (failed(checkErrors(module, job))) {
    return failure();
  }
  LogicalResult messages = checkMessages(module, job, policy);
  LogicalResult spills = checkSpills(module, job, policy);
  return success(succeeded(messages) && succeeded(spills));
}
