//===- TensorMemoryToNVVM.cpp - Lowering to tcgen05 -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The TensorMemory family, and what ops of the Memory and MMA families become
// where a buffer is in tensor memory. A buffer there is an address of 32 bits:
// the lane in the upper half, the column in the lower.
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringPattern.h"
#include "SharedOperands.h"
#include "Tcgen05Descriptor.h"

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Elements of K in one instruction, and the columns that they take in tensor
/// memory.
static constexpr int64_t kDepth = 16, kDepthColumns = 8;

//===----------------------------------------------------------------------===//
// The beginning and the end of a kernel
//===----------------------------------------------------------------------===//

static int64_t getInteger(Operation *op, StringRef name) {
  return op->getAttrOfType<IntegerAttr>(name).getInt();
}

/// A barrier of all threads, of the CTA or of its cluster, that also orders
/// accesses to tensor memory.
static void buildTensorBarrier(LoweringBuilder &b, bool isOfCluster) {
  b.create<NVVM::Tcgen05FenceOp>(NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  if (isOfCluster) {
    b.create<NVVM::ClusterArriveOp>(b.builder.getUnitAttr());
    b.create<NVVM::ClusterWaitOp>(b.builder.getUnitAttr());
  } else {
    b.create<NVVM::Barrier0Op>();
  }
  b.create<NVVM::Tcgen05FenceOp>(NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

/// The CTAs that the tcgen05 instructions of a kernel are of, which must be the
/// same in all of them.
static NVVM::CTAGroupKind getCtaGroup(Operation *kernel) {
  return kernel->hasAttr(kTensorPairAttr) ? NVVM::CTAGroupKind::CTA_2
                                          : NVVM::CTAGroupKind::CTA_1;
}

/// The address that the allocation has left in shared memory.
static Value loadTensorAddress(LoweringBuilder &b, Operation *kernel) {
  Value slot = b.sharedAddress(getInteger(kernel, kTensorAddressAttr));
  return b.create<LLVM::LoadOp>(b.builder.getI32Type(), b.sharedPointer(slot));
}

void tlx::prepareTensorMemory(KernelOp kernel) {
  if (!kernel->hasAttr(kTensorColumnsAttr)) {
    return;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  LoweringBuilder b(builder, kernel.getLoc());
  b.guarded(b.equals(b.uniformWarp(), 0), [&] {
    Value slot = b.sharedAddress(getInteger(kernel, kTensorAddressAttr));
    // Of a pair, the same warp of both CTAs: they get the same columns.
    b.create<NVVM::Tcgen05AllocOp>(
        b.sharedPointer(slot), b.i32(getInteger(kernel, kTensorColumnsAttr)),
        getCtaGroup(kernel));
    b.create<NVVM::Tcgen05RelinquishAllocPermitOp>(getCtaGroup(kernel));
  });
  buildTensorBarrier(b, /*isOfCluster=*/false);
  Value base = loadTensorAddress(b, kernel);
  auto allocs = llvm::to_vector(kernel.getBody().getOps<LocalAllocOp>());
  for (LocalAllocOp alloc : allocs) {
    if (!alloc.getBuffer().getType().isInTensorMemory()) {
      continue;
    }
    Value address = b.addConstant(base, *alloc.getOffset());
    auto buffer = b.create<UnrealizedConversionCastOp>(
        TypeRange(alloc.getBuffer().getType()), ValueRange(address));
    // An alias may come later; it has its own offset by now.
    alloc.getBuffer().replaceUsesWithIf(
        buffer.getResult(0),
        [](OpOperand &use) { return !isa<LocalAllocOp>(use.getOwner()); });
  }
  // Aliases name those before them.
  for (LocalAllocOp alloc : llvm::reverse(allocs)) {
    if (alloc.getBuffer().getType().isInTensorMemory()) {
      alloc.erase();
    }
  }
}

void tlx::buildTensorMemoryEnd(LoweringBuilder &b, Operation *kernel) {
  if (!kernel->hasAttr(kTensorColumnsAttr)) {
    return;
  }
  // No CTA frees what products of its peer use, or ends while another one of
  // the cluster reaches it (PTX ISA 9.7.16.7.1).
  buildTensorBarrier(
      b, kernel->hasAttr(NVVM::NVVMDialect::getClusterDimAttrName()));
  b.guarded(b.equals(b.uniformWarp(), 0), [&] {
    Value address = b.tensorPointer(loadTensorAddress(b, kernel));
    b.create<NVVM::Tcgen05DeallocOp>(
        address, b.i32(getInteger(kernel, kTensorColumnsAttr)),
        getCtaGroup(kernel));
  });
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
struct TensorViewLowering : public LoweringPattern<LocalViewOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(LocalViewOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    if (!op.getView().getType().isInTensorMemory()) {
      return failure(); // In shared memory.
    }
    int64_t tileColumns = *getTensorTileColumns(op.getView().getType());
    Value index = adaptor.getIndex(), address = adaptor.getSource();
    if (hasHalfTiles(op.getView().getType())) {
      // The odd one of two tiles has the same columns, in the lanes between.
      Value lanes = b.mulConstant(b.remConstant(index, 2),
                                  kHalfTileLane << kTensorLaneShift);
      address = b.add(address, lanes);
      index = b.divConstant(index, 2);
    }
    return SmallVector<Value>{
        b.add(address, b.mulConstant(index, tileColumns))};
  }
};

/// The column of tensor memory in which element `index` of a row begins.
static Value toColumn(LoweringBuilder &b, Value index, Type element) {
  int64_t bits = element.getIntOrFloatBitWidth();
  return bits > kTensorCellBits ? b.mulConstant(index, bits / kTensorCellBits)
                                : b.divConstant(index, kTensorCellBits / bits);
}

struct TensorSliceLowering : public LoweringPattern<LocalSliceOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(LocalSliceOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    MemDescType type = op.getView().getType();
    if (!type.isInTensorMemory()) {
      return failure(); // In shared memory.
    }
    return SmallVector<Value>{
        b.add(adaptor.getSource(),
              toColumn(b, adaptor.getOffsets()[1], type.getElementType()))};
  }
};

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// Whether a tile has 64 rows, whose halves two threads of a warp have.
static bool isHalfTile(RankedTensorType tile) {
  return tile.getDimSize(0) == kHalfTileRows;
}

/// The columns of a thread's part of a tile.
static int64_t getPartColumns(RankedTensorType tile) {
  return getLayout(tile).getNumRegisters() * tile.getElementTypeBitWidth() /
         kTensorCellBits;
}

/// Where the part of the thread's warp begins: its lanes, and the columns of
/// its warpgroup.
static Value getPartAddress(LoweringBuilder &b, Value buffer,
                            RankedTensorType tile, const TaskThreads &task) {
  constexpr int64_t kLanesMask = 96; // 32 for each warp of a warpgroup
  Value lanes = b.create<arith::AndIOp>(b.threadId(), b.i32(kLanesMask));
  Value address =
      b.add(buffer, b.create<arith::ShLIOp>(lanes, b.i32(kTensorLaneShift)));
  if (task.threadsPerReplica == kTensorLanes) {
    return address;
  }
  int64_t threadsPerRow = kTensorLanes / tile.getDimSize(0);
  Value group = b.divConstant(b.threadInTask(task), kTensorLanes);
  return b.add(address,
               b.mulConstant(group, threadsPerRow * getPartColumns(tile)));
}

/// Makes elements of 64 bits of two columns each.
static SmallVector<Value> joinColumns(LoweringBuilder &b,
                                      ArrayRef<Value> columns) {
  Type type = b.builder.getI64Type();
  Value width = b.create<arith::ConstantOp>(
      b.builder.getIntegerAttr(type, kTensorCellBits));
  SmallVector<Value> elements;
  for (size_t i = 0; i < columns.size(); i += 2) {
    Value low = b.create<arith::ExtUIOp>(type, columns[i]);
    Value high = b.create<arith::ExtUIOp>(type, columns[i + 1]);
    elements.push_back(
        b.create<arith::OrIOp>(low, b.create<arith::ShLIOp>(high, width)));
  }
  return elements;
}

struct TensorLoadLowering
    : public TaskLoweringPattern<LocalLoadOp, TileAdaptor<LocalLoadOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(LocalLoadOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    if (!op.getSource().getType().isInTensorMemory()) {
      return failure(); // In shared memory.
    }
    RankedTensorType tile = op.getTile().getType();
    Value address = getPartAddress(b, adaptor.getSource().front(), tile, task);
    SmallVector<Value> columns =
        buildTensorLoad(b, address, getPartColumns(tile), isHalfTile(tile));
    if (tile.getElementTypeBitWidth() == 2 * kTensorCellBits) {
      return joinColumns(b, columns);
    }
    Type type = isPacked(tile) ? Type(VectorType::get(2, tile.getElementType()))
                               : tile.getElementType();
    SmallVector<Value> registers;
    for (Value column : columns) {
      registers.push_back(column.getType() == type
                              ? column
                              : b.create<LLVM::BitcastOp>(type, column));
    }
    return registers;
  }
};

struct TensorStoreLowering
    : public TaskLoweringPattern<LocalStoreOp, TileAdaptor<LocalStoreOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(LocalStoreOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    if (!op.getDestination().getType().isInTensorMemory()) {
      return failure(); // In shared memory.
    }
    RankedTensorType tile = op.getTile().getType();
    Value address =
        getPartAddress(b, adaptor.getDestination().front(), tile, task);
    buildTensorStore(b, address, llvm::to_vector(adaptor.getTile()),
                     isHalfTile(tile));
    return SmallVector<Value>();
  }
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

struct TensorDotLowering
    : public TaskLoweringPattern<AsyncDotOp, TileAdaptor<AsyncDotOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncDotOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    if (!op.isInTensorMemory()) {
      return failure(); // In registers.
    }
    std::optional<SharedOperand> lhs;
    auto aType = cast<MemDescType>(op.getA().getType());
    FailureOr<SharedOperand> rhs =
        getSharedOperand(op, op.getB().getType(), /*kIsLast=*/false);
    if (failed(rhs)) {
      return failure();
    }
    if (!aType.isInTensorMemory()) {
      FailureOr<SharedOperand> left =
          getSharedOperand(op, aType, /*kIsLast=*/true);
      if (failed(left)) {
        return failure();
      }
      lhs = *left;
    }
    b.elected(task, [&] {
      Value accumulate =
          op.getAccumulate()
              ? adaptor.getAccumulate().front()
              : b.create<arith::ConstantOp>(b.builder.getBoolAttr(false));
      buildSteps(b, op, lhs, *rhs, adaptor.getA().front(),
                 adaptor.getB().front(), adaptor.getC().front(), accumulate);
    });
    return SmallVector<Value>();
  }

private:
  /// One instruction for each 16 of K.
  static void buildSteps(LoweringBuilder &b, AsyncDotOp op,
                         const std::optional<SharedOperand> &lhs,
                         const SharedOperand &rhs, Value a, Value bAddress,
                         Value sums, Value accumulate) {
    AsyncDotOp::Extents extents = op.getExtents();
    Tcgen05Instruction instruction{
        op.getB().getType().getElementType().isBF16(), extents.m, extents.n,
        lhs && !lhs->kMajor, !rhs.kMajor};
    Value descriptor = b.i32(static_cast<int32_t>(instruction.encode()));
    Value left = a;
    if (lhs) {
      left = buildDescriptor(b, getTcgen05FixedBits(*lhs), a);
    }
    Value right = buildDescriptor(b, getTcgen05FixedBits(rhs), bAddress);
    Value target = b.tensorPointer(sums);
    for (int64_t k = 0; k < extents.k; k += kDepth) {
      Value factor = lhs ? advanceDescriptor(b, left, lhs->getOffset(0, k))
                         : b.tensorPointer(
                               b.addConstant(left, k / kDepth * kDepthColumns));
      b.create<NVVM::Tcgen05MMAOp>(
          NVVM::Tcgen05MMAKind::F16,
          op.isOfPair() ? NVVM::CTAGroupKind::CTA_2 : NVVM::CTAGroupKind::CTA_1,
          NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false, target,
          factor, advanceDescriptor(b, right, rhs.getOffset(0, k)), descriptor,
          accumulate, /*scaleInputD=*/Value(), /*disableOutputLane=*/Value());
      accumulate = b.create<arith::ConstantOp>(b.builder.getBoolAttr(true));
    }
  }
};

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

