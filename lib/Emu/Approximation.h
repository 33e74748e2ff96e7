//===- Approximation.h - Functions with .approx -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_APPROXIMATION_H
#define JFA_LIB_EMU_APPROXIMATION_H

namespace mlir::jfa::emu {

/// `rcp`, `rsqrt`, `sqrt` and `lg2` with `.approx.f32`, as an H200 computes
/// them, bit for bit. With `.ftz` the caller flushes operand and result.
float rcpExact(float x);
float rsqrtExact(float x);
float sqrtExact(float x);
float lg2Exact(float x);

/// `div.approx{.ftz}.f32`, or `div.full{.ftz}.f32` if `isFull`, as ptxas makes
/// them of rcp. With `.ftz` the caller flushes operands and result.
float divExact(float a, float b, bool flushes, bool isFull);

/// `ex2.approx{.ftz}.f32`: as measured on an H200, bit for bit, or fast.
float ex2(float value, bool flushes, bool isExact);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_APPROXIMATION_H
