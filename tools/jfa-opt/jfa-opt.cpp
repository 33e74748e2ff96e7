//===- jfa-opt.cpp - JFA's optimizer driver ---------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All of mlir-opt with JFA's dialect and passes registered, and the compiler
// driver when one of its options is given.
//
//===----------------------------------------------------------------------===//

#include "DriverMode.h"

#include "jfa/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  if (mlir::jfa::isDriverInvocation(argc, argv)) {
    return mlir::jfa::runDriver(argc, argv);
  }
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  mlir::jfa::registerAllDialects(registry);
  mlir::jfa::registerAllPasses();
  mlir::jfa::registerDriverOptions();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "JFA optimizer driver\n", registry));
}
