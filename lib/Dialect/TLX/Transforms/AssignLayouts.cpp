//===- AssignLayouts.cpp - Give every tile a register layout ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the layouts that LayoutPropagation finds into the types, and makes
// tiles again, or moves them, where they are needed in another one. Afterwards
// verifyLayouts holds.
//
//===----------------------------------------------------------------------===//

#include "LayoutPropagation.h"
#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Support/DebugStringHelper.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_ASSIGNLAYOUTSPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

static LayoutAttr layoutOf(Value value) { return getLayout(value.getType()); }

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

/// Says what a conversion costs.
static void remarkOnConversion(ConvertLayoutOp convert, Operation *user) {
  RankedTensorType tile = convert.getSource().getType();
  ElementMovement movement = getElementMovement(
      layoutOf(convert.getSource()), layoutOf(convert), tile.getShape());
  auto options = remark::RemarkOpts::name("convert_layout")
                     .category("layout")
                     .function(convert->getParentOfType<KernelOp>().getName());
  std::string what = "converting " +
                     debugString(RankedTensorType::get(tile.getShape(),
                                                       tile.getElementType())) +
                     " for '" + user->getName().getStringRef().str() + "' ";
  switch (movement) {
  case ElementMovement::WithinThreads:
    remark::analysis(convert.getLoc(), options)
        << what + "only renames registers";
    return;
  case ElementMovement::WithinWarps:
    remark::missed(convert.getLoc(), options)
        << what + "exchanges elements between the threads of each warp";
    return;
  case ElementMovement::BetweenWarps:
    remark::missed(convert.getLoc(), options)
        << what + "costs a round trip through shared memory";
    return;
  }
}

//===----------------------------------------------------------------------===//
// Rewriting a task
//===----------------------------------------------------------------------===//

namespace {
/// Brings the tiles of one task into the layouts found.
class LayoutRewriter {
public:
  LayoutRewriter(AsyncTaskOp task, const LayoutPropagation &found)
      : task(task), found(found), threads(task.getNumWarps() * 32),
        builder(task.getContext()) {}

  void run();

private:
  void setTypes();
  void fixOperands(Operation *op);
  void fixResults(TileOpInterface op);
  LayoutAttr getWantedLayout(OpOperand &use);
  /// `value` in another layout, for `user`. Available where `value` is.
  Value bring(Value value, LayoutAttr layout, Operation *user);
  Value remake(Operation *op, LayoutAttr layout, Operation *user);
  Value convert(Value value, LayoutAttr layout, Operation *user);
  void eraseUnused();

  AsyncTaskOp task;
  const LayoutPropagation &found;
  int64_t threads;
  OpBuilder builder;
  /// What has been made of a tile in a layout, and of which tile it was made.
  DenseMap<std::pair<Value, LayoutAttr>, Value> made;
  DenseMap<Value, Value> origins;
};
} // namespace

void LayoutRewriter::run() {
  setTypes();
  SmallVector<Operation *> ops;
  task.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    // Tiles that are remade have no layout until something uses them.
    if (op->getNumResults() == 1 && isTile(op->getResult(0)) &&
        !layoutOf(op->getResult(0))) {
      continue;
    }
    fixOperands(op);
    if (auto tileOp = dyn_cast<TileOpInterface>(op)) {
      fixResults(tileOp);
    }
  }
  eraseUnused();
}

void LayoutRewriter::setTypes() {
  for (Value tile : found.getTiles()) {
    if (LayoutAttr layout = found.getLayout(tile)) {
      tile.setType(withLayout(tile.getType(), layout));
    }
  }
}

LayoutAttr LayoutRewriter::getWantedLayout(OpOperand &use) {
  ArrayRef<Value> forwarded = found.getForwarded(use);
  LayoutAttr wanted = forwarded.empty()
                          ? getNeededLayout(use, threads, layoutOf)
                          : layoutOf(forwarded.front());
  wanted = wanted ? wanted : layoutOf(use.get());
  return wanted ? wanted
                : getDefaultLayout(getTileType(use.get().getType()), threads);
}

