//===- SimInterfaces.h - What ops mean to the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface through which every op says how to execute it, and the builder
// of the program that it adds to.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_SIMINTERFACES_H
#define JFA_SIM_SIMINTERFACES_H

#include "jfa/Sim/InputDependence.h"
#include "jfa/Sim/Machine.h"

#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::jfa::sim {

/// Turns a kernel into a program, op by op.
class ProgramBuilder {
public:
  ProgramBuilder(Program &program, std::vector<Location> &sites, bool values,
                 InputDependence inputs)
      : program(program), sites(sites), values(values),
        inputs(std::move(inputs)) {}

  /// Whether tiles are computed, or only the order of things.
  bool computesValues() const { return values; }

  /// The slot of a value.
  Slot getSlot(mlir::Value value);
  /// The slots of some values.
  std::vector<Slot> getSlots(ValueRange values);
  /// A slot for the use of instructions alone.
  Slot makeSlot() { return program.numSlots++; }
  Site getSite(Operation *op);
  Site getSite(BlockArgument argument, StringRef name);

  using Run = std::function<void(Machine &, Task &)>;
  /// Appends an instruction that only its own task can notice.
  void append(Operation *op, Run run) { append(op, std::move(run), false); }
  /// Appends one that others can notice.
  void appendVisible(Operation *op, Run run) {
    append(op, std::move(run), true);
  }
  /// Appends one that may jump to `target`, or always does.
  void appendBranch(Operation *op, std::shared_ptr<const size_t> target,
                    bool always, Run run) {
    append(op, std::move(run), false);
    code->back().target = std::move(target);
    code->back().isJump = always;
  }
  /// The place of the next instruction.
  size_t getPlace() const { return code->size(); }
  /// A jump whose target is not known yet.
  std::shared_ptr<size_t> makeTarget() { return std::make_shared<size_t>(0); }

  /// Appends all ops of a block, the terminator included.
  LogicalResult appendBlock(Block &block);
  /// Copies values at once, as on an edge of control flow.
  void appendCopies(Operation *op, ValueRange from, ValueRange to);

  /// Notes that what others notice of `op` depends on `value`: whether it is
  /// done, how often, or to which buffer or barrier and in which phase.
  void noteDependence(Operation *op, mlir::Value value);
  /// What has been noted, of values that depend on inputs.
  std::vector<Dependence> takeDependences() { return std::move(dependences); }

  Program &getProgram() { return program; }
  /// Makes the list to which instructions are appended from now on.
  void setCode(Code &list) { code = &list; }
  /// The task that is being built; its number in the program.
  uint32_t getTask() const { return uint32_t(program.tasks.size()) - 1; }
  /// Which array of mbarriers a value is, and which array in global memory.
  llvm::DenseMap<mlir::Value, uint32_t> barrierArrays;

private:
  void append(Operation *op, Run run, bool isVisible);

  Program &program;
  std::vector<Location> &sites;
  bool values;
  InputDependence inputs;
  std::vector<Dependence> dependences;
  Code *code = nullptr;
  llvm::DenseMap<mlir::Value, Slot> slots;
  llvm::DenseMap<Operation *, Site> siteNumbers;
};

/// How the simulator keeps elements of a type; none if it cannot.
std::optional<ElementKind> getElementKind(Type type);
/// The element kind and the shape of a tile.
std::optional<ElementKind> getElementKindOrSelf(Type type);

/// Lets every op of tlx, arith, math and scf be simulated.
void registerSimExtensions(DialectRegistry &registry);

} // namespace mlir::jfa::sim

#include "jfa/Sim/SimInterfaces.h.inc"

#endif // JFA_SIM_SIMINTERFACES_H
