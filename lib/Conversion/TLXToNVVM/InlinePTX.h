//===- InlinePTX.h - Instructions for which NVVM has no op -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place that holds PTX text. Each function is one instruction (or the
// smallest loop around one) with typed operands. All but policies
// are marked as having side effects, which the translation to LLVM IR turns
// into convergent calls.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_INLINEPTX_H
#define JFA_LIB_CONVERSION_TLXTONVVM_INLINEPTX_H

#include "LoweringBuilder.h"

namespace mlir::jfa::tlx {

/// Waits until the phase of `parity` of the mbarrier at `address` has
/// completed: `mbarrier.try_wait.parity` in a loop (PTX ISA 9.7.13.15.16). The
/// op of the NVVM dialect passes a time hint, which measured slower.
void buildBarrierWait(LoweringBuilder &builder, Value address, Value parity);

/// Waits until the 32-bit counter at `address` is at least `count`, and makes
/// what that says visible to the async proxy: `ld.acquire.gpu` in a loop (PTX
/// ISA 9.7.9.8), `fence.proxy.async.global` (9.7.13.4).
void buildSemaphoreWait(LoweringBuilder &builder, Value address, Value count);

/// Adds 1 to the counter: `red.release.gpu.add` (PTX ISA 9.7.13.6). LLVM makes
/// a fence and a relaxed `atom` of an atomic addition.
void buildSemaphorePost(LoweringBuilder &builder, Value address);

/// The first CTA of the cluster that a request has cancelled, by its 128-bit
/// response, or 0 if it has failed. Of a failed one nobody may ask for the CTA
/// (PTX ISA 9.7.13.18), as LLVM does ahead of a branch around the NVVM op.
Value buildFirstCta(LoweringBuilder &builder, Value response);

/// What one `tcgen05.mma.kind::mxf8f6f4` takes: addresses in tensor memory,
/// descriptors, and whether it adds to the sums, an i1.
struct ScaledDotStep {
  Value sums, a, b, instruction, aScale, bScale, accumulate;
};

/// One product of blocks with a scale each (PTX ISA 9.7.16.10.9). LLVM leaves
/// out the size of the blocks, which needs a newer version of PTX.
void buildScaledDotStep(LoweringBuilder &builder, const ScaledDotStep &step);

/// The policy of `hint` for all that an access touches, or null without one:
/// `createpolicy.fractional` (PTX ISA 9.7.9.18).
Value buildCachePolicy(LoweringBuilder &builder, std::optional<CacheHint> hint);

/// Where the instructions of a product find a factor in shared memory: a
/// descriptor for each, or one and how far on each finds its part, in the units
/// of descriptors. The latter leaves fewer values to keep in registers.
struct DotFactor {
  SmallVector<Value> descriptors;
  SmallVector<int64_t> distances;
};

/// `wgmma.mma_async` along K (PTX ISA 9.7.15.5): the instructions that make one
/// product of 64 rows, all on the same accumulators.
struct DotInstructions {
  Type elementA, elementB;
  int64_t n;
  /// Whether to add to the accumulators; otherwise they are overwritten.
  bool accumulate;
  /// Whether an operand in shared memory is contiguous along M or N; of 16-bit
  /// elements only.
  bool transposeA = false, transposeB = false;
  /// A in registers: four packed pairs for each instruction.
  SmallVector<Value> aRegisters;
  /// A in shared memory; without descriptors if it is in registers.
  DotFactor a;
  DotFactor b;

  size_t getNumInstructions() const {
    return std::max(b.descriptors.size(), b.distances.size());
  }
};

/// Builds `dot` on `accumulators` and returns them after it. One inline
/// assembly for all of K: an op for each instruction would carry every
/// accumulator through the compiler once for each.
SmallVector<Value> buildDot(LoweringBuilder &builder,
                            const DotInstructions &dot,
                            ArrayRef<Value> accumulators);

/// `wgmma.wait_group pending` (PTX ISA 9.7.15.7.3). The results are
/// `accumulators` after the wait; nothing else orders their uses after it, nor
/// keeps the registers `kept` untouched until then.
SmallVector<Value> buildDotWait(LoweringBuilder &builder, int64_t pending,
                                ArrayRef<Value> accumulators,
                                ArrayRef<Value> kept);

/// Reads `columns` columns of 32 bits of the lane of each thread, from
/// `address` on, and waits for them: `tcgen05.ld.32x32b`, `tcgen05.wait::ld`
/// (PTX ISA 9.7.16.8). NVVM's ops do not tie the registers to the wait, before
/// which they must not be used. With `isOfHalves`, `tcgen05.ld.16x32bx2`: of
/// the 16 lanes from `address` on, threads 0 to 15 read the columns there,
/// threads 16 to 31 those behind them.
SmallVector<Value> buildTensorLoad(LoweringBuilder &builder, Value address,
                                   int64_t columns, bool isOfHalves);

/// Writes registers of 32 bits to the columns from `address` on, as
/// `buildTensorLoad` reads them: `tcgen05.st.32x32b` or `.16x32bx2`. Does not
/// wait.
void buildTensorStore(LoweringBuilder &builder, Value address,
                      ArrayRef<Value> registers, bool isOfHalves);

/// `prefetch.tensormap` (PTX ISA 9.7.9.15).
void buildTensorMapPrefetch(LoweringBuilder &builder, Value map);

/// log2 of an f32, `lg2.approx.ftz.f32` (PTX ISA 9.7.3.19).
Value buildLog2(LoweringBuilder &builder, Value x);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_INLINEPTX_H
