//===- InitAll.cpp - Register JFA's dialects and passes -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/InitAll.h"

#include "jfa/Dialect/TLX/IR/TLX.h"

using namespace mlir;

void jfa::registerAllDialects(DialectRegistry &registry) {
  registry.insert<tlx::TLXDialect>();
}

void jfa::registerAllPasses() {}
