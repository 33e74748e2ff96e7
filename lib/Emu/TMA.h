//===- TMA.h - What bulk copies have in common -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_TMA_H
#define JFA_LIB_EMU_TMA_H

#include "Semantics.h"

namespace mlir::jfa::emu {

/// The generic address of one in shared memory.
inline uint64_t toShared(uint64_t address) {
  return kSharedWindow + (address & 0xffffffff);
}

/// The CTA whose mbarrier a copy signals (PTX ISA 9.7.9.27.1.2): that of its
/// destination, or the one of that pair with the parity of the mbarrier's own.
enum class Signal : uint8_t { Destination, Multicast, Pair };

/// A copy into the shared memory of one CTA, and its signal to an mbarrier.
void issueLoad(Warp &warp, unsigned lane, std::function<void(AsyncWork &)> copy,
               uint64_t barrier, uint64_t to, uint64_t bytes, Signal where);

/// Work that reads shared memory, then writes global memory, in order.
void issueStore(Warp &warp, unsigned lane,
                std::function<void(AsyncWork &)> read,
                std::function<void(AsyncWork &)> write);

template <typename Set>
void addForm(OpcodeTable &table, const char *opcode, const std::string &pattern,
             const char *operands, Run run, Set set,
             Architecture architecture = Architecture::Any) {
  table.add(opcode, {pattern, operands,
                     [=](const Match &match, Instruction &i, std::string &) {
                       i.flags = set(match);
                       return run;
                     },
                     true, false, architecture});
}

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_TMA_H
