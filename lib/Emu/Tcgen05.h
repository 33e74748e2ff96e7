//===- Tcgen05.h - Instructions of tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_TCGEN05_H
#define JFA_LIB_EMU_TCGEN05_H

#include "Semantics.h"

namespace mlir::jfa::emu {

/// In Warp::inFlight: a register that a load from tensor memory writes.
constexpr uint8_t kTensorFlight = 4;

/// In flags: whether an instruction works for a pair of CTAs.
constexpr uint64_t kPair = 1;

template <typename Set>
void addTcgen05(OpcodeTable &table, const std::string &pattern,
                const char *operands, Run run, bool isAligned, Set set,
                Architecture architecture = Architecture::Blackwell) {
  table.add("tcgen05",
            {pattern, operands,
             [=](const Match &match, Instruction &i, std::string &error) {
               i.flags = match.has(".cta_group::2") ? kPair : 0;
               return set(match, i, error) ? run : nullptr;
             },
             true, isAligned, architecture});
}
inline void addTcgen05(OpcodeTable &table, const std::string &pattern,
                       const char *operands, Run run, bool isAligned) {
  addTcgen05(table, pattern, operands, run, isAligned,
             [](const Match &, Instruction &, std::string &) { return true; });
}

/// The other CTA of the pair, with a finding if there is none.
Cta *findPeer(Warp &warp);

/// The kinds of work that threads give to the tensor cores.
enum class TensorWork : uint8_t { Copy, Shift, Product };

/// Work that follows what the same thread has issued: all of that, as hardware
/// does it, or with strict fences only what the ISA promises (PTX ISA
/// 9.7.16.6.4). `chain` tells products that are not ordered apart.
AsyncWorkRef issueTensorWork(Warp &warp, unsigned lane,
                             llvm::ArrayRef<AsyncWork::Stage> stages,
                             TensorWork kind, uint64_t chain = 0);

/// Notes that work uses the memory of CTAs, which must not end before it.
void reachAll(Warp &warp, const AsyncWorkRef &work, llvm::ArrayRef<Cta *> ctas);

/// Whether the CTA still runs, whose memory is used; else with a finding.
bool checkRunning(Machine &machine, const AsyncWork &work, const Cta &cta);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_TCGEN05_H
