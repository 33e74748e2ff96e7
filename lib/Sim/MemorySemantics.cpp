//===- MemorySemantics.cpp - Memory family in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include "jfa/Dialect/TLX/IR/SharedLayout.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

FailureOr<Geometry> sim::getGeometry(Operation *op, tlx::MemDescType type) {
  FailureOr<ElementKind> kind = getKind(op, type.getElementType());
  FailureOr<tlx::SharedLayout> layout =
      tlx::getSharedLayout(type, [&] { return op->emitOpError(); });
  FailureOr<SmallVector<int64_t>> shape = type.getStaticShape();
  if (failed(kind) || failed(layout) || failed(shape)) {
    return failure();
  }
  Geometry geometry;
  geometry.kind = *kind;
  geometry.columns = shape->back();
  geometry.rows = shape->size() > 1 ? (*shape)[shape->size() - 2] : 1;
  geometry.transposed = type.getTransposed();
  if (geometry.transposed) {
    std::swap(geometry.rows, geometry.columns);
  }
  geometry.panelColumns = layout->panelColumns;
  geometry.panelStride = layout->panelStrideBytes;
  geometry.rowPitch = layout->rowPitchBytes;
  return geometry;
}

//===----------------------------------------------------------------------===//
// Buffers and views
//===----------------------------------------------------------------------===//

static LogicalResult buildAlloc(tlx::LocalAllocOp op, ProgramBuilder &builder) {
  if (op.getBuffer().getType().isInTensorMemory()) {
    return buildTensorAlloc(op, builder);
  }
  std::optional<int64_t> offset = op.getOffset();
  FailureOr<int64_t> bytes = op.getBuffer().getType().getSizeInBytes();
  if (!offset || failed(bytes)) {
    return op.emitOpError("expected buffers to be placed before a kernel is "
                          "simulated (tlx-allocate-memory)");
  }
  builder.getProgram().buffers.push_back({getSourceName(op, "the buffer"),
                                          *offset, *offset + *bytes,
                                          builder.getSite(op)});
  Slot buffer = builder.getSlot(op.getBuffer());
  builder.append(op, [buffer, offset](Machine &, Task &task) {
    task[buffer].integer = *offset;
  });
  return success();
}

int64_t TileRing::check(Machine &machine, const Task &task,
                        int64_t index) const {
  if (index >= 0 && index < count) {
    return index;
  }
  machine.fail(Fault::OutOfBounds, task.site,
               "expected an index from 0 to " + std::to_string(count - 1) +
                   " of " + name + ", but got " + std::to_string(index),
               {{site, "defined here"}});
  return 0;
}

Site sim::getDefinition(Operation *op, mlir::Value buffer,
                        ProgramBuilder &builder) {
  Operation *definition = buffer.getDefiningOp();
  return builder.getSite(definition ? definition : op);
}

TileRing sim::getTileRing(Operation *op, mlir::Value buffer, int64_t count,
                          ProgramBuilder &builder) {
  Operation *definition = buffer.getDefiningOp();
  if (!definition) {
    return {"a buffer", builder.getSite(op), count};
  }
  return {getSourceName(definition, "the buffer"), builder.getSite(definition),
          count};
}

static LogicalResult buildView(tlx::LocalViewOp op, ProgramBuilder &builder) {
  if (op.getView().getType().isInTensorMemory()) {
    return buildTensorView(op, builder);
  }
  FailureOr<int64_t> bytes = op.getView().getType().getSizeInBytes();
  auto type = op.getSource().getType();
  FailureOr<SmallVector<int64_t>> shape = type.getStaticShape();
  if (failed(bytes) || failed(shape)) {
    return failure();
  }
  Slot source = builder.getSlot(op.getSource());
  Slot index = builder.getSlot(op.getIndex());
  builder.noteDependence(op, op.getIndex());
  Slot view = builder.getSlot(op.getView());
  TileRing ring = getTileRing(op, op.getSource(), shape->front(), builder);
  builder.append(op, [=, size = *bytes](Machine &machine, Task &task) {
    int64_t at = ring.check(machine, task, task[index].integer);
    task[view] = task[source];
    task[view].integer += at * size;
  });
  return success();
}

