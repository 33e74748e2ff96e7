//===- MemoryOps.cpp - Memory family: buffers in shared memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/Fragments.h"
#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/SharedLayout.h"
#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// LocalAllocOp
//===----------------------------------------------------------------------===//

LogicalResult LocalAllocOp::verify() {
  MemDescType type = getBuffer().getType();
  if (type.getTransposed() || !type.getAllocShape().empty()) {
    return emitOpError("expected a type that is no view, but got ") << type;
  }
  if (getAlias() && !getAlias().getDefiningOp<LocalAllocOp>()) {
    return emitOpError("expected 'alias' to name a buffer that "
                       "'tlx.local_alloc' made");
  }
  if (getAlias() &&
      getAlias().getType().getMemorySpace() != type.getMemorySpace()) {
    return emitOpError("expected 'alias' to name a buffer in the same memory, "
                       "but got ")
           << getAlias().getType() << " for " << type;
  }
  return success();
}

std::optional<TargetFeature> LocalAllocOp::getRequiredFeature() {
  return getBuffer().getType().isInTensorMemory()
             ? std::optional(TargetFeature::TensorMemory)
             : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static LogicalResult verifyViewType(Operation *op, Type expected, Type actual) {
  if (expected == actual) {
    return success();
  }
  return op->emitOpError("expected the view to have type ")
         << expected << ", but got " << actual;
}

LogicalResult LocalViewOp::verify() {
  MemDescType source = getSource().getType();
  // A tile in tensor memory has no rows that could be selected.
  int64_t minRank = source.isInTensorMemory() ? 3 : 2;
  if (source.getRank() < minRank || source.getTransposed() ||
      !source.getAllocShape().empty()) {
    return emitOpError("expected a ring of tiles that is itself no view, but "
                       "got ")
           << source;
  }
  std::optional<int64_t> extent = source.getShape()[0].getConstant();
  APInt index;
  if (extent && matchPattern(getIndex(), m_ConstantInt(&index)) &&
      (index.isNegative() || index.sge(*extent))) {
    return emitOpError("expected the index to be from 0 to ")
           << *extent - 1 << ", but got " << index.getSExtValue();
  }
  return verifyViewType(
      *this,
      MemDescType::get(source.getShape().drop_front(), source.getElement(),
                       /*allocShape=*/{}, /*transposed=*/false,
                       source.getMemorySpace()),
      getView().getType());
}

Value LocalViewOp::getViewSource() { return getSource(); }

/// Checks that element `begin` of a row begins a column of tensor memory.
static LogicalResult verifyTensorColumn(LocalSliceOp op, int64_t begin) {
  Type element = op.getSource().getType().getElementType();
  int64_t bits = element ? element.getIntOrFloatBitWidth() : kTensorCellBits;
  if (begin * bits % kTensorCellBits == 0) {
    return success();
  }
  return op.emitOpError("expected the column offset to begin a column of 32 "
                        "bits of tensor memory, but got ")
         << begin << " elements of " << element;
}

/// Within a panel the swizzle would permute the part otherwise than the whole.
static LogicalResult verifyPanel(LocalSliceOp op, int64_t begin) {
  FailureOr<SharedLayout> layout = getSharedLayout(op.getSource().getType());
  if (failed(layout) || begin % layout->panelColumns == 0) {
    return success();
  }
  return op.emitOpError("expected the column offset to be a multiple of ")
         << layout->panelColumns
         << ", the columns of a panel of the tile, but got " << begin;
}

LogicalResult LocalSliceOp::verify() {
  MemDescType source = getSource().getType(), view = getView().getType();
  if (source.getRank() != 2 || source.getTransposed()) {
    return emitOpError("expected a tile that is not transposed, but got ")
           << source;
  }
  if (getOffsets().size() != 2) {
    return emitOpError("expected 2 offsets, but got ") << getOffsets().size();
  }
  ArrayRef<ExprAttr> whole = source.getAllocShape().empty()
                                 ? source.getShape()
                                 : source.getAllocShape();
  if (source.isInTensorMemory()) {
    whole = {};
  }
  if (failed(verifyViewType(
          *this,
          MemDescType::get(view.getShape(), source.getElement(), whole,
                           /*transposed=*/false, source.getMemorySpace()),
          view))) {
    return failure();
  }
  for (unsigned dim : {0u, 1u}) {
    APInt offset;
    std::optional<int64_t> inner = view.getShape()[dim].getConstant();
    std::optional<int64_t> outer = source.getShape()[dim].getConstant();
    bool known = matchPattern(getOffsets()[dim], m_ConstantInt(&offset));
    int64_t begin = known ? offset.getSExtValue() : 0;
    if (inner && outer && (begin < 0 || begin + *inner > *outer)) {
      return emitOpError("expected the part to lie within dimension ")
             << dim << " of extent " << *outer << ", but it covers " << begin
             << " to " << begin + *inner - 1;
    }
    if (dim == 1 && source.isInTensorMemory() &&
        failed(verifyTensorColumn(*this, begin))) {
      return failure();
    }
    if (dim == 1 && !source.isInTensorMemory() &&
        failed(verifyPanel(*this, begin))) {
      return failure();
    }
    if (dim == 0 && known && begin % 8 != 0) {
      return emitOpError("expected the row offset to be a multiple of 8, the "
                         "rows of a swizzle pattern, but got ")
             << begin;
    }
  }
  return success();
}

Value LocalSliceOp::getViewSource() { return getSource(); }

static MemDescType transpose(MemDescType type) {
  SmallVector<ExprAttr> shape = {type.getShape()[1], type.getShape()[0]};
  SmallVector<ExprAttr> whole;
  if (!type.getAllocShape().empty()) {
    whole = {type.getAllocShape()[1], type.getAllocShape()[0]};
  }
  return MemDescType::get(shape, type.getElement(), whole,
                          !type.getTransposed());
}

LogicalResult LocalTransOp::verify() {
  MemDescType source = getSource().getType();
  if (source.getRank() != 2) {
    return emitOpError("expected a tile of 2 dimensions, but got ") << source;
  }
  if (source.isInTensorMemory()) {
    return emitOpError("expected a tile in shared memory, but got ") << source;
  }
  return verifyViewType(*this, transpose(source), getView().getType());
}

OpFoldResult LocalTransOp::fold(FoldAdaptor) {
  if (auto inner = getSource().getDefiningOp<LocalTransOp>()) {
    return inner.getSource();
  }
  return {};
}

Value LocalTransOp::getViewSource() { return getSource(); }

LogicalResult LocalReinterpretOp::verify() {
  MemDescType source = getSource().getType(), view = getView().getType();
  for (MemDescType type : {source, view}) {
    if (type.getTransposed() || !type.getAllocShape().empty()) {
      return emitOpError("expected whole buffers, but got ") << type;
    }
  }
  if (source.getMemorySpace() != view.getMemorySpace()) {
    return emitOpError("expected a view in the same memory, but got ")
           << view << " of " << source;
  }
  FailureOr<int64_t> before = source.getSizeInBytes();
  FailureOr<int64_t> after = view.getSizeInBytes();
  if (succeeded(before) && succeeded(after) && *before != *after) {
    return emitOpError("expected a type of ")
           << *before << " bytes, but got " << view << " of " << *after;
  }
  return success();
}

OpFoldResult LocalReinterpretOp::fold(FoldAdaptor) {
  if (getSource().getType() == getView().getType()) {
    return getSource();
  }
  return {};
}

Value LocalReinterpretOp::getViewSource() { return getSource(); }

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static LogicalResult verifyTileMatchesBuffer(Operation *op,
                                             RankedTensorType tile,
                                             MemDescType buffer) {
  Type element = buffer.getElementType();
  FailureOr<SmallVector<int64_t>> shape = buffer.getStaticShape();
  if ((element && tile.hasStaticShape() && tile.getElementType() != element) ||
      (succeeded(shape) && tile.hasStaticShape() &&
       tile.getShape() != ArrayRef(*shape)) ||
      tile.getRank() != buffer.getRank()) {
    return op->emitOpError("expected the tile and the buffer to agree in shape "
                           "and element type, but got ")
           << tile << " and " << buffer;
  }
  return success();
}

/// Checks that the task can reach all of a tile in tensor memory.
static LogicalResult verifyTensorAccess(Operation *op, RankedTensorType tile,
                                        MemDescType buffer) {
  AsyncTaskOp task = getEnclosingTask(op);
  std::optional<int64_t> warps =
      task ? task.getWarps().getConstant() : std::nullopt;
  if (!buffer.isInTensorMemory() || !warps || !tile.hasStaticShape()) {
    return success();
  }
  if (buffer.getRank() != 2) {
    return op->emitOpError("expected a tile of 2 dimensions, but got ")
           << buffer;
  }
  // Each thread holds whole columns of its row: of 64 rows, two of a warp those
  // of one.
  int64_t parts = *warps / 4 * (hasHalfTiles(buffer) ? 2 : 1);
  int64_t columns =
      tile.getDimSize(1) * tile.getElementTypeBitWidth() / kTensorCellBits;
  if (*warps % 4 == 0 && columns % parts == 0) {
    return success();
  }
  InFlightDiagnostic diag = op->emitOpError("expected ");
  if (*warps % 4 == 0 && hasHalfTiles(buffer)) {
    diag << "a multiple of " << parts
         << " columns in a row of 64, which two threads of each warpgroup "
            "share (PTX ISA 9.7.16.2.3), but got "
         << columns;
  } else {
    diag << "a task of whole warpgroups that share a row's " << columns
         << " columns evenly, since each warp of a warpgroup reaches 32 lanes "
            "of tensor memory (PTX ISA 9.7.16.2.3)";
  }
  diag.attachNote(task.getLoc()) << "this task has " << *warps << " warps";
  return diag;
}

/// The proxy through which a task reads and writes a buffer.
static Proxy getProxy(MemDescType buffer) {
  return buffer.isInTensorMemory() ? Proxy::Tensor : Proxy::Generic;
}

/// Checks that a tile accessed by fragments may lie as accumulators do.
template <typename Op>
static LogicalResult verifyFragments(Op op, RankedTensorType tile,
                                     MemDescType buffer) {
  AsyncTaskOp task = getEnclosingTask(op);
  // 0 as long as it is a parameter.
  int64_t warps = task ? task.getWarps().getConstant().value_or(0) : 0;
  if (!op.getFragments() || warps == 0 || !tile.hasStaticShape()) {
    return success();
  }
  bool isOfQuads = tile.getRank() == 2 && tile.getElementType().isF32() &&
                   warps % 4 == 0 && tile.getDimSize(0) % (16 * warps) == 0 &&
                   tile.getDimSize(1) % 8 == 0;
  if (isOfQuads && !buffer.isInTensorMemory()) {
    return success();
  }
  InFlightDiagnostic diag =
      op.emitOpError("expected sums in f32, in shared memory, of 64 rows for "
                     "each warpgroup of the task and a multiple of 8 columns, "
                     "which fragments are of, but got ")
      << tile;
  diag.attachNote(task.getLoc()) << "this task has " << warps << " warps";
  return diag;
}

template <typename Op>
static LayoutAttr getAccessLayout(Op op, RankedTensorType tile,
                                  MemDescType buffer, int64_t threads) {
  if (op.getFragments() && tile.hasStaticShape()) {
    return getAccumulatorLayout(tile.getContext(), tile.getShape(), threads);
  }
  return buffer.isInTensorMemory() && tile.hasStaticShape()
             ? getTensorMemoryLayout(tile.getContext(), tile.getShape(),
                                     threads)
             : LayoutAttr();
}

LogicalResult LocalLoadOp::verify() {
  RankedTensorType tile = getTile().getType();
  MemDescType buffer = getSource().getType();
  return success(succeeded(verifyTileMatchesBuffer(*this, tile, buffer)) &&
                 succeeded(verifyTensorAccess(*this, tile, buffer)) &&
                 succeeded(verifyFragments(*this, tile, buffer)));
}

void LocalLoadOp::getBufferAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getSourceMutable(), /*isWrite=*/false,
                      getProxy(getSource().getType()), getUnfenced()});
}

