//===- Passes.h - Passes of the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_PASSES_H
#define JFA_SIM_PASSES_H

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Pass/Pass.h"

namespace mlir::jfa::sim {

/// Whether the protocol of kernels is verified: not; where that can be, with a
/// remark where it cannot; or always, with an error where it cannot.
enum class Verification { Off, On, Strict };

#define GEN_PASS_DECL
#include "jfa/Sim/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "jfa/Sim/Passes.h.inc"

} // namespace mlir::jfa::sim

#endif // JFA_SIM_PASSES_H
