//===- Launches.h - What kernels are verified with -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches that show the orders and numbers of steps that a kernel may take.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_SIM_LAUNCHES_H
#define LIB_SIM_LAUNCHES_H

#include "jfa/Sim/Sim.h"

namespace mlir::jfa::sim {

/// The attribute that says which arguments are trip counts.
inline constexpr StringLiteral kTripCounts = "tlx.trip_counts";

/// The arguments that the attribute names.
SmallVector<StringRef> getTripCounts(tlx::KernelOp kernel);

/// For attention: every number of steps alone, and all of them one after the
/// other in one cluster; and tiles with rows for some of the replicas only,
/// each before one with rows for all. False if the kernel has other arguments
/// than attention.
bool makeAttentionLaunches(tlx::KernelOp kernel, const Simulation &simulation,
                           std::vector<Launch> &launches);

/// For any kernel: all combinations of its trip counts. Returns why there are
/// none.
std::string makeTripCountLaunches(tlx::KernelOp kernel,
                                  const Simulation &simulation,
                                  std::vector<Launch> &launches);

} // namespace mlir::jfa::sim

#endif // LIB_SIM_LAUNCHES_H
