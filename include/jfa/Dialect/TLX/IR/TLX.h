//===- TLX.h - The tlx dialect -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect's types, attributes, interfaces and ops.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLX_H
#define JFA_DIALECT_TLX_IR_TLX_H

#include "jfa/Dialect/TLX/IR/Facts.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "jfa/Dialect/TLX/IR/TLXDialect.h.inc"

#include "jfa/Dialect/TLX/IR/TLXEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "jfa/Dialect/TLX/IR/TLXAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "jfa/Dialect/TLX/IR/TLXTypes.h.inc"

namespace mlir::jfa::tlx {

/// What memory effects are on (TLXBase.td).
struct SharedMemoryResource
    : public SideEffects::Resource::Base<SharedMemoryResource> {
  StringRef getName() final { return "SharedMemory"; }
};
struct GlobalMemoryResource
    : public SideEffects::Resource::Base<GlobalMemoryResource> {
  StringRef getName() final { return "GlobalMemory"; }
};
struct BarrierResource : public SideEffects::Resource::Base<BarrierResource> {
  StringRef getName() final { return "Barrier"; }
};
struct DotGroupResource : public SideEffects::Resource::Base<DotGroupResource> {
  StringRef getName() final { return "DotGroup"; }
};
struct DeclarationResource
    : public SideEffects::Resource::Base<DeclarationResource> {
  StringRef getName() final { return "Declaration"; }
};
struct StoreGroupResource
    : public SideEffects::Resource::Base<StoreGroupResource> {
  StringRef getName() final { return "StoreGroup"; }
};

/// The dimensions of a tile: those of its `#tlx.dims`, or its static shape.
SmallVector<ExprAttr> getTileDims(RankedTensorType tile);

/// Calls `visit` with every parameter that a type or attribute names.
void forEachParameter(Attribute attr,
                      llvm::function_ref<void(StringAttr)> visit);

/// Whether `group`, which may be null, is known to be that of two CTAs.
inline bool isPair(ExprAttr group) {
  return group && group.getConstant() == std::optional<int64_t>(2);
}

/// Checks that an index is given where an array of mbarriers may have several,
/// and that it names one of them.
LogicalResult verifyBarrierIndex(Operation *op, MBarrierType type, Value index);

/// The task that `op` is in, or null.
class AsyncTaskOp;
AsyncTaskOp getEnclosingTask(Operation *op);

} // namespace mlir::jfa::tlx

#include "jfa/Dialect/TLX/IR/TLXInterfaces.h.inc"

#define GET_OP_CLASSES
#include "jfa/Dialect/TLX/IR/TLXOps.h.inc"

#endif // JFA_DIALECT_TLX_IR_TLX_H