LayoutAttr LocalLoadOp::getRequiredResultLayout(unsigned, int64_t threads) {
  return getAccessLayout(*this, getTile().getType(), getSource().getType(),
                         threads);
}

LogicalResult LocalStoreOp::verify() {
  RankedTensorType tile = getTile().getType();
  MemDescType buffer = getDestination().getType();
  Type element = buffer.getElementType();
  if (buffer.isInTensorMemory() && element &&
      element.getIntOrFloatBitWidth() > kTensorCellBits) {
    return emitOpError("expected elements of at most ")
           << kTensorCellBits << " bits, a column of tensor memory, but got "
           << element;
  }
  return success(succeeded(verifyTileMatchesBuffer(*this, tile, buffer)) &&
                 succeeded(verifyTensorAccess(*this, tile, buffer)) &&
                 succeeded(verifyFragments(*this, tile, buffer)));
}

void LocalStoreOp::getBufferAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getDestinationMutable(), /*isWrite=*/true,
                      getProxy(getDestination().getType()), getUnfenced()});
}

LayoutAttr LocalStoreOp::getRequiredOperandLayout(unsigned operand,
                                                  int64_t threads) {
  return operand == 0 ? getAccessLayout(*this, getTile().getType(),
                                        getDestination().getType(), threads)
                      : LayoutAttr();
}
