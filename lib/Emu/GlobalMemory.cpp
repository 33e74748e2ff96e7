//===- GlobalMemory.cpp - Arrays at addresses -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Machine.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

// Buffers lie so far apart that no index leads from one into the next.
static constexpr unsigned kBufferShift = 38;

uint64_t GlobalMemory::add(sim::GlobalArray &array) {
  auto buffer = std::make_unique<GlobalBuffer>();
  buffer->base = (uint64_t(buffers.size()) + 1) << kBufferShift;
  buffer->array = &array;
  if (array.isComplete) {
    buffer->history.initialise(0, buffer->getSize());
  }
  int64_t bytes = sim::getBytes(array.kind), count = array.getNumElements();
  for (int64_t begin = 0; begin < count && !array.isComplete;) {
    int64_t end = begin + 1;
    bool isWritten = array.written[size_t(begin)];
    while (end < count && array.written[size_t(end)] == isWritten) {
      ++end;
    }
    if (isWritten) {
      buffer->history.initialise(begin * bytes, end * bytes);
    }
    begin = end;
  }
  buffers.push_back(std::move(buffer));
  return buffers.back()->base;
}

GlobalBuffer *GlobalMemory::find(uint64_t address, uint64_t size) {
  uint64_t number = address >> kBufferShift;
  if (number == 0 || number > buffers.size()) {
    return nullptr;
  }
  GlobalBuffer &buffer = *buffers[number - 1];
  uint64_t offset = address - buffer.base, total = uint64_t(buffer.getSize());
  return offset <= total && size <= total - offset ? &buffer : nullptr;
}
