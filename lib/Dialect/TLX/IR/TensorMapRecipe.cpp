//===- TensorMapRecipe.cpp - How a tensor map is laid out in hardware -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TensorMapRecipe.h"

#include "jfa/Dialect/TLX/IR/SharedLayout.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// The buffer that a copy fills: the tile without its unit extents.
static MemDescType bufferOf(TensorMapType type, ArrayRef<int64_t> tile) {
  SmallVector<ExprAttr> shape;
  for (int64_t extent : tile) {
    if (extent != 1) {
      shape.push_back(ExprAttr::get(type.getContext(), extent));
    }
  }
  if (shape.empty()) {
    shape.push_back(ExprAttr::get(type.getContext(), 1));
  }
  return MemDescType::get(shape, type.getElement());
}

static void addAxis(TensorMapRecipe &recipe, int64_t axis) {
  bool segment = recipe.ragged && axis == 0;
  recipe.dims.push_back(
      {segment ? TensorMapDim::Kind::Segment : TensorMapDim::Kind::Axis, axis,
       1, recipe.tile[axis]});
}

FailureOr<TensorMapRecipe>
tlx::getTensorMapRecipe(TensorMapType type,
                        function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<SmallVector<int64_t>> tile = type.getStaticTile();
  if (failed(tile) || !type.getElementType()) {
    return emitError() << "expected every parameter of " << type
                       << " to be bound";
  }
  FailureOr<SharedLayout> layout =
      getSharedLayout(bufferOf(type, *tile), emitError);
  if (failed(layout)) {
    return failure();
  }
  TensorMapRecipe recipe{
      *tile, type.getElementType(), layout->swizzleBytes, type.getRagged(), {}};
  int64_t last = type.getRank() - 1;
  // Shared memory holds columns of a panel, then rows, then panels, then what
  // is outside of the tile.
  int64_t row = last - 1;
  while (row > 0 && (*tile)[row] == 1) {
    --row;
  }
  bool panels = layout->numPanels > 1;
  recipe.dims.push_back(
      {panels ? TensorMapDim::Kind::Inner : TensorMapDim::Kind::Axis, last, 1,
       panels ? layout->panelColumns : (*tile)[last]});
  if (row >= 0) {
    addAxis(recipe, row);
  }
  if (panels) {
    recipe.dims.push_back({TensorMapDim::Kind::Panel, last,
                           layout->panelColumns, layout->numPanels});
  }
  for (int64_t axis = last - 1; axis >= 0; --axis) {
    if (axis != row) {
      addAxis(recipe, axis);
    }
  }
  if (type.getRagged()) {
    recipe.dims.push_back({TensorMapDim::Kind::Position, 0, 1, 1});
  }
  if (recipe.dims.size() > 5) {
    return emitError() << "expected a map of at most 5 hardware dimensions "
                          "(PTX ISA 5.5), but "
                       << type << " needs " << recipe.dims.size();
  }
  for (const TensorMapDim &dim : recipe.dims) {
    if (dim.box > 256) {
      return emitError() << "expected at most 256 elements along an axis of a "
                            "box (PTX ISA 5.5), but "
                         << type << " has " << dim.box;
    }
  }
  return recipe;
}
