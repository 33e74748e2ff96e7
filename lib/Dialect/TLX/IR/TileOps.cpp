//===- TileOps.cpp - Tile family: tiles in registers -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

SmallVector<ExprAttr> tlx::getTileDims(RankedTensorType tile) {
  if (auto dims = dyn_cast_or_null<DimsAttr>(tile.getEncoding())) {
    return llvm::to_vector(dims.getDims());
  }
  return llvm::map_to_vector(tile.getShape(), [&](int64_t extent) {
    return ExprAttr::get(tile.getContext(), extent);
  });
}

/// Checks dimensions and element type of a result that `expected` describes.
static LogicalResult verifyResult(Operation *op, RankedTensorType source,
                                  ArrayRef<ExprAttr> expected,
                                  RankedTensorType result) {
  if (source.getElementType() == result.getElementType() &&
      getTileDims(result) == expected) {
    return success();
  }
  InFlightDiagnostic diag = op->emitOpError("expected a result of shape [");
  llvm::interleaveComma(expected, diag,
                        [&](ExprAttr dim) { diag << dim.str(); });
  return diag << "] and element type " << source.getElementType()
              << ", but got " << result;
}

static LogicalResult verifyDim(Operation *op, int64_t dim, int64_t limit) {
  if (dim >= 0 && dim < limit) {
    return success();
  }
  if (limit == 0) {
    return op->emitOpError("expected a tile of at least 1 dimension");
  }
  return op->emitOpError("expected 'dim' to be from 0 to ")
         << limit - 1 << ", but got " << dim;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  RankedTensorType source = getSource().getType();
  if (failed(verifyDim(*this, int32_t(getDim()), source.getRank()))) {
    return failure();
  }
  SmallVector<ExprAttr> expected = getTileDims(source);
  expected.erase(expected.begin() + getDim());
  return verifyResult(*this, source, expected, getResult().getType());
}

LayoutAttr ReduceOp::inferResultLayout(unsigned, LayoutAttr layout, unsigned) {
  return dropDim(layout, getDim());
}

LogicalResult PartialReduceOp::verify() {
  RankedTensorType source = getSource().getType();
  if (failed(verifyDim(*this, int32_t(getDim()), source.getRank()))) {
    return failure();
  }
  if (int32_t(getGroups()) < 1 || int32_t(getRun()) < 1) {
    return emitOpError("expected 'groups' and 'run' to be positive, but got ")
           << int32_t(getGroups()) << " and " << int32_t(getRun());
  }
  SmallVector<ExprAttr> expected = getTileDims(source);
  std::optional<int64_t> extent = expected[getDim()].getConstant();
  if (extent && *extent % (int64_t(getGroups()) * getRun()) != 0) {
    return emitOpError("expected the extent of dimension ")
           << getDim() << " to be a multiple of groups * run = "
           << int64_t(getGroups()) * getRun() << ", but got " << *extent;
  }
  expected[getDim()] = ExprAttr::get(getContext(), int64_t(getGroups()));
  return verifyResult(*this, source, expected, getResult().getType());
}

LayoutAttr PartialReduceOp::inferResultLayout(unsigned, LayoutAttr layout,
                                              unsigned) {
  return getPartialLayout(layout, getDim(), getGroups(), getRun());
}

//===----------------------------------------------------------------------===//
// Shape changes
//===----------------------------------------------------------------------===//

LogicalResult ExpandDimsOp::verify() {
  RankedTensorType source = getSource().getType();
  if (failed(verifyDim(*this, int32_t(getDim()), source.getRank() + 1))) {
    return failure();
  }
  SmallVector<ExprAttr> expected = getTileDims(source);
  expected.insert(expected.begin() + getDim(), ExprAttr::get(getContext(), 1));
  return verifyResult(*this, source, expected, getResult().getType());
}

LayoutAttr ExpandDimsOp::inferResultLayout(unsigned, LayoutAttr layout,
                                           unsigned) {
  return insertDim(layout, getDim());
}

LayoutAttr ExpandDimsOp::inferOperandLayout(unsigned, LayoutAttr layout,
                                            unsigned) {
  return dropDim(layout, getDim());
}

LogicalResult BroadcastOp::verify() {
  SmallVector<ExprAttr> source = getTileDims(getSource().getType());
  SmallVector<ExprAttr> expected = getTileDims(getResult().getType());
  if (source.size() != expected.size()) {
    return emitOpError("expected the result to have ")
           << source.size() << " dimensions, but got " << expected.size();
  }
  for (auto [from, to] : llvm::zip_equal(source, expected)) {
    if (from.getConstant() != std::optional<int64_t>(1)) {
      to = from;
    }
  }
  return verifyResult(*this, getSource().getType(), expected,
                      getResult().getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getSource().getType() == getResult().getType()
             ? OpFoldResult(getSource())
             : OpFoldResult();
}

LayoutAttr BroadcastOp::inferOperandLayout(unsigned, LayoutAttr layout,
                                           unsigned) {
  RankedTensorType source = getSource().getType();
  for (int64_t dim = 0; dim < source.getRank(); ++dim) {
    if (source.getDimSize(dim) == 1) {
      layout = collapseDim(layout, dim);
    }
  }
  return layout;
}

//===----------------------------------------------------------------------===//
// Sources of tiles
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  return verifyDim(*this, int32_t(getDim()), getResult().getType().getRank());
}

