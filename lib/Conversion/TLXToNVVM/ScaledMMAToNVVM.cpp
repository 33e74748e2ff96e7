//===- ScaledMMAToNVVM.cpp - Products of scaled blocks ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringPattern.h"
#include "SharedOperands.h"
#include "Tcgen05Descriptor.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Bytes of a block in shared memory, a cell for each of 128 rows.
static constexpr int64_t kBlockBytes = kTensorLanes * kTensorCellBits / 8;

namespace {
struct ScaledDotLowering : public TaskLoweringPattern<AsyncDotScaledOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncDotScaledOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    FailureOr<SharedOperand> lhs =
        getSharedOperand(op, op.getA().getType(), /*kIsLast=*/true);
    FailureOr<SharedOperand> rhs =
        getSharedOperand(op, op.getB().getType(), /*kIsLast=*/false);
    if (failed(lhs) || failed(rhs)) {
      return failure();
    }
    b.elected(task, [&] { buildSteps(b, op, adaptor, *lhs, *rhs); });
    return SmallVector<Value>();
  }

private:
  static Tcgen05ScaledInstruction
  getInstruction(AsyncDotScaledOp op, const AsyncDotOp::Extents &extents) {
    auto isE5M2 = [](MemDescType type) {
      return isa<Float8E5M2Type>(type.getElementType());
    };
    return {isE5M2(op.getA().getType()), isE5M2(op.getB().getType()), extents.m,
            extents.n};
  }

  /// One instruction for each 32 of K, four of which find their scales in the
  /// bytes of the same cells.
  static void buildSteps(LoweringBuilder &b, AsyncDotScaledOp op,
                         Adaptor adaptor, const SharedOperand &lhs,
                         const SharedOperand &rhs) {
    AsyncDotOp::Extents extents = op.getExtents();
    Tcgen05ScaledInstruction instruction = getInstruction(op, extents);
    Value left = buildDescriptor(b, getTcgen05FixedBits(lhs), adaptor.getA());
    Value right = buildDescriptor(b, getTcgen05FixedBits(rhs), adaptor.getB());
    Value accumulate = adaptor.getAccumulate();
    if (!accumulate) {
      accumulate = b.create<arith::ConstantOp>(b.builder.getBoolAttr(false));
    }
    int64_t columns = kScaleColumns * llvm::divideCeil(extents.n, kTensorLanes);
    for (int64_t k = 0; k < extents.k; k += AsyncDotScaledOp::kBlock) {
      int64_t block = k / AsyncDotScaledOp::kBlock;
      int64_t group = block / AsyncDotScaledOp::kScalesInCell;
      uint32_t bits =
          instruction.encode(block % AsyncDotScaledOp::kScalesInCell);
      buildScaledDotStep(
          b, {adaptor.getC(), advanceDescriptor(b, left, lhs.getOffset(0, k)),
              advanceDescriptor(b, right, rhs.getOffset(0, k)),
              b.i32(static_cast<int32_t>(bits)),
              b.addConstant(adaptor.getAScale(), group * kScaleColumns),
              b.addConstant(adaptor.getBScale(), group * columns), accumulate});
      accumulate = b.create<arith::ConstantOp>(b.builder.getBoolAttr(true));
    }
  }
};

struct TmemCopyLowering : public TaskLoweringPattern<TmemCopyOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(TmemCopyOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    int64_t cells = *op.getSource().getType().getShape()[0].getConstant();
    b.elected(task, [&] {
      Value descriptor =
          buildDescriptor(b, kTcgen05PlainRows, adaptor.getSource());
      for (int64_t i = 0; i < cells / kTensorLanes; ++i) {
        b.create<NVVM::Tcgen05CpOp>(
            NVVM::Tcgen05CpShape::SHAPE_32x128b, NVVM::CTAGroupKind::CTA_1,
            NVVM::Tcgen05CpMulticast::WARPX4, NVVM::Tcgen05CpSrcFormatAttr(),
            b.tensorPointer(
                b.addConstant(adaptor.getDestination(), i * kScaleColumns)),
            advanceDescriptor(b, descriptor, i * kBlockBytes));
      }
    });
    return SmallVector<Value>();
  }
};
} // namespace

void tlx::populateScaledMMAToNVVMPatterns(const TLXTypeConverter &converter,
                                          RewritePatternSet &patterns) {
  patterns.add<ScaledDotLowering, TmemCopyLowering>(converter,
                                                    patterns.getContext());
}
