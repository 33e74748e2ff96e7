//===- CountAllocations.cpp - How often memory is allocated -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CountAllocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<size_t> allocations{0};

size_t countAllocations() { return allocations; }

void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size ? size : 1)) {
    return memory;
  }
  std::abort();
}

void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
