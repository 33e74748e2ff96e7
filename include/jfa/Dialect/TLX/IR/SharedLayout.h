//===- SharedLayout.h - How tiles lie in shared memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one description of where the elements of a tile lie in shared memory.
// Loads, stores, TMA boxes, wgmma descriptors and the allocation of buffers all
// derive their addresses from it (the type's documentation is in TLXTypes.td).
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_SHAREDLAYOUT_H
#define JFA_DIALECT_TLX_IR_SHAREDLAYOUT_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// How one tile lies in shared memory: panels of whole rows, one after the
/// other. Rows and columns are those stored, so that a transposed view has the
/// layout of the tile it views.
struct SharedLayout {
  /// Rows and columns of the whole tile, also for a slice of it. A rank-1
  /// buffer is one row.
  int64_t rows;
  int64_t columns;
  int64_t elementBytes;
  /// Bytes that the swizzle permutes in pieces of 16, 0 for plain arrays.
  int64_t swizzleBytes;
  /// Columns in one panel, and panels side by side.
  int64_t panelColumns;
  int64_t numPanels;
  int64_t panelStrideBytes;
  /// From a row to the next within a panel.
  int64_t rowPitchBytes;
  /// What the tile's address is a multiple of (tlx-allocate-memory sees to it,
  /// also for every tile of a ring). At such addresses the swizzle, which looks
  /// at absolute address bits, depends only on the offset.
  int64_t alignment;

  int64_t getSizeInBytes() const { return numPanels * panelStrideBytes; }
};

/// The layout of the tile that the last two dimensions of `type` describe (of
/// the only one, if it has rank 1). Fails, saying why through `emitError` if
/// given, where parameters are unbound or no such layout exists.
FailureOr<SharedLayout>
getSharedLayout(MemDescType type,
                function_ref<InFlightDiagnostic()> emitError = nullptr);

/// The swizzle (PTX ISA 5.5.7) of an offset from an address that is a multiple
/// of the layout's alignment: address bits 4 and up ^= bits 7 and up.
int64_t swizzle(const SharedLayout &layout, int64_t offset);

/// The byte at which element (`row`, `column`) of the stored tile begins,
/// counted from the tile's aligned start.
int64_t getByteOffset(const SharedLayout &layout, int64_t row, int64_t column);

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_IR_SHAREDLAYOUT_H
