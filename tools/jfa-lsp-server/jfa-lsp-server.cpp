//===- jfa-lsp-server.cpp - Language server for .mlir files -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's language server with the tlx dialect besides all of MLIR's own, since
// the stock one takes no plugins. Editors start it instead of mlir-lsp-server.
//
//===----------------------------------------------------------------------===//

#include "jfa/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::jfa::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