static LogicalResult buildSlice(tlx::LocalSliceOp op, ProgramBuilder &builder) {
  if (op.getView().getType().isInTensorMemory()) {
    return buildTensorSlice(op, builder);
  }
  FailureOr<Geometry> from = getGeometry(op, op.getSource().getType());
  FailureOr<Geometry> to = getGeometry(op, op.getView().getType());
  if (failed(from) || failed(to)) {
    return failure();
  }
  Slot source = builder.getSlot(op.getSource());
  Slot view = builder.getSlot(op.getView());
  std::vector<Slot> offsets = builder.getSlots(op.getOffsets());
  for (mlir::Value offset : op.getOffsets()) {
    builder.noteDependence(op, offset);
  }
  FailureOr<tlx::SharedLayout> layout =
      tlx::getSharedLayout(op.getSource().getType());
  // Rows of a swizzle pattern, and columns of a panel.
  int64_t columnStep = succeeded(layout) ? layout->panelColumns : 1;
  bool transposed = from->transposed;
  Site tile = getDefinition(op, op.getSource(), builder);
  int64_t maxRow = from->rows - to->rows;
  int64_t maxColumn = from->columns - to->columns;
  builder.append(op, [=](Machine &machine, Task &task) {
    int64_t row = offsets.size() > 1 ? task[offsets[0]].integer : 0;
    int64_t column = task[offsets.back()].integer;
    if (transposed) {
      std::swap(row, column);
    }
    if (row < 0 || row > maxRow || column < 0 || column > maxColumn) {
      machine.fail(Fault::OutOfBounds, task.site,
                   "expected a slice inside of its tile, but it begins at "
                   "row " +
                       std::to_string(row) + ", column " +
                       std::to_string(column),
                   {{tile, "its tile is defined here"}});
      row = column = 0;
    }
    if (row % 8 != 0 || column % columnStep != 0) {
      machine.fail(Fault::OutOfBounds, task.site,
                   "expected a slice that begins at a multiple of 8 rows and " +
                       std::to_string(columnStep) +
                       " columns, but it begins at row " + std::to_string(row) +
                       ", column " + std::to_string(column),
                   {{tile, "its tile is defined here"}});
    }
    task[view] = task[source];
    task[view].row += row;
    task[view].column += column;
  });
  return success();
}

/// The type says how a view is read; where it lies stays the same.
template <typename Op>
static LogicalResult buildSameBytes(Op op, ProgramBuilder &builder) {
  builder.appendCopies(op, op.getSource(), op.getView());
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// A tile with rows and columns exchanged.
static TileRef transpose(const Tile &tile) {
  int64_t rows = tile.shape[0], columns = tile.shape[1];
  TileRef result(new Tile(tile.kind, {columns, rows}));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      auto from = size_t(r * columns + c), to = size_t(c * rows + r);
      if (isReal(tile.kind)) {
        result->reals[to] = tile.reals[from];
      } else {
        result->integers[to] = tile.integers[from];
      }
    }
  }
  return result;
}

static LogicalResult buildLoad(tlx::LocalLoadOp op, ProgramBuilder &builder) {
  if (op.getSource().getType().isInTensorMemory()) {
    return buildTensorLoad(op, builder);
  }
  FailureOr<Geometry> geometry = getGeometry(op, op.getSource().getType());
  if (failed(geometry)) {
    return failure();
  }
  Slot source = builder.getSlot(op.getSource());
  Slot tile = builder.getSlot(op.getTile());
  Shape shape = getShape(op.getTile().getType());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    View view = getView(*geometry, task[source]);
    bool isInside = machine.access(task, view, /*isWrite=*/false);
    if (!machine.computesValues()) {
      return;
    }
    if (!isInside) {
      task[tile].tile = TileRef(new Tile(geometry->kind, shape));
      return;
    }
    TileRef stored = machine.getShared(task).load(
        view, geometry->transposed ? Shape{shape[1], shape[0]} : shape);
    task[tile].tile = geometry->transposed ? transpose(*stored) : stored;
  });
  return success();
}

static LogicalResult buildStore(tlx::LocalStoreOp op, ProgramBuilder &builder) {
  if (op.getDestination().getType().isInTensorMemory()) {
    return buildTensorStore(op, builder);
  }
  FailureOr<Geometry> geometry = getGeometry(op, op.getDestination().getType());
  if (failed(geometry)) {
    return failure();
  }
  Slot destination = builder.getSlot(op.getDestination());
  Slot tile = builder.getSlot(op.getTile());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    View view = getView(*geometry, task[destination]);
    if (!machine.access(task, view, /*isWrite=*/true) ||
        !machine.computesValues()) {
      return;
    }
    const Tile &value = *task[tile].tile;
    machine.getShared(task).store(view, geometry->transposed ? *transpose(value)
                                                             : value);
  });
  return success();
}

static LogicalResult buildFence(tlx::FenceAsyncSharedOp op,
                                ProgramBuilder &builder) {
  builder.append(op, [](Machine &machine, Task &task) { machine.fence(task); });
  return success();
}

void sim::registerMemorySemantics(MLIRContext *context) {
  attach<tlx::LocalAllocOp, buildAlloc>(context);
  attach<tlx::LocalViewOp, buildView>(context);
  attach<tlx::LocalSliceOp, buildSlice>(context);
  attach<tlx::LocalTransOp, buildSameBytes<tlx::LocalTransOp>>(context);
  attach<tlx::LocalReinterpretOp, buildSameBytes<tlx::LocalReinterpretOp>>(
      context);
  attach<tlx::LocalLoadOp, buildLoad>(context);
  attach<tlx::LocalStoreOp, buildStore>(context);
  attach<tlx::FenceAsyncSharedOp, buildFence>(context);
}