struct Tcgen05CommitLowering : public TaskLoweringPattern<Tcgen05CommitOp> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(Tcgen05CommitOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    Value address = b.barrierAddress(adaptor.getBarrier(), adaptor.getIndex());
    Value mask = adaptor.getMulticast();
    if (mask) {
      mask = b.create<arith::TruncIOp>(b.builder.getI16Type(), mask);
    }
    b.elected(task, [&] {
      b.create<NVVM::Tcgen05CommitOp>(
          b.sharedPointer(address), mask,
          getCtaGroup(op->getParentOfType<KernelOp>()));
    });
    return SmallVector<Value>();
  }
};

struct Tcgen05FenceLowering : public LoweringPattern<Tcgen05FenceOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(Tcgen05FenceOp op, Adaptor,
                    LoweringBuilder &b) const override {
    if (op.getKind() == Tcgen05FenceKind::After) {
      b.create<NVVM::Tcgen05FenceOp>(NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
      return SmallVector<Value>();
    }
    b.create<NVVM::Tcgen05WaitOp>(NVVM::Tcgen05WaitKind::STORE);
    b.create<NVVM::Tcgen05FenceOp>(NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    return SmallVector<Value>();
  }
};
} // namespace

void tlx::populateTensorMemoryToNVVMPatterns(const TLXTypeConverter &converter,
                                             RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  // Before the patterns of the same ops for shared memory and registers.
  patterns.add<TensorViewLowering, TensorSliceLowering, TensorLoadLowering,
               TensorStoreLowering, TensorDotLowering>(converter, context,
                                                       /*benefit=*/2);
  patterns.add<Tcgen05CommitLowering, Tcgen05FenceLowering>(converter, context);
}
