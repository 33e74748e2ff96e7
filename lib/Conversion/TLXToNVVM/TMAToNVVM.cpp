//===- TMAToNVVM.cpp - Lowering of the TMA family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoweringBuilder.h"

#include "jfa/Dialect/TLX/IR/TensorMapRecipe.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// The coordinate along one hardware dimension.
static Value hardwareCoordinate(LoweringBuilder &b, const TensorMapDim &dim,
                                ValueRange coordinates, Value start,
                                Value length) {
  switch (dim.kind) {
  case TensorMapDim::Kind::Inner:
    return b.i32(0);
  case TensorMapDim::Kind::Axis:
    return coordinates[dim.axis];
  case TensorMapDim::Kind::Panel:
    return b.divConstant(coordinates[dim.axis], dim.step);
  case TensorMapDim::Kind::Segment: {
    Value left = b.create<arith::SubIOp>(b.i32(kSegmentBound), length);
    return b.add(left, coordinates[dim.axis]);
  }
  case TensorMapDim::Kind::Position:
    return b.add(start, length);
  }
  llvm_unreachable("all kinds are handled");
}

/// The coordinates of a copy, innermost first.
template <typename Op>
static FailureOr<SmallVector<Value>>
hardwareCoordinates(LoweringBuilder &b, Op op, typename Op::Adaptor adaptor) {
  FailureOr<TensorMapRecipe> recipe = getTensorMapRecipe(
      op.getMap().getType(), [&] { return op.emitOpError(); });
  if (failed(recipe)) {
    return failure();
  }
  return llvm::map_to_vector(recipe->dims, [&](const TensorMapDim &dim) {
    return hardwareCoordinate(b, dim, adaptor.getCoordinates(),
                              adaptor.getSegmentStart(),
                              adaptor.getSegmentLength());
  });
}

namespace {
struct LoadLowering : public OpConversionPattern<AsyncDescriptorLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncDescriptorLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoweringBuilder b(rewriter, op.getLoc());
    FailureOr<TaskThreads> task = getTaskThreads(op);
    FailureOr<SmallVector<Value>> coordinates =
        hardwareCoordinates(b, op, adaptor);
    if (failed(task) || failed(coordinates)) {
      return failure();
    }
    Value barrier = adaptor.getBarrier();
    if (Value index = adaptor.getIndex()) {
      barrier = b.add(barrier, b.mulConstant(index, 8));
    }
    b.guarded(b.isLeader(*task), [&] {
      // shared::cluster with the CTA's own address: the form that every
      // version of PTX for sm_90 has.
      auto pointer = LLVM::LLVMPointerType::get(rewriter.getContext(), 7);
      Value destination = b.create<LLVM::AddrSpaceCastOp>(
          pointer, b.sharedPointer(adaptor.getDestination()));
      b.create<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
          destination, adaptor.getMap(), *coordinates, b.sharedPointer(barrier),
          /*im2colOffsets=*/ValueRange(), /*multicastMask=*/Value(),
          /*l2CacheHint=*/Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
          NVVM::CTAGroupKindAttr(), /*predicate=*/Value());
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// Lets the task's threads meet, then starts a copy out of shared memory as a
/// group of its own.
template <typename Op, typename BuildCopy>
LogicalResult lowerWrite(Op op, typename Op::Adaptor adaptor,
                         ConversionPatternRewriter &rewriter,
                         BuildCopy buildCopy) {
  LoweringBuilder b(rewriter, op.getLoc());
  FailureOr<TaskThreads> task = getTaskThreads(op);
  FailureOr<SmallVector<Value>> coordinates =
      hardwareCoordinates(b, op, adaptor);
  if (failed(task) || failed(coordinates)) {
    return failure();
  }
  b.syncTask(*task);
  b.guarded(b.isLeader(*task), [&] {
    buildCopy(b, b.sharedPointer(adaptor.getSource()), *coordinates);
    b.create<NVVM::CpAsyncBulkCommitGroupOp>();
  });
  rewriter.eraseOp(op);
  return success();
}

struct StoreLowering : public OpConversionPattern<AsyncDescriptorStoreOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncDescriptorStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return lowerWrite(op, adaptor, rewriter,
                      [&](LoweringBuilder &b, Value source, ValueRange at) {
                        b.create<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(
                            adaptor.getMap(), source, at,
                            /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
                            /*predicate=*/Value());
                      });
  }
};

struct ReduceLowering : public OpConversionPattern<AsyncDescriptorReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncDescriptorReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    return lowerWrite(op, adaptor, rewriter,
                      [&](LoweringBuilder &b, Value source, ValueRange at) {
                        b.create<NVVM::CpAsyncBulkTensorReduceOp>(
                            adaptor.getMap(), source, NVVM::TMAReduxKind::ADD,
                            NVVM::TMAStoreMode::TILE, at,
                            /*l2CacheHint=*/Value());
                      });
  }
};

struct StoreWaitLowering
    : public OpConversionPattern<AsyncDescriptorStoreWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncDescriptorStoreWaitOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<TaskThreads> task = getTaskThreads(op);
    if (failed(task)) {
      return failure();
    }
    LoweringBuilder b(rewriter, op.getLoc());
    b.guarded(b.isLeader(*task), [&] {
      b.create<NVVM::CpAsyncBulkWaitGroupOp>(
          op.getPending(),
          op.getWritten() ? UnitAttr() : rewriter.getUnitAttr());
    });
    b.syncTask(*task);
    rewriter.eraseOp(op);
    return success();
  }
};

struct PrefetchLowering
    : public OpConversionPattern<AsyncDescriptorPrefetchOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(AsyncDescriptorPrefetchOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LoweringBuilder b(rewriter, op.getLoc());
    FailureOr<TaskThreads> task = getTaskThreads(op);
    FailureOr<SmallVector<Value>> coordinates =
        hardwareCoordinates(b, op, adaptor);
    if (failed(task) || failed(coordinates)) {
      return failure();
    }
    b.guarded(b.isLeader(*task), [&] {
      b.create<NVVM::CpAsyncBulkTensorPrefetchOp>(
          adaptor.getMap(), *coordinates, /*im2colOffsets=*/ValueRange(),
          NVVM::TMALoadMode::TILE, /*l2CacheHint=*/Value());
    });
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void tlx::populateTMAToNVVMPatterns(const TLXTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<LoadLowering, StoreLowering, ReduceLowering, StoreWaitLowering,
               PrefetchLowering>(converter, patterns.getContext());
}
