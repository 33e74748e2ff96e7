//===- InitAll.cpp - Register JFA's dialects and passes -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/InitAll.h"

#include "jfa/Conversion/TLXToNVVM/TLXToNVVM.h"
#include "jfa/Dialect/TLX/IR/TLX.h"
#include "jfa/Dialect/TLX/Transforms/Passes.h"
#include "jfa/Pipelines/Pipelines.h"
#include "jfa/Sim/Passes.h"
#include "jfa/Sim/SimInterfaces.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

void jfa::registerAllDialects(DialectRegistry &registry) {
  // What kernels are written in, besides tlx.
  registry.insert<tlx::TLXDialect, arith::ArithDialect, func::FuncDialect,
                  math::MathDialect, scf::SCFDialect>();
  func::registerInlinerExtension(registry);
  sim::registerSimExtensions(registry);
}

void jfa::registerAllPasses() {
  registerTLXToNVVMPasses();
  tlx::registerTLXTransformsPasses();
  sim::registerJFASimPasses();
  registerPipelines();
}
