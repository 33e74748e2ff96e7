//===- GridOps.cpp - Grid family: CTAs and grids that wait ------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

static LogicalResult verifySemaphore(Operation *op, PointerType counters) {
  if (!counters.getElementType().isInteger(32)) {
    return op->emitOpError("expected counters of type 'i32', but got ")
           << counters.getElementType();
  }
  // A helper is checked where it is inlined.
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel || !kernel.getClusterAttr()) {
    return success();
  }
  InFlightDiagnostic diag =
      op->emitOpError("expected a kernel without clusters, since only CTAs of "
                      "their own take turns");
  diag.attachNote(kernel.getLoc()) << "'cluster(n)' after the arguments of '"
                                   << kernel.getSymName() << "' makes them";
  return diag;
}

LogicalResult SemaphoreWaitOp::verify() {
  APInt count;
  if (matchPattern(getCount(), m_ConstantInt(&count)) && count.isNegative()) {
    return emitOpError("expected 'count' to be at least 0, but got ")
           << count.getSExtValue();
  }
  return verifySemaphore(*this, getCounters().getType());
}

LogicalResult SemaphorePostOp::verify() {
  return verifySemaphore(*this, getCounters().getType());
}
