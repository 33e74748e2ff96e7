//===- Launch.h - Runs the clusters of a grid -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_LAUNCH_H
#define JFA_EMU_LAUNCH_H

#include "jfa/Emu/Machine.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::jfa::emu {

/// What is wrong with launching `code` so, or nothing.
std::string checkLaunch(const Code &code, const LaunchShape &shape);

/// The registers of each thread at the start of a kernel that changes them
/// later, as ptxas derives them from its directives; 0 if it cannot.
uint32_t getLaunchRegisters(const Code &code, const LaunchShape &shape);

/// Runs all clusters, one after the other since none may wait for another, up
/// to the first that has a finding. Returns the number of steps. `progress` is
/// called before each cluster.
uint64_t launch(const Code &code, const LaunchShape &shape,
                std::vector<uint8_t> &parameters, GlobalMemory &global,
                const MachineOptions &options, sim::Schedule &schedule,
                sim::Report &report,
                llvm::function_ref<void(uint32_t cluster, uint32_t clusters)>
                    progress = nullptr);

/// A finding as text: `FILE:LINE: error: KIND: ...` with its notes and, where
/// the module has lines of the source, those.
std::string describe(const sim::Finding &finding, const Code &code,
                     const std::string &file);

} // namespace mlir::jfa::emu

#endif // JFA_EMU_LAUNCH_H
