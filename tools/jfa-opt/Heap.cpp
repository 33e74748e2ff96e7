//===- Heap.cpp - The heap of a short-lived process -------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Heap.h"

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

void mlir::jfa::reserveHeap() {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  constexpr int kReserved = 32 << 20;
  constexpr uintptr_t kLargePage = 2 << 20;
  mallopt(M_TOP_PAD, kReserved);
  mallopt(M_TRIM_THRESHOLD, 2 * kReserved);
  // The heap grows by what is reserved once it cannot serve a request, if that
  // is not so large that it gets a mapping of its own.
  mallopt(M_MMAP_THRESHOLD, kReserved);
  // Volatile, since compilers leave out what is freed unused.
  void *volatile request = malloc(kLargePage);
  free(request);
  auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  uintptr_t begin = (end - kReserved + kLargePage - 1) & ~(kLargePage - 1);
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
#endif
}
