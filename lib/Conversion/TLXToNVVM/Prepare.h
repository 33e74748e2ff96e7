//===- Prepare.h - What has to be known before ops are lowered one by one -*-
//C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each family may look at the whole kernel once, before its ops are lowered one
// by one, and leave on the ops what their patterns need.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_PREPARE_H
#define JFA_LIB_CONVERSION_TLXTONVVM_PREPARE_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// Checks everything that the lowering takes for granted: bound parameters,
/// layouts, offsets, ops in tasks, and named barriers that are the author's.
LogicalResult checkLowerable(KernelOp kernel);

/// Lets each warp of a task arrive for itself where every arrival at a barrier
/// can be counted so.
void prepareBarriers(KernelOp kernel);

/// Names, at each wait, the tiles whose registers the products still read.
void prepareDots(KernelOp kernel);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_PREPARE_H
