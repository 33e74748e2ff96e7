//===- LayoutPropagation.cpp - Find a layout for every tile -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutPropagation.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Registers that a tile may take in a thread; see LayoutAttr::verify.
static constexpr int64_t kMaxElementsPerThread = 4096;

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

bool tlx::sharesLayouts(Operation *op) {
  return !isa<TileOpInterface, RegionBranchOpInterface,
              RegionBranchTerminatorOpInterface>(op);
}

static bool hasTileOperand(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), getTileType);
}

/// Whether every tile operand's layout follows from the result's.
static bool followsFromResult(Operation *op, int64_t threads) {
  auto tileOp = dyn_cast<TileOpInterface>(op);
  if (!tileOp) {
    return false;
  }
  RankedTensorType type = getTileType(op->getResult(0).getType());
  LayoutAttr layout = getDefaultLayout(type, threads);
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return !getTileType(operand.get().getType()) ||
           tileOp.inferOperandLayout(0, layout, operand.getOperandNumber());
  });
}

bool tlx::isRemadeFromSources(Operation *op, int64_t threads) {
  if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isPure(op)) {
    return false;
  }
  if (!hasTileOperand(op)) {
    return true;
  }
  int64_t elements = getTileType(op->getResult(0).getType()).getNumElements();
  for (Type type : op->getOperandTypes()) {
    RankedTensorType tile = getTileType(type);
    if (tile && tile.getNumElements() > elements) {
      return false;
    }
  }
  return followsFromResult(op, threads);
}

bool tlx::isRemade(Value value, int64_t threads) {
  Operation *op = value.getDefiningOp();
  return isRemadeFromSources(op, threads) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !getTileType(operand.getType()) || isRemade(operand, threads);
         });
}

/// The layout that all tiles of `shape` of an op that shares layouts have.
static LayoutAttr getSharedLayout(Operation *op, ArrayRef<int64_t> shape,
                                  function_ref<LayoutAttr(Value)> layoutOf) {
  auto find = [&](ValueRange values) -> LayoutAttr {
    for (Value value : values) {
      RankedTensorType tile = getTileType(value.getType());
      LayoutAttr layout =
          tile && tile.getShape() == shape ? layoutOf(value) : LayoutAttr();
      if (layout) {
        return layout;
      }
    }
    return {};
  };
  LayoutAttr layout = find(op->getResults());
  return layout ? layout : find(op->getOperands());
}

LayoutAttr tlx::getNeededLayout(OpOperand &use, int64_t threads,
                                function_ref<LayoutAttr(Value)> layoutOf) {
  Operation *op = use.getOwner();
  if (sharesLayouts(op)) {
    RankedTensorType tile = getTileType(use.get().getType());
    return getSharedLayout(op, tile.getShape(), layoutOf);
  }
  auto tileOp = dyn_cast<TileOpInterface>(op);
  if (!tileOp) {
    return {};
  }
  unsigned operand = use.getOperandNumber();
  if (LayoutAttr demanded = tileOp.getRequiredOperandLayout(operand, threads)) {
    return demanded;
  }
  for (OpResult result : op->getResults()) {
    LayoutAttr layout = layoutOf(result);
    LayoutAttr needed = layout ? tileOp.inferOperandLayout(
                                     result.getResultNumber(), layout, operand)
                               : LayoutAttr();
    if (needed) {
      return needed;
    }
  }
  return {};
}

