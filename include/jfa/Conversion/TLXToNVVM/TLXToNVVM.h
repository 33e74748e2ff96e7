//===- TLXToNVVM.h - Lowering of the tlx dialect -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass, and one set of patterns for each op family for compilers that
// compose their own conversion. A family may look at the whole kernel once,
// before its ops are lowered one by one (`prepare…`), and leave on the ops what
// its patterns need. The patterns need a TLXTypeConverter and leave
// `tlx.kernel`, `tlx.async_tasks` and `tlx.async_task` in place, since the
// other families ask them which threads run an op; `lowerKernelToLLVM` then
// turns the kernel into a function.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_CONVERSION_TLXTONVVM_TLXTONVVM_H
#define JFA_CONVERSION_TLXTONVVM_TLXTONVVM_H

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::jfa {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "jfa/Conversion/TLXToNVVM/Passes.h.inc"

namespace tlx {

/// Tiles become one value for each register of a thread (packed pairs of 16-bit
/// floats are one), buffers and barriers i32 addresses of shared memory,
/// pointers and tensor maps LLVM pointers.
class TLXTypeConverter : public TypeConverter {
public:
  TLXTypeConverter();
};

/// Checks everything that the lowering takes for granted: bound parameters,
/// layouts, offsets, ops in tasks, and named barriers that are the author's.
LogicalResult checkLowerable(KernelOp kernel);

/// Lets each warp of a task arrive for itself where every arrival at a barrier
/// can be counted so.
void prepareBarriers(KernelOp kernel);

/// Names, at each wait, the tiles whose registers the products still read.
void prepareDots(KernelOp kernel);

/// Allocates tensor memory at the beginning of a kernel that has buffers there,
/// and turns these into addresses.
void prepareTensorMemory(KernelOp kernel);

void populateTaskToNVVMPatterns(const TLXTypeConverter &converter,
                                RewritePatternSet &patterns);
void populateMemoryToNVVMPatterns(const TLXTypeConverter &converter,
                                  RewritePatternSet &patterns);
void populateBarrierToNVVMPatterns(const TLXTypeConverter &converter,
                                   RewritePatternSet &patterns);
void populateTMAToNVVMPatterns(const TLXTypeConverter &converter,
                               RewritePatternSet &patterns);
void populateMMAToNVVMPatterns(const TLXTypeConverter &converter,
                               RewritePatternSet &patterns);
/// Ops of the TensorMemory family, and those of the Memory and MMA families on
/// buffers in tensor memory.
void populateTensorMemoryToNVVMPatterns(const TLXTypeConverter &converter,
                                        RewritePatternSet &patterns);
/// Products of scaled blocks, and the copies of their scales.
void populateScaledMMAToNVVMPatterns(const TLXTypeConverter &converter,
                                     RewritePatternSet &patterns);
void populateTileToNVVMPatterns(const TLXTypeConverter &converter,
                                RewritePatternSet &patterns);
void populateClusterToNVVMPatterns(const TLXTypeConverter &converter,
                                   RewritePatternSet &patterns);
void populateGridToNVVMPatterns(const TLXTypeConverter &converter,
                                RewritePatternSet &patterns);
/// Elementwise ops of other dialects (arith, math) on tiles.
void populateElementwiseToNVVMPatterns(const TLXTypeConverter &converter,
                                       RewritePatternSet &patterns);

/// Turns a kernel whose other ops have been lowered into an `llvm.func`.
LogicalResult lowerKernelToLLVM(KernelOp kernel);

} // namespace tlx
} // namespace mlir::jfa

#endif // JFA_CONVERSION_TLXTONVVM_TLXTONVVM_H
