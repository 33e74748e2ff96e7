//===- InputDependence.h - What depends on the inputs ------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which scalars and views of a kernel depend on which of its inputs. A run
// without values knows what it is launched with; what others notice must not
// depend on the rest, or the run has seen one of several kernels.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_INPUTDEPENDENCE_H
#define JFA_SIM_INPUTDEPENDENCE_H

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::jfa::sim {

/// Where scalars come from: arguments of the kernel, and results of ops that
/// read memory or make scalars of tiles.
using Sources = llvm::SmallSetVector<mlir::Value, 4>;

/// An op whose effect depends on inputs of the kernel.
struct Dependence {
  Operation *op;
  Sources sources;
};

class InputDependence {
public:
  InputDependence() = default;
  /// Follows the inputs of a kernel through its ops, regions included.
  explicit InputDependence(tlx::KernelOp kernel);

  /// What a value depends on; empty if on constants only.
  const Sources &get(mlir::Value value) const;

private:
  void visit(Operation *op);
  void visitRegions(RegionBranchOpInterface op);
  bool isSource(OpResult result) const;
  void add(mlir::Value value, const Sources &sources);

  llvm::DenseMap<mlir::Value, Sources> sources;
  bool hasChanged = false;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_INPUTDEPENDENCE_H