void LayoutRewriter::fixOperands(Operation *op) {
  for (OpOperand &use : op->getOpOperands()) {
    // Products in flight stay where they are; the wait's result is moved.
    if (isTile(use.get())) {
      use.set(bring(use.get(), getWantedLayout(use), op));
    }
  }
}

void LayoutRewriter::fixResults(TileOpInterface op) {
  for (OpResult result : op->getResults()) {
    LayoutAttr wanted = layoutOf(result);
    LayoutAttr natural = getNaturalLayout(result, threads, layoutOf);
    if (!isTile(result) || !natural || natural == wanted) {
      continue;
    }
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : result.getUses()) {
      uses.push_back(&use);
    }
    result.setType(withLayout(result.getType(), natural));
    for (OpOperand *use : uses) {
      use->set(bring(result, wanted, use->getOwner()));
    }
  }
}

Value LayoutRewriter::bring(Value value, LayoutAttr layout, Operation *user) {
  if (layoutOf(value) == layout) {
    return value;
  }
  Value origin = origins.lookup(value);
  origin = origin ? origin : value;
  if (layoutOf(origin) == layout) {
    return origin;
  }
  if (Value known = made.lookup({origin, layout})) {
    return known;
  }
  Operation *op = origin.getDefiningOp();
  Value result = isRemadeFromSources(op, threads)
                     ? remake(op, layout, user)
                     : convert(origin, layout, user);
  made[{origin, layout}] = result;
  origins[result] = origin;
  return result;
}

Value LayoutRewriter::remake(Operation *op, LayoutAttr layout,
                             Operation *user) {
  IRMapping operands;
  for (OpOperand &use : op->getOpOperands()) {
    if (isTile(use.get())) {
      LayoutAttr needed = cast<TileOpInterface>(op).inferOperandLayout(
          0, layout, use.getOperandNumber());
      operands.map(use.get(), bring(use.get(), needed, user));
    }
  }
  builder.setInsertionPointAfter(op);
  Operation *clone = builder.clone(*op, operands);
  Value result = clone->getResult(0);
  result.setType(withLayout(result.getType(), layout));
  // A constant repeats its type in its value.
  if (auto constant = dyn_cast<arith::ConstantOp>(clone)) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    constant.setValueAttr(elements.reshape(cast<ShapedType>(result.getType())));
  }
  return result;
}

Value LayoutRewriter::convert(Value value, LayoutAttr layout, Operation *user) {
  // Next to the tile rather than to its use: once for all uses, and outside of
  // the loops that it is used in.
  builder.setInsertionPointAfterValue(value);
  auto convert = ConvertLayoutOp::create(
      builder, user->getLoc(), withLayout(value.getType(), layout), value,
      /*offset=*/IntegerAttr());
  remarkOnConversion(convert, user);
  return convert;
}

void LayoutRewriter::eraseUnused() {
  for (Value tile : llvm::reverse(found.getTiles())) {
    Operation *op = tile.getDefiningOp();
    if (isRemadeFromSources(op, threads) && op->use_empty()) {
      op->erase();
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Dense resources cannot be given another type in place.
static LogicalResult checkConstants(AsyncTaskOp task) {
  WalkResult walk = task.walk([](arith::ConstantOp op) {
    if (!isTile(op) || isa<DenseElementsAttr>(op.getValue())) {
      return WalkResult::advance();
    }
    op.emitOpError("expected a tile of dense elements, but got ")
        << op.getValue();
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult assignLayouts(AsyncTaskOp task) {
  if (task.getNumWarps() == 0) {
    return task.emitOpError("expected a known number of warps; run "
                            "tlx-specialize first");
  }
  LayoutPropagation propagation(task);
  if (failed(checkConstants(task)) || failed(propagation.run())) {
    return failure();
  }
  LayoutRewriter(task, propagation).run();
  return verifyLayouts(task);
}

namespace {
struct AssignLayoutsPass
    : public tlx::impl::AssignLayoutsPassBase<AssignLayoutsPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk(
        [](AsyncTaskOp task) { return WalkResult(assignLayouts(task)); });
    if (walk.wasInterrupted()) {
      signalPassFailure();
    }
  }
};
} // namespace
