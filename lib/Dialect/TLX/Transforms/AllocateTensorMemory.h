//===- AllocateTensorMemory.h - Columns of tensor memory --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_DIALECT_TLX_TRANSFORMS_ALLOCATETENSORMEMORY_H
#define JFA_LIB_DIALECT_TLX_TRANSFORMS_ALLOCATETENSORMEMORY_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// Gives every buffer in tensor memory its first column. Returns how many
/// columns the kernel has to allocate, 0 if it has no such buffer.
FailureOr<int64_t> allocateTensorMemory(KernelOp kernel);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_DIALECT_TLX_TRANSFORMS_ALLOCATETENSORMEMORY_H
