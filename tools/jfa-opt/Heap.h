//===- Heap.h - The heap of a short-lived process ---------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_OPT_HEAP_H
#define JFA_TOOLS_JFA_OPT_HEAP_H

namespace mlir::jfa {

/// Reserves what compiling a kernel allocates, in large pages where the system
/// has them. A compilation touches thousands of pages once each, and faults on
/// small ones are a twentieth of its time. Does nothing where it cannot.
void reserveHeap();

} // namespace mlir::jfa

#endif // JFA_TOOLS_JFA_OPT_HEAP_H
