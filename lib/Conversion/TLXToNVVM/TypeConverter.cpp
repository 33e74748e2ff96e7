//===- TypeConverter.cpp - What tlx types become -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoweringBuilder.h"

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

static std::optional<LogicalResult>
convertTile(RankedTensorType tile, SmallVectorImpl<Type> &results) {
  LayoutAttr layout = getLayout(tile);
  if (!layout) {
    return failure();
  }
  int64_t registers = layout.getNumRegisters();
  if (isPacked(tile)) {
    results.append(registers / 2, VectorType::get(2, tile.getElementType()));
  } else {
    results.append(registers, tile.getElementType());
  }
  return success();
}

TLXTypeConverter::TLXTypeConverter() {
  addConversion([](Type type) { return type; });
  addConversion(convertTile);
  addConversion([](PendingType type, SmallVectorImpl<Type> &results) {
    return convertTile(type.getTile(), results);
  });
  addConversion([](MemDescType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
  addConversion([](MBarrierType type) -> Type {
    return IntegerType::get(type.getContext(), 32);
  });
  addConversion([](TensorMapType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext());
  });
  addConversion([](PointerType type) -> Type {
    return LLVM::LLVMPointerType::get(type.getContext(), /*addressSpace=*/1);
  });
  auto cast = [](OpBuilder &builder, Type type, ValueRange inputs,
                 Location loc) -> Value {
    return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
        .getResult(0);
  };
  addSourceMaterialization(cast);
  addTargetMaterialization([](OpBuilder &builder, TypeRange types,
                              ValueRange inputs,
                              Location loc) -> SmallVector<Value> {
    auto cast = UnrealizedConversionCastOp::create(builder, loc, types, inputs);
    return SmallVector<Value>(cast.getResults());
  });
}
