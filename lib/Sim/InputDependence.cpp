//===- InputDependence.cpp - What depends on the inputs ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes round until nothing changes: values only gain sources, and there are
// few.
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/InputDependence.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

/// Tiles are not followed: a scalar that is made of one is a source.
static bool isFollowed(mlir::Value value) {
  return !isa<ShapedType>(value.getType());
}

InputDependence::InputDependence(tlx::KernelOp kernel) {
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    // What a pointer or a tensor map leads to is another matter.
    if (argument.getType().isIntOrIndexOrFloat()) {
      sources[argument].insert(argument);
    }
  }
  do {
    hasChanged = false;
    kernel.getBody().walk([&](Operation *op) { visit(op); });
  } while (hasChanged);
}

const Sources &InputDependence::get(mlir::Value value) const {
  static const Sources none;
  auto it = sources.find(value);
  return it == sources.end() ? none : it->second;
}

void InputDependence::add(mlir::Value value, const Sources &more) {
  if (!isFollowed(value) || more.empty()) {
    return;
  }
  Sources &own = sources[value];
  for (mlir::Value source : more) {
    hasChanged |= own.insert(source);
  }
}

/// A scalar that is read from memory or made of a tile.
bool InputDependence::isSource(OpResult result) const {
  Operation *op = result.getOwner();
  return isFollowed(result) && op->getNumRegions() == 0 &&
         // Every answer of launch control is tried.
         !isa<tlx::ClcQueryOp>(op) &&
         (hasEffect<MemoryEffects::Read>(op) ||
          llvm::any_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>));
}

void InputDependence::visit(Operation *op) {
  if (auto regions = dyn_cast<RegionBranchOpInterface>(op)) {
    return visitRegions(regions);
  }
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    return; // its parent knows where its operands go
  }
  Sources all;
  for (mlir::Value operand : op->getOperands()) {
    all.insert_range(get(operand));
  }
  for (OpResult result : op->getResults()) {
    add(result, all);
    if (isSource(result)) {
      Sources itself;
      itself.insert(result);
      add(result, itself);
    }
  }
}

/// The operands that are not passed on.
static void collectControl(Operation *op,
                           const RegionBranchSuccessorMapping &forwarded,
                           SmallVectorImpl<mlir::Value> &control) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!forwarded.contains(&operand)) {
      control.push_back(operand.get());
    }
  }
}

void InputDependence::visitRegions(RegionBranchOpInterface op) {
  RegionBranchSuccessorMapping forwarded;
  op.getSuccessorOperandInputMapping(forwarded);
  for (auto &[operand, inputs] : forwarded) {
    // A copy: adding may move what is got.
    Sources own = get(operand->get());
    for (mlir::Value input : inputs) {
      add(input, own);
    }
  }
  // What is not passed on decides where control goes.
  SmallVector<mlir::Value> control;
  collectControl(op, forwarded, control);
  for (Region &region : op->getRegions()) {
    for (Block &block : region) {
      collectControl(block.getTerminator(), forwarded, control);
    }
  }
  Sources all;
  for (mlir::Value value : control) {
    all.insert_range(get(value));
  }
  for (mlir::Value result : op->getResults()) {
    add(result, all);
  }
  for (Region &region : op->getRegions()) {
    for (mlir::Value argument : region.getArguments()) {
      add(argument, all);
    }
  }
}