LogicalResult PrefixMaskOp::verify() {
  RankedTensorType result = getResult().getType();
  if (failed(verifyDim(*this, int32_t(getDim()), result.getRank()))) {
    return failure();
  }
  SmallVector<ExprAttr> expected = getTileDims(result);
  expected.erase(expected.begin() + getDim());
  if (getTileDims(getLimit().getType()) == expected) {
    return success();
  }
  return emitOpError("expected limits of the shape of the result without "
                     "dimension ")
         << getDim() << ", but got " << getLimit().getType() << " for "
         << result;
}

LayoutAttr PrefixMaskOp::inferOperandLayout(unsigned, LayoutAttr layout,
                                            unsigned) {
  return dropDim(layout, getDim());
}

LogicalResult SplatOp::verify() {
  if (getResult().getType().getElementType() == getScalar().getType()) {
    return success();
  }
  return emitOpError("expected a tile of ")
         << getScalar().getType() << ", but got " << getResult().getType();
}

//===----------------------------------------------------------------------===//
// ConvertLayoutOp
//===----------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType source = getSource().getType();
  RankedTensorType result = getResult().getType();
  if (source.getShape() == result.getShape() &&
      source.getElementType() == result.getElementType()) {
    return success();
  }
  return emitOpError("expected a result of the shape and element type of ")
         << source << ", but got " << result;
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  return getSource().getType() == getResult().getType()
             ? OpFoldResult(getSource())
             : OpFoldResult();
}

int64_t ConvertLayoutOp::getScratchBytes() {
  RankedTensorType tile = getSource().getType();
  LayoutAttr from = getLayout(tile), to = getLayout(getResult().getType());
  if (!from || !to ||
      getElementMovement(from, to, tile.getShape()) ==
          ElementMovement::WithinThreads) {
    return 0;
  }
  Type element = tile.getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return llvm::alignTo(tile.getNumElements() * llvm::divideCeil(bits, 8), 16);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Checks that value, index and mask are all scalars or tiles of one shape, and
/// that the value is of the array's element type.
static LogicalResult verifyGlobalAccess(Operation *op, PointerType pointer,
                                        Type value, Type index, Type mask) {
  auto tile = dyn_cast<RankedTensorType>(value);
  for (Type other : {index, mask}) {
    auto otherTile = dyn_cast_or_null<RankedTensorType>(other);
    if (!other) {
      continue;
    }
    if (bool(tile) != bool(otherTile) ||
        (tile && getTileDims(tile) != getTileDims(otherTile))) {
      return op->emitOpError("expected value, index and mask to be scalars or "
                             "tiles of one shape, but got ")
             << value << " and " << other;
    }
  }
  Type element = tile ? tile.getElementType() : value;
  Type expected = pointer.getElementType();
  if (expected && element != expected) {
    return op->emitOpError("expected a value of ")
           << expected << ", the element of " << pointer << ", but got "
           << value;
  }
  return success();
}

LogicalResult GlobalLoadOp::verify() {
  if (getOther() && getOther().getType() != getResult().getType()) {
    return emitOpError("expected 'other' to have the type of the result, ")
           << getResult().getType() << ", but got " << getOther().getType();
  }
  if (getOther() && !getMask()) {
    return emitOpError("expected a mask, since there is an 'other'");
  }
  return verifyGlobalAccess(*this, getPointer().getType(),
                            getResult().getType(), getIndex().getType(),
                            getMask() ? getMask().getType() : Type());
}

LogicalResult GlobalStoreOp::verify() {
  return verifyGlobalAccess(*this, getPointer().getType(), getValue().getType(),
                            getIndex().getType(),
                            getMask() ? getMask().getType() : Type());
}

//===----------------------------------------------------------------------===//
// InMaskedTailOp
//===----------------------------------------------------------------------===//

OpFoldResult InMaskedTailOp::fold(FoldAdaptor adaptor) {
  auto induction = dyn_cast_or_null<IntegerAttr>(adaptor.getInduction());
  auto first = dyn_cast_or_null<IntegerAttr>(adaptor.getFirst());
  if (!induction || !first) {
    return {};
  }
  return BoolAttr::get(getContext(),
                       induction.getValue().sge(first.getValue()));
}
