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

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/Transforms/InlinerInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

void jfa::registerAllDialects(DialectRegistry &registry) {
  // What kernels are written in, besides tlx.
  registry.insert<tlx::TLXDialect, arith::ArithDialect, func::FuncDialect,
                  math::MathDialect, scf::SCFDialect>();
  // What the inliner and convert-to-llvm ask the dialects for. Without its
  // interface, convert-to-llvm leaves a dialect as it is and says nothing.
  func::registerInlinerExtension(registry);
  LLVM::registerInlinerInterface(registry);
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  sim::registerSimExtensions(registry);
}

void jfa::registerAllPasses() {
  registerTLXToNVVMPasses();
  tlx::registerTLXTransformsPasses();
  sim::registerJFASimPasses();
  registerPipelines();
}
