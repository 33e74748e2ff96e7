//===- Buffers.h - Which buffers ops touch ----------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows buffers in shared memory through their views.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_DIALECT_TLX_TRANSFORMS_BUFFERS_H
#define JFA_LIB_DIALECT_TLX_TRANSFORMS_BUFFERS_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// The allocation that `buffer` is or views; null where it is not known, such
/// as behind control flow.
LocalAllocOp getAllocation(Value buffer);

/// The allocation that `alloc` shares storage with by way of `alias`, or
/// `alloc` itself: the first of those that alias each other.
LocalAllocOp getStorage(LocalAllocOp alloc);

/// Calls `visit` on every use of the buffer and of its views that is not itself
/// a view. `visit` returns whether to go on; the result is whether all did.
bool visitBufferUses(Value buffer, function_ref<bool(OpOperand &)> visit);

/// Whether two allocations, null for unknown ones, may have bytes in common: by
/// `alias`, or by their offsets once these are assigned.
bool mayOverlap(LocalAllocOp a, LocalAllocOp b);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_DIALECT_TLX_TRANSFORMS_BUFFERS_H
