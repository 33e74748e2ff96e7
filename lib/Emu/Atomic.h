//===- Atomic.h - What reductions compute -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_ATOMIC_H
#define JFA_LIB_EMU_ATOMIC_H

#include "Opcodes.h"

#include <optional>

namespace mlir::jfa::emu {

enum AtomicOp : uint64_t {
  kAdd,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kExchange,
  kCas,
  kInc,
  kDec
};

/// The operation that an instruction names.
std::optional<AtomicOp> getAtomicOp(const Match &match);

/// What memory of a type holds after an operation; `third` is what cas stores.
/// Sums of f32 flush subnormals or keep them.
uint64_t reduce(AtomicOp op, Type type, uint64_t old, uint64_t value,
                uint64_t third, bool flushes);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_ATOMIC_H
