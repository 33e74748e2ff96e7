//===- Sim.h - Running a kernel in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What tools and passes call.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_SIM_H
#define JFA_SIM_SIM_H

#include "jfa/Dialect/TLX/IR/TLX.h"
#include "jfa/Sim/SimInterfaces.h"

namespace mlir::jfa::sim {

/// A kernel made ready to run, with the places that its sites stand for.
struct Simulation {
  tlx::KernelOp kernel;
  Program program;
  std::vector<Location> sites;
  bool values;
  /// Which ops' effects depend on which inputs. Without values only.
  std::vector<Dependence> dependences;

  /// The argument of that name, or null.
  const Argument *findArgument(StringRef name) const;
};

/// Builds the program of a kernel that is specialised and whose buffers are
/// placed. Fails after a diagnostic.
FailureOr<std::unique_ptr<Simulation>> buildSimulation(tlx::KernelOp kernel,
                                                       bool values);

/// Checks that the threads and the registers that the kernel's tasks ask for
/// can be granted. Fails after a diagnostic.
LogicalResult checkBudgets(tlx::KernelOp kernel);

/// What a kernel is launched with.
struct Launch {
  std::vector<GlobalArray> arrays;
  /// One for each argument: a scalar, or the number of an array.
  std::vector<Value> arguments;
  /// A multiple of the program's clusters.
  uint32_t ctas = 1;
  /// Whether generic reads too need a proxy fence before asynchronous writes.
  bool strictProxy = true;
  /// After so many instructions a cluster's run is taken for endless.
  uint64_t maxInstructions = kMaxInstructions;
};

/// How long the longest of the clusters took.
struct Length {
  uint64_t steps = 0, instructions = 0;
};

/// Runs every cluster of the grid that no other one cancels, one after the
/// other: none may wait for another. `progress` gets the last CTA that is done.
Length run(const Simulation &simulation, Launch &launch, Schedule &schedule,
           Report &report, Trace *trace = nullptr,
           function_ref<void(uint32_t cta)> progress = nullptr);

/// Emits every finding as an error at its op, with notes.
void emitFindings(const Simulation &simulation, const Report &report);

} // namespace mlir::jfa::sim

#endif // JFA_SIM_SIM_H
