//===- ElementwiseToNVVM.cpp - Elementwise ops on tiles -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of arith and math on tiles become the same ops on the scalars that a
// thread holds. Two have a form of their own: the conversion to 16 bits, which
// makes a packed pair at once, and log2, which LLVM cannot lower for f32.
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringPattern.h"

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

namespace {
struct ConstantLowering
    : public LoweringPattern<arith::ConstantOp,
                             TileAdaptor<arith::ConstantOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(arith::ConstantOp op, Adaptor,
                    LoweringBuilder &b) const override {
    auto tile = dyn_cast<RankedTensorType>(op.getType());
    auto value = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!tile) {
      return failure();
    }
    if (!value) {
      return op.emitOpError("expected a tile constant of equal elements, since "
                            "others have no place to come from");
    }
    Value scalar = b.create<arith::ConstantOp>(
        cast<TypedAttr>(value.getSplatValue<Attribute>()));
    SmallVector<Value> scalars(getLayout(tile).getNumRegisters(), scalar);
    return packTile(b, tile, scalars);
  }
};

/// Any elementwise op with one tile as its result.
struct ElementwiseLowering : public ConversionPattern {
  ElementwiseLowering(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1,
                          context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op->hasTrait<OpTrait::Elementwise>() || op->getNumResults() != 1) {
      return rewriter.notifyMatchFailure(op, "not an elementwise op");
    }
    auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!tile) {
      return rewriter.notifyMatchFailure(op, "not on tiles");
    }
    LoweringBuilder b(rewriter, op->getLoc());
    SmallVector<SmallVector<Value>> scalars;
    for (auto [operand, registers] :
         llvm::zip_equal(op->getOperands(), operands)) {
      auto operandTile = dyn_cast<RankedTensorType>(operand.getType());
      scalars.push_back(operandTile ? unpackTile(b, operandTile, registers)
                                    : llvm::to_vector(registers));
    }
    SmallVector<Value> results;
    for (int64_t i = 0; i < getLayout(tile).getNumRegisters(); ++i) {
      SmallVector<Value> arguments;
      for (auto [operand, values] :
           llvm::zip_equal(op->getOperands(), scalars)) {
        bool isTile = isa<RankedTensorType>(operand.getType());
        arguments.push_back(values[isTile ? i : 0]);
      }
      OperationState state(op->getLoc(), op->getName(), arguments,
                           tile.getElementType(), op->getAttrs());
      results.push_back(rewriter.create(state)->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {packTile(b, tile, results)});
    return success();
  }
};

/// f32 to packed pairs of bf16 or f16 (`cvt.rn`, PTX ISA 9.7.9.21). A scalar
/// `fptrunc` would be moved past phis by LLVM, which then carries f32.
struct TruncFLowering
    : public LoweringPattern<arith::TruncFOp, TileAdaptor<arith::TruncFOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(arith::TruncFOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    auto source = dyn_cast<RankedTensorType>(op.getIn().getType());
    auto result = dyn_cast<RankedTensorType>(op.getType());
    if (!source || !source.getElementType().isF32() || !isPacked(result)) {
      return failure(); // Not f32 to packed pairs.
    }
    Type pair = VectorType::get(2, result.getElementType());
    SmallVector<Value> registers;
    ValueRange in = adaptor.getIn();
    for (size_t i = 0; i < in.size(); i += 2) {
      registers.push_back(
          result.getElementType().isBF16()
              ? Value(b.create<NVVM::ConvertF32x2ToBF16x2Op>(
                    pair, in[i + 1], in[i], Value(), NVVM::FPRoundingMode::RN))
              : Value(b.create<NVVM::ConvertF32x2ToF16x2Op>(
                    pair, in[i + 1], in[i], Value(),
                    NVVM::FPRoundingMode::RN)));
    }
    return registers;
  }
};

/// Packed pairs of bf16 to f32: a bf16 is the upper half of its f32. The
/// instruction that converts (`cvt.f32.bf16`) runs at an eighth of the rate.
struct ExtFLowering
    : public LoweringPattern<arith::ExtFOp, TileAdaptor<arith::ExtFOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(arith::ExtFOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    auto source = dyn_cast<RankedTensorType>(op.getIn().getType());
    auto result = dyn_cast<RankedTensorType>(op.getType());
    if (!source || !source.getElementType().isBF16() || !isPacked(source) ||
        !result.getElementType().isF32()) {
      return failure(); // Not packed pairs of bf16 to f32.
    }
    SmallVector<Value> scalars;
    for (Value pair : adaptor.getIn()) {
      Value bits = b.create<LLVM::BitcastOp>(b.builder.getI32Type(), pair);
      Value first = b.create<arith::ShLIOp>(bits, b.i32(16));
      Value second = b.create<arith::AndIOp>(bits, b.i32(-0x10000));
      for (Value half : {first, second}) {
        scalars.push_back(
            b.create<LLVM::BitcastOp>(b.builder.getF32Type(), half));
      }
    }
    return scalars;
  }
};

struct Log2Lowering
    : public LoweringPattern<math::Log2Op, TileAdaptor<math::Log2Op>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(math::Log2Op op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    ValueRange in = adaptor.getOperand();
    if (!in.front().getType().isF32() ||
        !bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn)) {
      return op.emitOpError("expected f32 with fastmath<afn>, since the "
                            "hardware only approximates log2");
    }
    SmallVector<Value> results =
        llvm::map_to_vector(in, [&](Value x) { return buildLog2(b, x); });
    return results;
  }
};
} // namespace

void tlx::populateElementwiseToNVVMPatterns(const TLXTypeConverter &converter,
                                            RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ElementwiseLowering>(converter, context);
  patterns.add<ConstantLowering, TruncFLowering, ExtFLowering, Log2Lowering>(
      converter, context, /*benefit=*/2);
}
