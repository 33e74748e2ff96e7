//===- Stages.h - The MLIR part of a compilation ----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Compile.cpp needs of the tlx dialect and its pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_TARGET_DRIVER_STAGES_H
#define JFA_LIB_TARGET_DRIVER_STAGES_H

#include "jfa/Target/Driver/Compile.h"

#include <future>

namespace mlir::jfa {

/// Brings `module` to the TLX stage (bound, but not lowered) or to the NVVM
/// stage (LLVM dialect) for `specialization`, in place. What has PTX as its end
/// is not verified on the way: `unverified` takes the kernels as
/// ProtocolVerification needs them, or nothing if there are none.
LogicalResult runStages(ModuleOp module, const Specialization &specialization,
                        const CompileOptions &options,
                        OwningOpRef<ModuleOp> &unverified);

/// Verifies the protocol of kernels in a thread of its own. Until finish(),
/// nobody else may use MLIR's context: LLVM's code generator does not.
class ProtocolVerification {
public:
  /// `unverified` may be null; then there is nothing to do. `options` outlive
  /// this object.
  ProtocolVerification(OwningOpRef<ModuleOp> unverified,
                       const CompileOptions &options);
  ~ProtocolVerification();

  /// Waits for the end, and marks the lowered kernels of `module` as verified
  /// as they are. Fails after a diagnostic.
  LogicalResult finish(ModuleOp module);

private:
  OwningOpRef<ModuleOp> kernels;
  std::future<LogicalResult> result;
};

} // namespace mlir::jfa

#endif // JFA_LIB_TARGET_DRIVER_STAGES_H
