//===- MMAToNVVM.cpp - Lowering of the MMA family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One product is a sequence of wgmma.mma_async, one for every 64 rows of a
// warpgroup and 16 of K, between a fence and a commit.
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringBuilder.h"
#include "WgmmaDescriptor.h"

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Rows of one instruction, and elements of K for 16-bit operands.
static constexpr int64_t kRows = 64, kDepth = 16;

void tlx::prepareDots(KernelOp kernel) {
  kernel.walk([](AsyncDotWaitOp wait) {
    SmallVector<Value> kept = llvm::to_vector(wait.getKept());
    for (Value product : wait.getProducts()) {
      Value a = product.getDefiningOp<AsyncDotOp>().getA();
      if (isa<RankedTensorType>(a.getType()) && !llvm::is_contained(kept, a)) {
        kept.push_back(a);
      }
    }
    wait.getKeptMutable().assign(kept);
  });
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// Where K is: the last dimension of A, the first of B.
static FailureOr<SharedOperand>
getSharedOperand(AsyncDotOp op, MemDescType type, bool kIsLast) {
  FailureOr<SharedLayout> layout =
      getSharedLayout(type, [&] { return op.emitOpError(); });
  if (failed(layout)) {
    return failure();
  }
  if (layout->swizzleBytes == 0) {
    return op.emitOpError("expected an operand whose rows are 32, 64 or a "
                          "multiple of 128 bytes, but got ")
           << type;
  }
  return SharedOperand{*layout, kIsLast != type.getTransposed()};
}

/// The descriptor of an operand at `address`.
static Value buildDescriptor(LoweringBuilder &b, const SharedOperand &operand,
                             Value address) {
  Value window = b.create<arith::AndIOp>(address, b.i32(0x3FFFF));
  Value units = b.create<arith::ShRUIOp>(window, b.i32(4));
  Value low = b.create<arith::ExtUIOp>(b.builder.getI64Type(), units);
  return b.create<arith::OrIOp>(low, b.i64(operand.getFixedBits()));
}

/// The descriptor `bytes` further on.
static Value advance(LoweringBuilder &b, Value descriptor, int64_t bytes) {
  return bytes == 0 ? descriptor
                    : b.create<arith::AddIOp>(descriptor, b.i64(bytes >> 4));
}

//===----------------------------------------------------------------------===//
// AsyncDotOp
//===----------------------------------------------------------------------===//

namespace {
/// Builds the instructions of one product.
class DotBuilder {
public:
  DotBuilder(LoweringBuilder &b, AsyncDotOp op, const TaskThreads &task)
      : b(b), op(op), task(task),
        shape(op.getResult().getType().getTile().getShape()),
        depth(getDepth(op)) {}

  /// Instructions along M that one warpgroup issues.
  int64_t getNumSteps() const {
    return shape[0] * 128 / (kRows * task.threadsPerReplica);
  }

  LogicalResult prepare(ValueRange aRegisters, Value aAddress, Value bAddress) {
    FailureOr<SharedOperand> right =
        getSharedOperand(op, op.getB().getType(), /*kIsLast=*/false);
    if (failed(right)) {
      return failure();
    }
    rhs = *right;
    rhsDescriptor = buildDescriptor(b, rhs, bAddress);
    registers = llvm::to_vector(aRegisters);
    auto aType = dyn_cast<MemDescType>(op.getA().getType());
    if (!aType) {
      return success();
    }
    FailureOr<SharedOperand> left =
        getSharedOperand(op, aType, /*kIsLast=*/true);
    if (failed(left)) {
      return failure();
    }
    lhs = *left;
    if (task.threadsPerReplica > 128) {
      // Each warpgroup has 64 rows of its own.
      Value group = b.divConstant(b.uniformWarp(), 4);
      int64_t groups = task.threadsPerReplica / 128;
      group =
          b.remConstant(b.addConstant(group, -task.firstThread / 128), groups);
      aAddress =
          b.add(aAddress, b.mulConstant(group, lhs->getOffset(kRows, 0)));
    }
    lhsDescriptor = buildDescriptor(b, *lhs, aAddress);
    return success();
  }

  /// All instructions of step `step` along M. `accumulators` is empty for a
  /// product without C.
  SmallVector<Value> buildStep(int64_t step, ArrayRef<Value> accumulators) {
    SmallVector<Value> result = llvm::to_vector(accumulators);
    if (lhs) {
      return buildShared(step, result);
    }
    bool accumulate = !result.empty();
    if (!accumulate) {
      result.assign(shape[1] / 2, b.f32(0.0));
    }
    int64_t steps = depth / kDepth;
    for (int64_t k = 0; k < steps; ++k) {
      ArrayRef<Value> a = ArrayRef(registers).slice((step * steps + k) * 4, 4);
      result = buildDotRegisterA(
          b, a, advance(b, rhsDescriptor, rhs.getOffset(0, k * kDepth)), result,
          accumulate || k > 0, shape[1], getElement(), !rhs.kMajor);
    }
    return result;
  }

private:
  static int64_t getDepth(AsyncDotOp op) {
    return *op.getB().getType().getShape()[0].getConstant();
  }

  Type getElement() { return op.getB().getType().getElementType(); }

  SmallVector<Value> buildShared(int64_t step,
                                 const SmallVector<Value> &accumulators) {
    MLIRContext *context = b.builder.getContext();
    SmallVector<Type> types(shape[1] / 2, b.builder.getF32Type());
    Type type = LLVM::LLVMStructType::getLiteral(context, types);
    Value result = b.create<LLVM::UndefOp>(type);
    for (auto [i, value] : llvm::enumerate(accumulators)) {
      result = b.create<LLVM::InsertValueOp>(result, value, i);
    }
    int64_t row = step * task.threadsPerReplica / 128 * kRows;
    for (int64_t k = 0; k < depth; k += kDepth) {
      bool accumulate = !accumulators.empty() || k > 0;
      result = buildInstruction(
          type, result, advance(b, lhsDescriptor, lhs->getOffset(row, k)),
          advance(b, rhsDescriptor, rhs.getOffset(0, k)), accumulate);
    }
    SmallVector<Value> values;
    for (size_t i = 0; i < types.size(); ++i) {
      values.push_back(b.create<LLVM::ExtractValueOp>(result, i));
    }
    return values;
  }

  Value buildInstruction(Type type, Value accumulators, Value a, Value bDesc,
                         bool accumulate) {
    MLIRContext *context = b.builder.getContext();
    auto element =
        getElement().isBF16() ? NVVM::WGMMATypes::bf16 : NVVM::WGMMATypes::f16;
    auto scale = NVVM::WGMMAScaleInAttr::get(context, NVVM::WGMMAScaleIn::one);
    // NVVM calls an operand whose K is contiguous a row-major A and a
    // column-major B.
    auto layoutA = lhs->kMajor ? NVVM::MMALayout::row : NVVM::MMALayout::col;
    auto layoutB = rhs.kMajor ? NVVM::MMALayout::col : NVVM::MMALayout::row;
    return b.create<NVVM::WgmmaMmaAsyncOp>(
        type, accumulators, a, bDesc,
        NVVM::MMAShapeAttr::get(context, kRows, shape[1], kDepth),
        NVVM::WGMMATypesAttr::get(context, element),
        NVVM::WGMMATypesAttr::get(context, element),
        NVVM::WGMMATypesAttr::get(context, NVVM::WGMMATypes::f32),
        NVVM::WGMMAScaleOutAttr::get(context, accumulate
                                                  ? NVVM::WGMMAScaleOut::one
                                                  : NVVM::WGMMAScaleOut::zero),
        scale, scale, NVVM::MMALayoutAttr::get(context, layoutA),
        NVVM::MMALayoutAttr::get(context, layoutB), NVVM::MMAIntOverflowAttr());
  }

  LoweringBuilder &b;
  AsyncDotOp op;
  const TaskThreads &task;
  ArrayRef<int64_t> shape;
  int64_t depth;
  SharedOperand rhs;
  std::optional<SharedOperand> lhs;
  Value lhsDescriptor, rhsDescriptor;
  SmallVector<Value> registers;
};

struct AsyncDotLowering : public OpConversionPattern<AsyncDotOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncDotOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<TaskThreads> task = getTaskThreads(op);
    if (failed(task)) {
      return failure();
    }
    LoweringBuilder b(rewriter, op.getLoc());
    DotBuilder dot(b, op, *task);
    bool inRegisters = isa<RankedTensorType>(op.getA().getType());
    ValueRange a = adaptor.getA();
    if (failed(dot.prepare(inRegisters ? a : ValueRange(),
                           inRegisters ? Value() : a.front(),
                           adaptor.getB().front()))) {
      return failure();
    }
    ValueRange c = op.getC() ? adaptor.getC() : ValueRange();
    SmallVector<Value> accumulators = llvm::to_vector(c), result;
    b.create<NVVM::WgmmaFenceAlignedOp>();
    int64_t steps = dot.getNumSteps();
    size_t perStep = accumulators.size() / steps;
    for (int64_t step = 0; step < steps; ++step) {
      llvm::append_range(
          result,
          dot.buildStep(step,
                        ArrayRef(accumulators).slice(step * perStep, perStep)));
    }
    b.create<NVVM::WgmmaGroupSyncAlignedOp>();
    rewriter.replaceOpWithMultiple(op, {ValueRange(result)});
    return success();
  }
};

struct AsyncDotWaitLowering : public OpConversionPattern<AsyncDotWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncDotWaitOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoweringBuilder b(rewriter, op.getLoc());
    SmallVector<Value> accumulators, kept;
    for (ValueRange product : adaptor.getProducts()) {
      llvm::append_range(accumulators, product);
    }
    for (ValueRange tile : adaptor.getKept()) {
      llvm::append_range(kept, tile);
    }
    SmallVector<Value> done =
        buildDotWait(b, op.getPending(), accumulators, kept);
    SmallVector<SmallVector<Value>> results;
    ArrayRef<Value> rest = done;
    for (ValueRange product : adaptor.getProducts()) {
      results.emplace_back(rest.take_front(product.size()));
      rest = rest.drop_front(product.size());
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};
} // namespace

void tlx::populateMMAToNVVMPatterns(const TLXTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<AsyncDotLowering, AsyncDotWaitLowering>(converter,
                                                       patterns.getContext());
}
