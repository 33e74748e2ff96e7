//===- jfa-plugin.cpp - The tlx dialect for stock tools ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What mlir-opt loads with --load-dialect-plugin and --load-pass-plugin. It
// brings JFA's code only: the host has to use the same shared libMLIR.
//
//===----------------------------------------------------------------------===//

#include "jfa/InitAll.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

static void registerDialects(DialectRegistry *registry) {
  jfa::registerAllDialects(*registry);
}

extern "C" LLVM_ATTRIBUTE_WEAK DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "JFA", JFA_VERSION, registerDialects};
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "JFA", JFA_VERSION, jfa::registerAllPasses};
}
