//===- Timeline.cpp - Events of a run -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Timeline.h"

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

/// In a string of JSON.
static std::string escape(const std::string &text) {
  std::string escaped;
  for (char character : text) {
    if (character == '"' || character == '\\') {
      escaped += '\\';
    }
    escaped += uint8_t(character) < ' ' ? ' ' : character;
  }
  return escaped;
}

void Timeline::nameThread(const std::string &name, uint32_t rank,
                          uint32_t thread) {
  uint32_t cta = firstCta + rank;
  if (!named.emplace(cta, thread).second) {
    return;
  }
  add("process_name", 'M', 0, rank, thread,
      R"(,"args":{"name":"CTA )" + std::to_string(cta) + "\"}");
  add("thread_name", 'M', 0, rank, thread,
      R"(,"args":{"name":")" + escape(name) + "\"}");
}

void Timeline::add(const std::string &name, char phase, uint64_t step,
                   uint32_t rank, uint32_t thread, const std::string &more) {
  if (!events.empty()) {
    events += ",\n";
  }
  events += "{\"name\":\"" + escape(name) + "\",\"ph\":\"" + phase +
            "\",\"ts\":" + std::to_string(step) +
            ",\"pid\":" + std::to_string(firstCta + rank) +
            ",\"tid\":" + std::to_string(thread) + more + "}";
}
