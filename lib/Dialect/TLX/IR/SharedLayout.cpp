//===- SharedLayout.cpp - How tiles lie in shared memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/SharedLayout.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Plain arrays can be accessed in vectors and by bulk copies.
static constexpr int64_t kArrayAlignment = 16;
/// Rows after which every swizzle pattern repeats.
static constexpr int64_t kPatternRows = 8;
/// The widest swizzle, and so the width of a panel.
static constexpr int64_t kPanelBytes = 128;

/// The stored extents of the whole tile: rows and columns.
static FailureOr<std::pair<int64_t, int64_t>> getTileShape(MemDescType type) {
  ArrayRef<ExprAttr> dims =
      type.getAllocShape().empty() ? type.getShape() : type.getAllocShape();
  std::optional<int64_t> columns = dims.back().getConstant();
  std::optional<int64_t> rows = 1;
  if (dims.size() > 1) {
    rows = dims[dims.size() - 2].getConstant();
  }
  if (!rows || !columns) {
    return failure();
  }
  return type.getTransposed() ? std::pair(*columns, *rows)
                              : std::pair(*rows, *columns);
}

static SharedLayout getArrayLayout(int64_t columns, int64_t elementBytes) {
  int64_t bytes = columns * elementBytes;
  return {/*rows=*/1,
          columns,
          elementBytes,
          /*swizzleBytes=*/0,
          /*panelColumns=*/columns,
          /*numPanels=*/1,
          /*panelStrideBytes=*/bytes,
          /*rowPitchBytes=*/bytes,
          kArrayAlignment};
}

/// The swizzle of rows of this many bytes, or 0 if there is none.
static int64_t getSwizzleBytes(int64_t rowBytes) {
  if (rowBytes > 0 && rowBytes % kPanelBytes == 0) {
    return kPanelBytes;
  }
  return rowBytes == 64 || rowBytes == 32 ? rowBytes : 0;
}

FailureOr<SharedLayout>
tlx::getSharedLayout(MemDescType type,
                     function_ref<InFlightDiagnostic()> emitError) {
  if (type.isInTensorMemory()) {
    if (emitError) {
      emitError() << "expected a buffer in shared memory, but got " << type;
    }
    return failure();
  }
  FailureOr<std::pair<int64_t, int64_t>> shape = getTileShape(type);
  Type element = type.getElementType();
  if (failed(shape) || !element) {
    if (emitError) {
      emitError() << "expected a buffer without parameters, but got " << type;
    }
    return failure();
  }
  auto [rows, columns] = *shape;
  int64_t elementBytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  if (type.getRank() == 1) {
    return getArrayLayout(columns, elementBytes);
  }
  int64_t rowBytes = columns * elementBytes;
  int64_t swizzleBytes = getSwizzleBytes(rowBytes);
  if (swizzleBytes == 0 || rows % kPatternRows != 0) {
    if (emitError) {
      emitError() << "expected a tile whose rows are 32, 64 or a multiple of "
                     "128 bytes and whose number of rows is a multiple of 8 "
                     "(PTX ISA 5.5.7), but got "
                  << rows << " rows of " << rowBytes << " bytes in " << type;
    }
    return failure();
  }
  return SharedLayout{rows,
                      columns,
                      elementBytes,
                      swizzleBytes,
                      /*panelColumns=*/swizzleBytes / elementBytes,
                      /*numPanels=*/rowBytes / swizzleBytes,
                      /*panelStrideBytes=*/rows * swizzleBytes,
                      /*rowPitchBytes=*/swizzleBytes,
                      /*alignment=*/kPatternRows * swizzleBytes};
}

int64_t tlx::swizzle(const SharedLayout &layout, int64_t offset) {
  if (layout.swizzleBytes == 0) {
    return offset;
  }
  // Pieces of 16 bytes change places within a row.
  return offset ^ ((offset >> 3) & (layout.swizzleBytes - 16));
}

int64_t tlx::getByteOffset(const SharedLayout &layout, int64_t row,
                           int64_t column) {
  int64_t panel = column / layout.panelColumns;
  int64_t within = column % layout.panelColumns;
  return swizzle(layout, panel * layout.panelStrideBytes +
                             row * layout.rowPitchBytes +
                             within * layout.elementBytes);
}
