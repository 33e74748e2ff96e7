//===- LayoutPropagation.h - Find a layout for every tile -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules by which the layouts of an op's tiles are related, and the search
// for a layout for every tile of a task that follows them.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_DIALECT_TLX_TRANSFORMS_LAYOUTPROPAGATION_H
#define JFA_LIB_DIALECT_TLX_TRANSFORMS_LAYOUTPROPAGATION_H

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/IntEqClasses.h"

namespace mlir::jfa::tlx {

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

/// Whether all tiles of one shape that `op` has share a layout. True of ops
/// that neither say otherwise (TileOpInterface) nor pass values between
/// regions.
bool sharesLayouts(Operation *op);

/// Whether `value` is a tile that costs nothing to make again in any layout: an
/// op without tile operands (a constant, a splat, an iota), or a change of the
/// shape of such a tile. It has no layout of its own.
bool isRemade(Value value, int64_t threads);

/// Whether making the tile again from its sources is cheaper than moving its
/// elements: a pure op that gives its operands' layouts for any layout of its
/// result, without more elements than that (expand_dims, broadcast).
bool isRemadeFromSources(Operation *op, int64_t threads);

/// The layout that the hardware demands of `use` for a task of this many
/// threads, or that follows from the results of its op; null if the operand
/// decides. `layoutOf` says the layouts of other values, null where unknown.
LayoutAttr getNeededLayout(OpOperand &use, int64_t threads,
                           function_ref<LayoutAttr(Value)> layoutOf);

/// The layout of a result of a TileOpInterface op that follows from the
/// layouts of its operands, or that the hardware demands; null if none does.
LayoutAttr getNaturalLayout(OpResult result, int64_t threads,
                            function_ref<LayoutAttr(Value)> layoutOf);

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// Starts from what the hardware demands and follows the rules in both
/// directions, breadth first, so that a tile takes the layout of the nearest
/// demand. What no demand reaches gets the default layout, in program order.
class LayoutPropagation {
public:
  explicit LayoutPropagation(AsyncTaskOp task);

  /// Fails, with a diagnostic, if a tile cannot have any layout.
  LogicalResult run();

  /// The layout found; null for tiles that are remade where they are used.
  LayoutAttr getLayout(Value tile) const;

  /// All tiles of the task, in program order.
  ArrayRef<Value> getTiles() const { return tiles; }

  /// The values that `operand` becomes when its op passes it to a region or out
  /// of one.
  ArrayRef<Value> getForwarded(OpOperand &operand) const;

private:
  LogicalResult collectTiles();
  void groupForwardedTiles();
  LogicalResult demand(Operation *op, Value value, LayoutAttr layout);
  LogicalResult seedDemands();
  void seedDefaults();
  void assign(Value tile, LayoutAttr layout);
  void propagate();
  void visitClass(unsigned number);
  void relate(Operation *op);
  void relateTileOp(TileOpInterface op);
  void relateShared(Operation *op);

  AsyncTaskOp task;
  int64_t threads;
  SmallVector<Value> tiles;
  /// The number of each tile, its place in `tiles`. Remade tiles have none.
  DenseMap<Value, unsigned> numbers;
  RegionBranchSuccessorMapping forwarded;

  /// Tiles that must have one layout, since one operand becomes all of them.
  llvm::IntEqClasses classes;
  /// For each class: its tiles, the operands that become them, its layout.
  SmallVector<SmallVector<Value>> members;
  SmallVector<SmallVector<OpOperand *>> feeders;
  SmallVector<LayoutAttr> layouts;
  SmallVector<unsigned> worklist;
};

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_DIALECT_TLX_TRANSFORMS_LAYOUTPROPAGATION_H
