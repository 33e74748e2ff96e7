//===- SharedOperands.h - Factors of a product in shared memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowerings of products in registers and in tensor memory share.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_SHAREDOPERANDS_H
#define JFA_LIB_CONVERSION_TLXTONVVM_SHAREDOPERANDS_H

#include "LoweringBuilder.h"
#include "WgmmaDescriptor.h"

namespace mlir::jfa::tlx {

/// How a factor of type `type` lies. K is the last dimension of A and the first
/// of B.
FailureOr<SharedOperand> getSharedOperand(Operation *op, MemDescType type,
                                          bool kIsLast);

/// The descriptor of a factor at `address`, with what is not its address.
Value buildDescriptor(LoweringBuilder &builder, int64_t fixedBits,
                      Value address);

/// The descriptor of what lies `bytes` further on.
Value advanceDescriptor(LoweringBuilder &builder, Value descriptor,
                        int64_t bytes);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_SHAREDOPERANDS_H
