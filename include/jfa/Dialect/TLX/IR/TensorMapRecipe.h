//===- TensorMapRecipe.h - How a tensor map is laid out in hardware -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map has up to five hardware dimensions (PTX ISA 5.5). This says
// which axis of the tensor each of them walks, so that the lowering of a copy
// and the host that encodes the map agree. It is what the manifest calls the
// recipe.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TENSORMAPRECIPE_H
#define JFA_DIALECT_TLX_IR_TENSORMAPRECIPE_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// Extent of the hardware dimension along which the segments of a ragged map
/// end. A copy of row r of a segment of length n starts at `kSegmentBound - n +
/// r`, so that rows past the end are out of bounds; the host moves the base
/// address back by as many rows. Measured to work at every address and stride.
inline constexpr int64_t kSegmentBound = int64_t(1) << 30;

/// One hardware dimension.
struct TensorMapDim {
  enum class Kind {
    Inner,   // columns within a panel
    Axis,    // an axis as it is
    Panel,   // panels of the last axis
    Segment, // axis 0 of a ragged map, bounded by the segment
    Position // axis 0 of a ragged map, where the segment ends
  };
  Kind kind;
  /// The axis of the tensor, and how many of its elements are one step.
  int64_t axis;
  int64_t step;
  /// Steps that one copy moves.
  int64_t box;
};

/// What the host needs to encode a map.
struct TensorMapRecipe {
  SmallVector<int64_t> tile;
  Type element;
  int64_t swizzleBytes;
  bool ragged;
  /// Innermost first.
  SmallVector<TensorMapDim> dims;
};

/// The recipe of a map type; fails, saying why, where parameters are unbound or
/// the hardware cannot express the map.
FailureOr<TensorMapRecipe>
getTensorMapRecipe(TensorMapType type,
                   function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_IR_TENSORMAPRECIPE_H
