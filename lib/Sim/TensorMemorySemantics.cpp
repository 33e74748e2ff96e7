//===- TensorMemorySemantics.cpp - Tensor memory in the simulator -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product reads its factors and writes its sums in one stage after its start;
// a commit arrives when it comes to its turn after them. The thread that issues
// both has one queue, whose operations are done in order: PTX promises that of
// products with the same sums (9.7.16.6), and kernels rely on it for all.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

FailureOr<TensorView> sim::getTensorTile(Operation *op, tlx::MemDescType type) {
  FailureOr<ElementKind> kind = getKind(op, type.getElementType());
  FailureOr<SmallVector<int64_t>> shape = type.getStaticShape();
  if (failed(kind) || failed(shape)) {
    return failure();
  }
  return TensorView{*kind, (*shape)[shape->size() - 2], shape->back()};
}

LogicalResult sim::buildTensorAlloc(tlx::LocalAllocOp op,
                                    ProgramBuilder &builder) {
  std::optional<int64_t> offset = op.getOffset();
  FailureOr<int64_t> columns = tlx::getTensorColumns(op.getBuffer().getType());
  if (!offset || failed(columns)) {
    return op.emitOpError("expected buffers to be placed before a kernel is "
                          "simulated (tlx-allocate-memory)");
  }
  builder.getProgram().hasHalfTiles |=
      tlx::hasHalfTiles(op.getBuffer().getType());
  builder.getProgram().tensorBuffers.push_back({getSourceName(op, "the buffer"),
                                                *offset, *offset + *columns,
                                                builder.getSite(op)});
  Slot buffer = builder.getSlot(op.getBuffer());
  builder.append(op, [buffer, offset](Machine &, Task &task) {
    task[buffer].integer = *offset;
  });
  return success();
}

LogicalResult sim::buildTensorView(tlx::LocalViewOp op,
                                   ProgramBuilder &builder) {
  FailureOr<int64_t> columns =
      tlx::getTensorTileColumns(op.getView().getType());
  std::optional<int64_t> count =
      op.getSource().getType().getShape().front().getConstant();
  if (failed(columns) || !count) {
    return failure();
  }
  Slot source = builder.getSlot(op.getSource());
  Slot index = builder.getSlot(op.getIndex());
  builder.noteDependence(op, op.getIndex());
  Slot view = builder.getSlot(op.getView());
  TileRing ring = getTileRing(op, op.getSource(), *count, builder);
  bool isShared = tlx::hasHalfTiles(op.getView().getType());
  builder.append(op, [=, size = *columns](Machine &machine, Task &task) {
    int64_t number = ring.check(machine, task, task[index].integer);
    int64_t address = task[source].integer;
    if (isShared) {
      // Two tiles of 64 rows have the same columns.
      address += number % 2 * (tlx::kHalfTileLane << tlx::kTensorLaneShift);
      number /= 2;
    }
    task[view].integer = address + number * size;
  });
  return success();
}

