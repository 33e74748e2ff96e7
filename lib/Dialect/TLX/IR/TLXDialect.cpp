//===- TLXDialect.cpp - The tlx dialect -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers what tablegen generates, and checks tile encodings.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Interfaces/FoldInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::jfa::tlx;

#include "jfa/Dialect/TLX/IR/TLXDialect.cpp.inc"

#include "jfa/Dialect/TLX/IR/TLXInterfaces.cpp.inc"

namespace {
/// Gives layouts short names in printed IR.
struct TLXAsmInterface : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const final {
    if (isa<LayoutAttr>(attr)) {
      os << "layout";
      return AliasResult::OverridableAlias;
    }
    return AliasResult::NoAlias;
  }
};

/// Lets the helpers that kernels call be inlined: no op depends on the function
/// it is in, only on the task, and that stays the same.
struct TLXInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

/// Keeps the constants of a task inside it: a tile may not come from outside.
struct TLXFoldInterface : public DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;

  bool shouldMaterializeInto(Region *region) const final {
    return isa<AsyncTaskOp>(region->getParentOp());
  }
};
} // namespace

void TLXDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "jfa/Dialect/TLX/IR/TLXOps.cpp.inc"
      >();
  registerAttributes();
  registerTypes();
  addInterfaces<TLXAsmInterface, TLXFoldInterface, TLXInlinerInterface>();
}

Operation *TLXDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                           Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

#include "OpAssembly.h"

#define GET_OP_CLASSES
#include "jfa/Dialect/TLX/IR/TLXOps.cpp.inc"
