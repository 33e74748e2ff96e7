//===- TMAToNVVM.cpp - Lowering of the TMA family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringPattern.h"

#include "jfa/Dialect/TLX/IR/TensorMapRecipe.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// What makes the address of a barrier in shared memory that of the leader of a
/// pair: bit 24, the lowest of a rank, cleared.
static constexpr int32_t kLeaderMask = ~(1 << 24);

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
struct LoadLowering : public TaskLoweringPattern<AsyncDescriptorLoadOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncDescriptorLoadOp op, Adaptor adaptor,
                    LoweringBuilder &b,
                    const TaskThreads &task) const override {
    FailureOr<SmallVector<Value>> coordinates =
        hardwareCoordinates(b, op, adaptor);
    if (failed(coordinates)) {
      return failure();
    }
    Value barrier = b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex());
    NVVM::CTAGroupKindAttr group;
    if (op.isOfPair()) {
      barrier = b.create<arith::AndIOp>(barrier, b.i32(kLeaderMask));
      group = NVVM::CTAGroupKindAttr::get(op.getContext(),
                                          NVVM::CTAGroupKind::CTA_2);
    }
    Value mask = adaptor.getMulticast();
    if (mask) {
      mask = b.create<arith::TruncIOp>(b.builder.getI16Type(), mask);
    }
    b.elected(task, [&] {
      // shared::cluster with the CTA's own address: the form that every
      // version of PTX for sm_90 has.
      auto pointer = LLVM::LLVMPointerType::get(op.getContext(), 7);
      Value destination = b.create<LLVM::AddrSpaceCastOp>(
          pointer, b.sharedPointer(adaptor.getDestination()));
      b.create<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
          destination, adaptor.getMap(), *coordinates, b.sharedPointer(barrier),
          /*im2colOffsets=*/ValueRange(), mask,
          buildCachePolicy(b, op.getCache()), NVVM::TMALoadMode::TILE,
          /*isCTAOnly=*/false, group, /*predicate=*/Value());
    });
    return SmallVector<Value>();
  }
};

/// Lets the task's threads meet, then starts a copy out of shared memory as a
/// group of its own.
template <typename Op>
class WriteLowering : public TaskLoweringPattern<Op> {
public:
  using TaskLoweringPattern<Op>::TaskLoweringPattern;
  using Adaptor = typename Op::Adaptor;

  Replacement lower(Op op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const final {
    FailureOr<SmallVector<Value>> coordinates =
        hardwareCoordinates(b, op, adaptor);
    if (failed(coordinates)) {
      return failure();
    }
    b.syncTask(task);
    b.elected(task, [&] {
      buildCopy(b, adaptor.getMap(), b.sharedPointer(adaptor.getSource()),
                *coordinates, buildCachePolicy(b, op.getCache()));
      b.create<NVVM::CpAsyncBulkCommitGroupOp>();
    });
    return SmallVector<Value>();
  }

private:
  virtual void buildCopy(LoweringBuilder &b, Value map, Value source,
                         ValueRange coordinates, Value policy) const = 0;
};

struct StoreLowering : public WriteLowering<AsyncDescriptorStoreOp> {
  using WriteLowering::WriteLowering;

  void buildCopy(LoweringBuilder &b, Value map, Value source,
                 ValueRange coordinates, Value policy) const override {
    b.create<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(
        map, source, coordinates, policy, NVVM::TMAStoreMode::TILE,
        /*predicate=*/Value());
  }
};

struct ReduceLowering : public WriteLowering<AsyncDescriptorReduceOp> {
  using WriteLowering::WriteLowering;

  void buildCopy(LoweringBuilder &b, Value map, Value source,
                 ValueRange coordinates, Value policy) const override {
    b.create<NVVM::CpAsyncBulkTensorReduceOp>(
        map, source, NVVM::TMAReduxKind::ADD, NVVM::TMAStoreMode::TILE,
        coordinates, policy);
  }
};

struct StoreWaitLowering
    : public TaskLoweringPattern<AsyncDescriptorStoreWaitOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncDescriptorStoreWaitOp op, Adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    b.elected(task, [&] {
      b.create<NVVM::CpAsyncBulkWaitGroupOp>(
          op.getPending(),
          op.getWritten() ? UnitAttr() : UnitAttr::get(op.getContext()));
    });
    b.syncTask(task);
    return SmallVector<Value>();
  }
};

struct PrefetchLowering
    : public TaskLoweringPattern<AsyncDescriptorPrefetchOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncDescriptorPrefetchOp op, Adaptor adaptor,
                    LoweringBuilder &b,
                    const TaskThreads &task) const override {
    FailureOr<SmallVector<Value>> coordinates =
        hardwareCoordinates(b, op, adaptor);
    if (failed(coordinates)) {
      return failure();
    }
    b.elected(task, [&] {
      b.create<NVVM::CpAsyncBulkTensorPrefetchOp>(
          adaptor.getMap(), *coordinates, /*im2colOffsets=*/ValueRange(),
          NVVM::TMALoadMode::TILE, /*l2CacheHint=*/Value());
    });
    return SmallVector<Value>();
  }
};
} // namespace

void tlx::populateTMAToNVVMPatterns(const TLXTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<LoadLowering, StoreLowering, ReduceLowering, StoreWaitLowering,
               PrefetchLowering>(converter, patterns.getContext());
}
