//===- NamedBarriers.h - Whose the named barriers are -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The hardware has sixteen named barriers (PTX ISA 9.7.13.1). The compiler
// takes one from the top for each replica of each task of several warps; the
// rest are the author's.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_NAMEDBARRIERS_H
#define JFA_DIALECT_TLX_IR_NAMEDBARRIERS_H

#include "jfa/Dialect/TLX/IR/Facts.h"

namespace mlir::jfa::tlx {

constexpr int64_t kLastNamedBarrier = 15;

/// How many named barriers the replicas of a task take. One warp synchronises
/// without.
inline int64_t countNamedBarriers(const TaskPlacement::Slot &slot) {
  return slot.threadsPerReplica > 32 ? slot.replicas : 0;
}

/// The first named barrier that is not the author's.
inline int64_t getFirstReservedBarrier(const TaskPlacement &placement) {
  int64_t first = kLastNamedBarrier + 1;
  for (const TaskPlacement::Slot &slot : placement.slots) {
    first -= countNamedBarriers(slot);
  }
  return first;
}

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_IR_NAMEDBARRIERS_H
