//===- DriverTesting.h - A driver that loads anything -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TEST_RUNTIME_DRIVERTESTING_H
#define JFA_TEST_RUNTIME_DRIVERTESTING_H

#include "Driver.h"

namespace jfa::testing {

/// A driver on which every kernel can be loaded, and no more.
inline runtime::Driver makeLoadingDriver() {
  using runtime::Driver;
  Driver driver{};
  driver.contextPush = [](Driver::Context) { return 0; };
  driver.contextPop = [](Driver::Context *) { return 0; };
  driver.moduleLoadData = [](Driver::Module *, const void *) { return 0; };
  driver.moduleGetFunction = [](Driver::Function *, Driver::Module,
                                const char *) { return 0; };
  driver.functionSetAttribute = [](Driver::Function, int, int) { return 0; };
  return driver;
}

} // namespace jfa::testing

#endif // JFA_TEST_RUNTIME_DRIVERTESTING_H
