//===- Trace.h - A run of PTX as a timeline -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_TRACE_H
#define JFA_EMU_TRACE_H

#include "jfa/Sim/Timeline.h"

namespace mlir::jfa::emu {

/// Processes are CTAs. Threads are warps, which wait, and from 1000 on the
/// agents of asynchronous operations, from their issue to their end.
class Trace : public sim::Timeline {
public:
  void wait(uint32_t rank, uint32_t warp, const std::string &instruction,
            uint64_t begin, uint64_t end) {
    addSpan(instruction + " waits", rank, warp, begin, end);
  }
  void operate(uint32_t rank, uint32_t agent, const std::string &instruction,
               uint64_t begin, uint64_t end) {
    addSpan(instruction, rank, 1000 + agent, begin, end);
  }
};

} // namespace mlir::jfa::emu

#endif // JFA_EMU_TRACE_H
