//===- CountAllocations.h - How often memory is allocated -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TEST_RUNTIME_COUNTALLOCATIONS_H
#define JFA_TEST_RUNTIME_COUNTALLOCATIONS_H

#include <cstddef>

/// How many times this program has called `operator new`.
size_t countAllocations();

#endif // JFA_TEST_RUNTIME_COUNTALLOCATIONS_H