LayoutAttr tlx::getNaturalLayout(OpResult result, int64_t threads,
                                 function_ref<LayoutAttr(Value)> layoutOf) {
  auto op = cast<TileOpInterface>(result.getOwner());
  unsigned number = result.getResultNumber();
  if (LayoutAttr demanded = op.getRequiredResultLayout(number, threads)) {
    return demanded;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    LayoutAttr layout = getTileType(operand.get().getType())
                            ? layoutOf(operand.get())
                            : LayoutAttr();
    LayoutAttr natural =
        layout
            ? op.inferResultLayout(operand.getOperandNumber(), layout, number)
            : LayoutAttr();
    if (natural) {
      return natural;
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Setting up the search
//===----------------------------------------------------------------------===//

LayoutPropagation::LayoutPropagation(AsyncTaskOp task)
    : task(task), threads(task.getNumWarps() * 32) {}

/// Checks that a layout is able to describe `tile`.
static LogicalResult verifyTile(Value value, RankedTensorType tile,
                                int64_t threads) {
  if (!tile.hasStaticShape() ||
      llvm::any_of(tile.getShape(),
                   [](int64_t extent) { return extent < 1; })) {
    return emitError(value.getLoc(), "expected a tile of static extents of at "
                                     "least 1, but got ")
           << tile;
  }
  if (tile.getNumElements() > threads * kMaxElementsPerThread) {
    return emitError(value.getLoc(), "expected a tile of at most ")
           << kMaxElementsPerThread << " elements for each of the task's "
           << threads << " threads, but got " << tile;
  }
  return success();
}

/// Checks that the rules say something about `op`.
static LogicalResult verifyOp(Operation *op) {
  bool hasTile =
      hasTileOperand(op) || llvm::any_of(op->getResultTypes(), getTileType);
  if (!hasTile || !sharesLayouts(op) ||
      isa_and_nonnull<TLXDialect>(op->getDialect()) ||
      op->hasTrait<OpTrait::Elementwise>() ||
      op->hasTrait<OpTrait::ConstantLike>()) {
    return success();
  }
  return op->emitOpError("expected tiles to be used only by elementwise ops, "
                         "structured control flow and the tlx dialect");
}

LogicalResult LayoutPropagation::collectTiles() {
  auto collect = [&](ValueRange values) -> LogicalResult {
    for (Value value : values) {
      if (RankedTensorType tile = getTileType(value.getType())) {
        if (failed(verifyTile(value, tile, threads))) {
          return failure();
        }
        tiles.push_back(value);
      }
    }
    return success();
  };
  WalkResult walk = task.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) -> WalkResult {
        if (failed(verifyOp(op)) || failed(collect(op->getResults()))) {
          return WalkResult::interrupt();
        }
        for (Region &region : op->getRegions()) {
          for (Block &block : region) {
            if (failed(collect(block.getArguments()))) {
              return WalkResult::interrupt();
            }
          }
        }
        if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
          branch.getSuccessorOperandInputMapping(forwarded);
        }
        return WalkResult::advance();
      });
  return failure(walk.wasInterrupted());
}

void LayoutPropagation::groupForwardedTiles() {
  for (auto [number, tile] : llvm::enumerate(tiles)) {
    if (!isRemade(tile, threads)) {
      numbers[tile] = number;
    }
  }
  classes.grow(tiles.size());
  for (auto &[operand, values] : forwarded) {
    for (Value value : values) {
      if (numbers.contains(value)) {
        classes.join(numbers[values.front()], numbers[value]);
      }
    }
  }
  classes.compress();
  members.resize(classes.getNumClasses());
  feeders.resize(classes.getNumClasses());
  layouts.resize(classes.getNumClasses());
  for (auto [number, tile] : llvm::enumerate(tiles)) {
    members[classes[number]].push_back(tile);
    for (OpOperand &use : tile.getUses()) {
      ArrayRef<Value> values = getForwarded(use);
      if (!values.empty()) {
        feeders[classes[numbers[values.front()]]].push_back(&use);
      }
    }
  }
}

LogicalResult LayoutPropagation::demand(Operation *op, Value value,
                                        LayoutAttr layout) {
  if (!layout) {
    return success();
  }
  RankedTensorType tile = getTileType(value.getType());
  auto emit = [&]() {
    InFlightDiagnostic diag = op->emitOpError();
    diag.attachNote(task.getLoc())
        << "the " << threads << " threads of this task would have to hold "
        << tile << " in layout " << layout;
    return diag;
  };
  if (failed(verifyLayoutCovers(layout, tile.getShape(), emit))) {
    return failure();
  }
  assign(value, layout);
  return success();
}

