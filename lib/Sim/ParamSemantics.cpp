//===- ParamSemantics.cpp - Param family in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

static LogicalResult buildParam(tlx::ParamOp op, ProgramBuilder &) {
  return op.emitOpError("expected parameters to be bound before a kernel is "
                        "simulated (tlx-specialize)");
}

static LogicalResult buildConstraint(tlx::ConstraintOp op, ProgramBuilder &) {
  return op.emitOpError("expected constraints to be checked before a kernel is "
                        "simulated (tlx-specialize)");
}

void sim::registerParamSemantics(MLIRContext *context) {
  attach<tlx::ParamOp, buildParam>(context);
  attach<tlx::ConstraintOp, buildConstraint>(context);
}
