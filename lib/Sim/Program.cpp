//===- Program.cpp - A kernel made ready to run -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::jfa::sim {
#include "jfa/Sim/SimInterfaces.cpp.inc"
} // namespace mlir::jfa::sim

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

std::optional<ElementKind> sim::getElementKind(Type type) {
  if (type.isF32()) {
    return ElementKind::F32;
  }
  if (type.isBF16()) {
    return ElementKind::BF16;
  }
  if (type.isF16()) {
    return ElementKind::F16;
  }
  if (isa<Float8E4M3FNType>(type)) {
    return ElementKind::E4M3;
  }
  if (isa<Float8E5M2Type>(type)) {
    return ElementKind::E5M2;
  }
  if (type.isIndex() || type.isInteger(64)) {
    return ElementKind::I64;
  }
  if (type.isInteger(1)) {
    return ElementKind::I1;
  }
  if (type.isInteger(8)) {
    return ElementKind::I8;
  }
  if (type.isInteger(16)) {
    return ElementKind::I16;
  }
  if (type.isInteger(32)) {
    return ElementKind::I32;
  }
  return std::nullopt;
}

std::optional<ElementKind> sim::getElementKindOrSelf(Type type) {
  return getElementKind(getElementTypeOrSelf(type));
}

std::string sim::getSourceName(Operation *op, StringRef what) {
  if (auto named = op->getLoc()->findInstanceOf<NameLoc>()) {
    return "%" + named.getName().str();
  }
  if (auto line = op->getLoc()->findInstanceOf<FileLineColLoc>()) {
    return what.str() + " of line " + std::to_string(line.getLine());
  }
  return what.str();
}

Slot ProgramBuilder::getSlot(mlir::Value value) {
  auto [it, isNew] = slots.try_emplace(value, 0);
  if (isNew) {
    it->second = makeSlot();
  }
  return it->second;
}

std::vector<Slot> ProgramBuilder::getSlots(ValueRange range) {
  std::vector<Slot> result;
  for (mlir::Value value : range) {
    result.push_back(getSlot(value));
  }
  return result;
}

Site ProgramBuilder::getSite(Operation *op) {
  auto [it, isNew] = siteNumbers.try_emplace(op, Site(sites.size()));
  if (isNew) {
    sites.push_back(op->getLoc());
    program.siteNames.push_back(op->getName().getStringRef().str());
  }
  return it->second;
}

Site ProgramBuilder::getSite(BlockArgument argument, StringRef name) {
  sites.push_back(argument.getLoc());
  program.siteNames.push_back(name.str());
  return Site(sites.size()) - 1;
}

void ProgramBuilder::append(Operation *op, Run run, bool isVisible) {
  code->push_back({std::move(run), getSite(op), isVisible});
}

void ProgramBuilder::noteDependence(Operation *op, mlir::Value value) {
  if (const Sources &sources = inputs.get(value); !sources.empty()) {
    dependences.push_back({op, sources});
  }
}

LogicalResult ProgramBuilder::appendBlock(Block &block) {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      continue; // its parent knows what it means
    }
    auto simulatable = dyn_cast<SimulatableOpInterface>(op);
    if (!simulatable) {
      return op.emitError("expected an op that can be simulated, but '")
             << op.getName() << "' does not implement SimulatableOpInterface";
    }
    if (failed(simulatable.buildProgram(*this))) {
      return failure();
    }
  }
  return success();
}

void ProgramBuilder::appendCopies(Operation *op, ValueRange from,
                                  ValueRange to) {
  std::vector<std::pair<Slot, Slot>> copies;
  for (auto [source, target] : llvm::zip_equal(from, to)) {
    if (values || !isa<ShapedType>(source.getType())) {
      copies.emplace_back(getSlot(source), getSlot(target));
    }
  }
  if (copies.empty()) {
    return;
  }
  append(op, [copies](Machine &, Task &task) {
    // A target may be another copy's source.
    SmallVector<sim::Value, 8> held;
    for (auto [source, target] : copies) {
      held.push_back(task[source]);
    }
    for (auto [value, copy] : llvm::zip_equal(held, copies)) {
      task[copy.second] = std::move(value);
    }
  });
}