LogicalResult sim::buildTensorSlice(tlx::LocalSliceOp op,
                                    ProgramBuilder &builder) {
  FailureOr<TensorView> from = getTensorTile(op, op.getSource().getType());
  FailureOr<TensorView> to = getTensorTile(op, op.getView().getType());
  if (failed(from) || failed(to)) {
    return failure();
  }
  Slot source = builder.getSlot(op.getSource());
  Slot view = builder.getSlot(op.getView());
  std::vector<Slot> offsets = builder.getSlots(op.getOffsets());
  for (mlir::Value offset : op.getOffsets()) {
    builder.noteDependence(op, offset);
  }
  int64_t last = from->columns - to->columns;
  int64_t bytes = getBytes(from->kind);
  Site tile = getDefinition(op, op.getSource(), builder);
  builder.append(op, [=](Machine &machine, Task &task) {
    int64_t row = task[offsets[0]].integer, column = task[offsets[1]].integer;
    if (row != 0 || column < 0 || column > last ||
        column * bytes % TensorMemory::kCellBytes != 0) {
      machine.fail(Fault::OutOfBounds, task.site,
                   "expected a slice of all lanes and of whole columns inside "
                   "of its tile, but it begins at row " +
                       std::to_string(row) + ", element " +
                       std::to_string(column),
                   {{tile, "its tile is defined here"}});
      column = 0;
    }
    task[view].integer =
        task[source].integer + column * bytes / TensorMemory::kCellBytes;
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

LogicalResult sim::buildTensorLoad(tlx::LocalLoadOp op,
                                   ProgramBuilder &builder) {
  FailureOr<TensorView> tile = getTensorTile(op, op.getSource().getType());
  if (failed(tile)) {
    return failure();
  }
  Slot source = builder.getSlot(op.getSource());
  Slot result = builder.getSlot(op.getTile());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    TensorView view = getView(*tile, task[source]);
    bool isInside = machine.access(task, view, /*isWrite=*/false);
    if (machine.computesValues()) {
      task[result].tile = isInside
                              ? machine.getTensor(task).load(view)
                              : TileRef(new Tile(view.kind, view.getShape()));
    }
  });
  return success();
}

LogicalResult sim::buildTensorStore(tlx::LocalStoreOp op,
                                    ProgramBuilder &builder) {
  FailureOr<TensorView> tile = getTensorTile(op, op.getDestination().getType());
  if (failed(tile)) {
    return failure();
  }
  Slot destination = builder.getSlot(op.getDestination());
  Slot source = builder.getSlot(op.getTile());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    TensorView view = getView(*tile, task[destination]);
    if (machine.access(task, view, /*isWrite=*/true) &&
        machine.computesValues()) {
      machine.getTensor(task).store(view, *task[source].tile);
    }
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// One product: where its factors and its sums are.
struct TensorProduct {
  Slot a, b, sums;
  std::optional<Slot> accumulate;
  /// A is in one of the two memories.
  std::optional<TensorView> tensorA;
  std::optional<Geometry> sharedA;
  Geometry sharedB;
  TensorView sumsTile;
  /// Where A and the sums are defined.
  Site aSite = 0, sumsSite = 0;
  /// Of the whole product.
  tlx::AsyncDotOp::Extents extents;
  /// That compute it, each with its part of the rows of A and columns of B.
  int64_t ctas = 1;

  int64_t getRows() const { return extents.m / ctas; }
  int64_t getColumns() const { return extents.n / ctas; }
};
} // namespace

static FailureOr<TensorProduct> getProduct(tlx::AsyncDotOp op,
                                           ProgramBuilder &builder) {
  TensorProduct product;
  auto aType = cast<tlx::MemDescType>(op.getA().getType());
  auto sumsType = cast<tlx::MemDescType>(op.getC().getType());
  FailureOr<Geometry> b = getGeometry(op, op.getB().getType());
  FailureOr<TensorView> sums = getTensorTile(op, sumsType);
  if (failed(b) || failed(sums)) {
    return failure();
  }
  if (aType.isInTensorMemory()) {
    FailureOr<TensorView> a = getTensorTile(op, aType);
    if (failed(a)) {
      return failure();
    }
    product.tensorA = *a;
  } else {
    FailureOr<Geometry> a = getGeometry(op, aType);
    if (failed(a)) {
      return failure();
    }
    product.sharedA = *a;
  }
  product.aSite = getDefinition(op, op.getA(), builder);
  product.sumsSite = getDefinition(op, op.getC(), builder);
  product.a = builder.getSlot(op.getA());
  product.b = builder.getSlot(op.getB());
  product.sums = builder.getSlot(op.getC());
  if (op.getAccumulate()) {
    product.accumulate = builder.getSlot(op.getAccumulate());
  }
  product.sharedB = *b;
  product.sumsTile = *sums;
  product.extents = op.getExtents();
  product.ctas = op.isOfPair() ? 2 : 1;
  return product;
}

TileRef sim::readShared(Machine &machine, AsyncOp &op, const View &view) {
  Shape shape{view.geometry.rows, view.geometry.columns};
  bool isInside = machine.access(op, view, /*isWrite=*/false);
  if (!machine.computesValues()) {
    return nullptr;
  }
  return isInside ? machine.getShared(op).load(view, shape)
                  : TileRef(new Tile(view.geometry.kind, shape));
}

TileRef sim::readTensor(Machine &machine, AsyncOp &op, const TensorView &view) {
  bool isInside = machine.access(op, view, /*isWrite=*/false);
  if (!machine.computesValues()) {
    return nullptr;
  }
  return isInside ? machine.getTensor(op).load(view)
                  : TileRef(new Tile(view.kind, view.getShape()));
}

/// Copies a part of `rows` x `columns` between tiles; each begins at a row and
/// a column of its tile.
static void copyPart(const Tile &from, int64_t fromRow, int64_t fromColumn,
                     Tile &to, int64_t toRow, int64_t toColumn, int64_t rows,
                     int64_t columns) {
  for (int64_t row = 0; row < rows; ++row) {
    const float *source =
        from.reals.data() + (fromRow + row) * from.shape[1] + fromColumn;
    std::copy(source, source + columns,
              to.reals.data() + (toRow + row) * to.shape[1] + toColumn);
  }
}

/// What a CTA has of a product whose B is in parts: part i is next to the ones
/// before it or, where the rows take half of the lanes, in the lanes after
/// theirs (PTX ISA 9.7.16.10.5, layouts A and B).
static TileRef multiplyParts(const TensorProduct &p, const Tile &a,
                             ArrayRef<TileRef> b, const Tile *sums) {
  int64_t rows = p.getRows(), columns = p.getColumns();
  bool isTransposed = p.sharedA && p.sharedA->transposed;
  if (b.size() == 1) {
    return multiply(a, isTransposed, *b[0], p.sharedB.transposed, sums, rows,
                    p.extents.k, columns);
  }
  TileRef result(
      new Tile(ElementKind::F32, {TensorMemory::kLanes, p.sumsTile.columns}));
  for (auto [i, part] : llvm::enumerate(b)) {
    bool isBeside = rows == TensorMemory::kLanes;
    int64_t row = isBeside ? 0 : int64_t(i) * rows;
    int64_t column = isBeside ? int64_t(i) * columns : 0;
    TileRef c;
    if (sums) {
      c = TileRef(new Tile(ElementKind::F32, {rows, columns}));
      copyPart(*sums, row, column, *c, 0, 0, rows, columns);
    }
    TileRef product = multiply(a, isTransposed, *part, p.sharedB.transposed,
                               c.get(), rows, p.extents.k, columns);
    copyPart(*product, 0, 0, *result, row, column, rows, columns);
  }
  return result;
}

/// Computes a product: every CTA's factors are read, then its sums written.
static void compute(const TensorProduct &p, Machine &machine, AsyncOp &op,
                    const sim::Value &left, const sim::Value &right,
                    const TensorView &sums, bool adds) {
  uint32_t first = op.rank;
  SmallVector<TileRef, 2> a, b;
  for (uint32_t i = 0; i < p.ctas; ++i) {
    op.rank = first + i;
    a.push_back(p.tensorA ? readTensor(machine, op, getView(*p.tensorA, left))
                          : readShared(machine, op, getView(*p.sharedA, left)));
    b.push_back(readShared(machine, op, getView(p.sharedB, right)));
  }
  for (uint32_t i = 0; i < p.ctas; ++i) {
    op.rank = first + i;
    TileRef c = adds ? readTensor(machine, op, sums) : nullptr;
    if (machine.access(op, sums, /*isWrite=*/true) &&
        machine.computesValues()) {
      machine.getTensor(op).store(sums, *multiplyParts(p, *a[i], b, c.get()));
    }
  }
  op.rank = first;
}

/// A product of a pair is the leader's to start.
static bool checkLeads(Machine &machine, Task &task) {
  if (task.rank % 2 == 0) {
    return true;
  }
  machine.fail(Fault::Illegal, task.site,
               task.name + " starts a product of a pair, which only the leader "
                           "does, the CTA of even rank in the cluster (PTX ISA "
                           "9.7.16.5.1)",
               {{kKernelSite, "its clusters begin with an even rank, which "
                              "leads the first pair"}});
  return false;
}

/// A and the sums of 64 rows lie in the same lanes.
static bool checkLanes(const TensorProduct &p, const sim::Value &left,
                       const TensorView &sums, Machine &machine, Task &task) {
  int64_t lane =
      p.tensorA ? getView(*p.tensorA, left).firstLane : sums.firstLane;
  if (lane == sums.firstLane) {
    return true;
  }
  machine.fail(
      Fault::Illegal, task.site,
      task.name + " starts a product of 64 rows whose A begins at lane " +
          std::to_string(lane) + " of tensor memory and whose sums at lane " +
          std::to_string(sums.firstLane) +
          ", which must be the same (PTX ISA 9.7.16.10.5)",
      {{p.aSite, "A is defined here"},
       {p.sumsSite, "the sums are defined here"}});
  return false;
}

LogicalResult sim::buildTensorDot(tlx::AsyncDotOp op, ProgramBuilder &builder) {
  FailureOr<TensorProduct> product = getProduct(op, builder);
  if (failed(product)) {
    return failure();
  }
  builder.appendVisible(op, [=, p = *product](Machine &machine, Task &task) {
    sim::Value left = task[p.a], right = task[p.b];
    TensorView sums = getView(p.sumsTile, task[p.sums]);
    bool adds = p.accumulate && (task[*p.accumulate].integer & 1) != 0;
    if ((p.ctas > 1 && !checkLeads(machine, task)) ||
        !checkLanes(p, left, sums, machine, task)) {
      return;
    }
    auto stage = [=](Machine &on, AsyncOp &self) {
      compute(p, on, self, left, right, sums, adds);
    };
    task.tensorDot = machine.issue(task, Queue::TensorDots, {stage});
    if (p.ctas > 1) {
      machine.reachPeer(task, task.tensorDot->epoch);
    }
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static LogicalResult buildCommit(tlx::Tcgen05CommitOp op,
                                 ProgramBuilder &builder) {
  Targets targets = getTargets(op, op.getMulticast(), builder);
  BarrierElement element =
      getBarrierElement(op, op.getBarrier(), op.getIndex(),
                        targets.mask ? Signals::Any : Signals::Own, builder);
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    std::optional<int64_t> barrier = element.get(machine, task);
    if (!barrier) {
      return;
    }
    for (uint32_t rank : targets.get(machine, task)) {
      int64_t number = machine.getRemoteBarrier(task, *barrier, rank);
      auto arrive = [=](Machine &on, AsyncOp &self) {
        on.commit(self, number);
      };
      AsyncRef commit = machine.issue(task, Queue::TensorDots, {arrive});
      commit->barrier = number;
      machine.reach(task, number, commit->epoch);
    }
  });
  return success();
}

static LogicalResult buildFence(tlx::Tcgen05FenceOp op,
                                ProgramBuilder &builder) {
  bool isBefore = op.getKind() == tlx::Tcgen05FenceKind::Before;
  builder.append(op, [=](Machine &machine, Task &task) {
    isBefore ? machine.fenceTensorBefore(task) : machine.fenceTensorAfter(task);
  });
  return success();
}

void sim::registerTensorMemorySemantics(MLIRContext *context) {
  attach<tlx::Tcgen05CommitOp, buildCommit>(context);
  attach<tlx::Tcgen05FenceOp, buildFence>(context);
}
