//===- PackedF32ToNVVM.cpp - Two f32 elements at a time -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackedF32ToNVVM.h"
#include "LoweringPattern.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

static bool contracts(arith::ArithFastMathInterface op) {
  return bitEnumContainsAll(op.getFastMathFlagsAttr().getValue(),
                            arith::FastMathFlags::contract);
}

/// Whether a product may be one of pairs. ptxas makes one instruction of a
/// product of pairs and its sum, as it does not of scalars that are rounded
/// (`.rn`), so that there must be no sum, or one that may be contracted.
static bool mayBePacked(arith::MulFOp product) {
  return llvm::all_of(product->getUsers(), [&](Operation *user) {
    if (isa<arith::AddFOp, arith::SubFOp>(user)) {
      return contracts(product) &&
             contracts(cast<arith::ArithFastMathInterface>(user));
    }
    // Others might hand it on to one.
    return isa<arith::MulFOp, arith::TruncFOp, arith::CmpFOp, arith::MaxNumFOp,
               arith::MinNumFOp, math::Exp2Op, LocalStoreOp, GlobalStoreOp>(
        user);
  });
}

namespace {
/// An op that the hardware has for pairs of f32 (`.f32x2`, PTX ISA 9.7.3), on
/// two neighbouring registers at a time.
template <typename Op>
struct PackedF32Lowering : public LoweringPattern<Op, TileAdaptor<Op>> {
  using LoweringPattern<Op, TileAdaptor<Op>>::LoweringPattern;

  Replacement lower(Op op, TileAdaptor<Op> adaptor,
                    LoweringBuilder &b) const override {
    auto tile = dyn_cast<RankedTensorType>(op.getType());
    ArrayRef<ValueRange> operands = adaptor.getOperands();
    if (!tile || !tile.getElementType().isF32() || operands[0].size() % 2) {
      return failure(); // Not pairs of f32.
    }
    if constexpr (std::is_same_v<Op, arith::MulFOp>) {
      if (!mayBePacked(op)) {
        return failure(); // Rounded before it is added.
      }
    }
    auto pair = VectorType::get(2, b.builder.getF32Type());
    SmallVector<Value> results;
    for (size_t i = 0; i < operands[0].size(); i += 2) {
      SmallVector<Value> arguments;
      for (ValueRange registers : operands) {
        Value both = b.create<LLVM::PoisonOp>(pair);
        for (size_t k = 0; k < 2; ++k) {
          both = b.create<LLVM::InsertElementOp>(both, registers[i + k],
                                                 b.i32(int64_t(k)));
        }
        arguments.push_back(both);
      }
      OperationState state(op.getLoc(), op->getName(), arguments, pair,
                           op->getAttrs());
      Value sum = b.builder.create(state)->getResult(0);
      for (int64_t k = 0; k < 2; ++k) {
        results.push_back(b.create<LLVM::ExtractElementOp>(sum, b.i32(k)));
      }
    }
    return results;
  }
};
} // namespace

void tlx::populatePackedF32Patterns(const TLXTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns
      .add<PackedF32Lowering<arith::AddFOp>, PackedF32Lowering<arith::SubFOp>,
           PackedF32Lowering<arith::MulFOp>, PackedF32Lowering<math::FmaOp>>(
          converter, patterns.getContext(), /*benefit=*/2);
}
