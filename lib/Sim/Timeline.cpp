//===- Timeline.cpp - Events of a run -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Timeline.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

void Timeline::add(const std::string &name, char phase, uint64_t step,
                   uint32_t rank, uint32_t thread, const std::string &more) {
  if (!events.empty()) {
    events += ",\n";
  }
  events += "{\"name\":\"" + name + "\",\"ph\":\"" + phase +
            "\",\"ts\":" + std::to_string(step) +
            ",\"pid\":" + std::to_string(firstCta + rank) +
            ",\"tid\":" + std::to_string(thread) + more + "}";
}