LogicalResult LayoutPropagation::seedDemands() {
  WalkResult results = task.getBody().walk([&](TileOpInterface op) {
    for (OpResult result : op->getResults()) {
      unsigned number = result.getResultNumber();
      if (failed(demand(op, result,
                        op.getRequiredResultLayout(number, threads)))) {
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  if (results.wasInterrupted()) {
    return failure();
  }
  // Operands come second: an op makes its results where it must, while an
  // operand may be moved.
  WalkResult operands = task.getBody().walk([&](TileOpInterface op) {
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      if (failed(demand(op, operand.get(),
                        op.getRequiredOperandLayout(number, threads)))) {
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(operands.wasInterrupted());
}

void LayoutPropagation::seedDefaults() {
  auto defaultOf = [&](Value value) {
    LayoutAttr layout = getLayout(value);
    return layout ? layout
                  : getDefaultLayout(getTileType(value.getType()), threads);
  };
  for (Value tile : tiles) {
    LayoutAttr layout;
    if (tile.getDefiningOp<TileOpInterface>()) {
      layout = getNaturalLayout(cast<OpResult>(tile), threads, defaultOf);
    }
    assign(tile, layout ? layout : defaultOf(tile));
    propagate();
  }
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

LogicalResult LayoutPropagation::run() {
  if (failed(collectTiles())) {
    return failure();
  }
  groupForwardedTiles();
  if (failed(seedDemands())) {
    return failure();
  }
  propagate();
  seedDefaults();
  return success();
}

LayoutAttr LayoutPropagation::getLayout(Value tile) const {
  auto it = numbers.find(tile);
  return it == numbers.end() ? LayoutAttr() : layouts[classes[it->second]];
}

ArrayRef<Value> LayoutPropagation::getForwarded(OpOperand &operand) const {
  auto it = forwarded.find(&operand);
  return it == forwarded.end() ? ArrayRef<Value>() : ArrayRef(it->second);
}

void LayoutPropagation::assign(Value tile, LayoutAttr layout) {
  auto it = numbers.find(tile);
  if (!layout || it == numbers.end()) {
    return;
  }
  unsigned number = classes[it->second];
  if (!layouts[number]) {
    layouts[number] = layout;
    worklist.push_back(number);
  }
}

void LayoutPropagation::propagate() {
  // Breadth first: the worklist grows while it is read.
  for (size_t next = 0; next < worklist.size(); ++next) {
    visitClass(worklist[next]);
  }
  worklist.clear();
}

void LayoutPropagation::visitClass(unsigned number) {
  for (Value tile : members[number]) {
    if (Operation *op = tile.getDefiningOp()) {
      relate(op);
    }
    for (OpOperand &use : tile.getUses()) {
      relate(use.getOwner());
      for (Value value : getForwarded(use)) {
        assign(value, layouts[number]);
      }
    }
  }
  for (OpOperand *feeder : feeders[number]) {
    assign(feeder->get(), layouts[number]);
  }
}

void LayoutPropagation::relate(Operation *op) {
  if (auto tileOp = dyn_cast<TileOpInterface>(op)) {
    relateTileOp(tileOp);
  } else if (sharesLayouts(op)) {
    relateShared(op);
  }
}

void LayoutPropagation::relateTileOp(TileOpInterface op) {
  auto layoutOf = [&](Value value) { return getLayout(value); };
  for (OpResult result : op->getResults()) {
    assign(result, getNaturalLayout(result, threads, layoutOf));
  }
  for (OpOperand &operand : op->getOpOperands()) {
    if (getTileType(operand.get().getType())) {
      assign(operand.get(), getNeededLayout(operand, threads, layoutOf));
    }
  }
}

void LayoutPropagation::relateShared(Operation *op) {
  auto layoutOf = [&](Value value) { return getLayout(value); };
  auto share = [&](Value value) {
    if (RankedTensorType tile = getTileType(value.getType())) {
      assign(value, getSharedLayout(op, tile.getShape(), layoutOf));
    }
  };
  llvm::for_each(op->getResults(), share);
  llvm::for_each(op->getOperands(), share);
}
