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

namespace mlir::jfa {

/// Brings `module` to the TLX stage (bound, but not lowered) or to the NVVM
/// stage (LLVM dialect) for `specialization`, in place.
LogicalResult runStages(ModuleOp module, const Specialization &specialization,
                        const CompileOptions &options);

} // namespace mlir::jfa

#endif // JFA_LIB_TARGET_DRIVER_STAGES_H
