//===- RegisterLayout.h - Arithmetic on register layouts -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How layouts of tiles follow from each other. Everything that needs to know
// which thread holds what (iota, reductions, masks, loads, stores, conversions)
// derives it from the modes of the layout; there is no list of layout kinds.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_REGISTERLAYOUT_H
#define JFA_DIALECT_TLX_IR_REGISTERLAYOUT_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// The accumulator of `wgmma` with the given tile, spread over `threads`
/// threads (a multiple of 128), each warpgroup holding 64 rows of every 64 *
/// warpgroups (PTX ISA 9.7.15.5.1). Packed in pairs, a 16-bit tile of this
/// layout is the A operand in registers.
LayoutAttr getAccumulatorLayout(MLIRContext *context, ArrayRef<int64_t> shape,
                                int64_t threads);

/// The layout given to tiles that nothing constrains: neighbouring threads hold
/// neighbouring elements of the last dimension, and each thread a 16-byte
/// vector of them where the extent allows.
LayoutAttr getDefaultLayout(RankedTensorType tile, int64_t threads);

/// The layout after the extent of `dim` has become 1: its modes go, threads
/// along it hold copies.
LayoutAttr collapseDim(LayoutAttr layout, unsigned dim);

/// The layout of the tile without dimension `dim`, whose extent is 1.
LayoutAttr dropDim(LayoutAttr layout, unsigned dim);

/// The layout of the tile with a new dimension of extent 1 at `dim`.
LayoutAttr insertDim(LayoutAttr layout, unsigned dim);

/// The layout of `tlx.partial_reduce`'s result, or null if a group would have
/// to be combined across threads.
LayoutAttr getPartialLayout(LayoutAttr layout, unsigned dim, int64_t groups,
                            int64_t run);

/// The coordinate that register `reg` adds to its thread's.
SmallVector<int64_t> getRegisterOffset(LayoutAttr layout, unsigned rank,
                                       int64_t reg);

/// The coordinate of register 0 of `thread`.
SmallVector<int64_t> getThreadOffset(LayoutAttr layout, unsigned rank,
                                     int64_t thread);

/// Checks that the layout covers every element of a tile of this shape.
LogicalResult verifyLayoutCovers(LayoutAttr layout, ArrayRef<int64_t> shape,
                                 function_ref<InFlightDiagnostic()> emitError);

/// The tile that a type is or that a product in flight will be, or null.
RankedTensorType getTileType(Type type);

/// `type`, a tile or one in flight, with another layout.
Type withLayout(Type type, LayoutAttr layout);

/// The layout of a tile or of one in flight, or null if it has none.
LayoutAttr getLayout(Type type);

/// How far elements have to move from one layout to another.
enum class ElementMovement {
  WithinThreads, // every thread has what it needs
  WithinWarps,   // every warp has what its threads need
  BetweenWarps
};
ElementMovement getElementMovement(LayoutAttr from, LayoutAttr to,
                                   ArrayRef<int64_t> shape);

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_IR_REGISTERLAYOUT_H
