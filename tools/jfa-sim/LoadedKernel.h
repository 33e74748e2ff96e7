//===- LoadedKernel.h - A kernel that is ready to run -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_SIM_LOADEDKERNEL_H
#define JFA_TOOLS_JFA_SIM_LOADEDKERNEL_H

#include "Options.h"

#include "jfa/Sim/Sim.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::jfa::sim {

enum ExitCode { kRight = 0, kWrongValues = 1, kViolation = 2, kBadUsage = 3 };

/// Says what is wrong; returns kBadUsage.
int fail(const std::string &message);

/// A kernel that is ready to run, with the sources that messages quote.
struct LoadedKernel {
  std::unique_ptr<llvm::SourceMgr> sources;
  std::unique_ptr<SourceMgrDiagnosticHandler> handler;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Simulation> simulation;
  /// The parameter HEAD_DIM, or 0.
  int64_t headDim = 0, rotary = 0;
  bool rotatesInputs = false;
  /// Whether sums of dq have an order, by DETERMINISTIC or COPIES.
  bool deterministic = false;
  /// Whether sums of dq lie as threads hold them.
  bool hasFragments = false;
};

/// Reads a file, specialises its kernels and places their buffers. Fails after
/// a diagnostic.
LogicalResult load(const Options &options, const std::string &file,
                   MLIRContext &context, LoadedKernel &loaded);

/// Builds the simulation of the kernel that is wanted of a file that has been
/// loaded. Returns kRight, or else an exit code after saying why.
int build(const Options &options, const std::string &file,
          LoadedKernel &loaded);

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_JFA_SIM_LOADEDKERNEL_H
