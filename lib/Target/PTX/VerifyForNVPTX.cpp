//===- VerifyForNVPTX.cpp - Refuse what NVPTX cannot compile ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's NVPTX backend ends the process when an operation would need a call
// into a math library, of which a GPU has none. These operations are refused
// before they get there, where their source location is still known.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/PTX.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::jfa;

/// Whether LLVM would lower the intrinsic to a call of a math library whatever
/// its type and fast-math flags.
static bool needsLibcall(StringRef name) {
  static const llvm::StringSet<> names = {
      "llvm.intr.acos",  "llvm.intr.asin", "llvm.intr.atan",  "llvm.intr.atan2",
      "llvm.intr.cosh",  "llvm.intr.exp",  "llvm.intr.exp10", "llvm.intr.log",
      "llvm.intr.log10", "llvm.intr.log2", "llvm.intr.pow",   "llvm.intr.powi",
      "llvm.intr.sinh",  "llvm.intr.tan",  "llvm.intr.ldexp", "llvm.intr.frexp",
      "llvm.intr.sincos"};
  return names.contains(name);
}

/// Whether the hardware has only the approximate instruction, for f32, which
/// LLVM selects only where the operation allows approximation.
static bool needsApproximation(StringRef name) {
  static const llvm::StringSet<> names = {"llvm.intr.sin", "llvm.intr.cos",
                                          "llvm.intr.tanh"};
  return names.contains(name);
}

static bool allowsApproximation(Operation *op) {
  auto flags = dyn_cast<LLVM::FastmathFlagsInterface>(op);
  if (!flags) {
    return false;
  }
  auto attr = flags.getFastmathAttr();
  return attr && bitEnumContainsAny(attr.getValue(), LLVM::FastmathFlags::afn);
}

LogicalResult mlir::jfa::verifyForNVPTX(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) -> WalkResult {
    StringRef name = op->getName().getStringRef();
    if (needsLibcall(name)) {
      return op->emitOpError("expected an operation that the NVPTX backend can "
                             "compile, but got one that needs a math library");
    }
    if (!needsApproximation(name)) {
      return WalkResult::advance();
    }
    Type type = getElementTypeOrSelf(op->getResult(0).getType());
    if (type.isF64()) {
      return op->emitOpError("expected an operand of at most 32 bits, because "
                             "f64 needs a math library, but got ")
             << type;
    }
    if (!allowsApproximation(op)) {
      return op->emitOpError("expected the fast-math flag 'afn', because only "
                             "an approximate instruction exists");
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
