//===- MemoryToNVVM.cpp - Lowering of the Memory family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoweringPattern.h"

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/SharedLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Addresses of elements
//===----------------------------------------------------------------------===//

namespace {
/// Addresses of a buffer's elements, as coordinates of the view.
class ElementAddress {
public:
  ElementAddress(LoweringBuilder &b, MemDescType type,
                 const SharedLayout &layout, Value base)
      : b(b), type(type), layout(layout), base(base) {}

  /// The address of the element at `thread` + `offset`; `thread` are values,
  /// `offset` the constants that a register adds.
  Value get(ArrayRef<Value> thread, ArrayRef<int64_t> offset) {
    SmallVector<Value> at;
    for (auto [value, constant] : llvm::zip_equal(thread, offset)) {
      at.push_back(b.addConstant(value, constant));
    }
    Value column = type.getTransposed() ? at[at.size() - 2] : at.back();
    Value bytes = b.mulConstant(b.remConstant(column, layout.panelColumns),
                                layout.elementBytes);
    if (layout.numPanels > 1) {
      Value panel = b.divConstant(column, layout.panelColumns);
      bytes = b.add(bytes, b.mulConstant(panel, layout.panelStrideBytes));
    }
    if (at.size() > 1) {
      Value row = type.getTransposed() ? at.back() : at[at.size() - 2];
      bytes = b.add(bytes, b.mulConstant(row, layout.rowPitchBytes));
    }
    Value address = b.add(base, bytes);
    return layout.swizzleBytes ? swizzled(address) : address;
  }

  /// The swizzle looks at address bits, so it is applied to the address.
  Value swizzled(Value address) {
    Value bits = b.create<arith::ShRUIOp>(address, b.i32(3));
    int64_t mask = layout.swizzleBytes - 16;
    Value flip = b.create<arith::AndIOp>(bits, b.i32(mask));
    return b.create<arith::XOrIOp>(address, flip);
  }

private:
  LoweringBuilder &b;
  MemDescType type;
  const SharedLayout &layout;
  Value base;
};
} // namespace

static SmallVector<Value> threadCoordinates(LoweringBuilder &b,
                                            RankedTensorType tile,
                                            const TaskThreads &task) {
  SmallVector<Value> coordinates;
  for (int64_t dim = 0; dim < tile.getRank(); ++dim) {
    coordinates.push_back(threadCoordinate(b, getLayout(tile), task, dim));
  }
  return coordinates;
}

//===----------------------------------------------------------------------===//
// Buffers and views
//===----------------------------------------------------------------------===//

namespace {
struct LocalAllocLowering : public LoweringPattern<LocalAllocOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(LocalAllocOp op, Adaptor,
                    LoweringBuilder &b) const override {
    if (!op.getOffset()) {
      return op.emitOpError(
          "expected an offset; run tlx-allocate-memory first");
    }
    return SmallVector<Value>{b.sharedAddress(*op.getOffset())};
  }
};

struct LocalViewLowering : public LoweringPattern<LocalViewOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(LocalViewOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    FailureOr<int64_t> bytes = op.getView().getType().getSizeInBytes();
    if (failed(bytes)) {
      return failure();
    }
    Value offset = b.mulConstant(adaptor.getIndex(), *bytes);
    return SmallVector<Value>{b.add(adaptor.getSource(), offset)};
  }
};

struct LocalSliceLowering : public LoweringPattern<LocalSliceOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(LocalSliceOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    FailureOr<SharedLayout> layout = getSharedLayout(
        op.getView().getType(), [&] { return op.emitOpError(); });
    if (failed(layout)) {
      return failure();
    }
    Value rows = b.mulConstant(adaptor.getOffsets()[0], layout->rowPitchBytes);
    Value panel = b.divConstant(adaptor.getOffsets()[1], layout->panelColumns);
    Value columns = b.mulConstant(panel, layout->panelStrideBytes);
    return SmallVector<Value>{b.add(adaptor.getSource(), b.add(rows, columns))};
  }
};

/// A view at the same address.
template <typename Op>
struct SameAddressLowering : public OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getSource());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

struct LocalLoadLowering
    : public TaskLoweringPattern<LocalLoadOp, TileAdaptor<LocalLoadOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(LocalLoadOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    MemDescType buffer = op.getSource().getType();
    RankedTensorType tile = op.getTile().getType();
    FailureOr<SharedLayout> layout =
        getSharedLayout(buffer, [&] { return op.emitOpError(); });
    if (failed(layout)) {
      return failure();
    }
    ElementAddress address(b, buffer, *layout, adaptor.getSource().front());
    SmallVector<Value> thread = threadCoordinates(b, tile, task), scalars;
    int64_t registers = getLayout(tile).getNumRegisters();
    for (int64_t i = 0; i < registers; ++i) {
      Value pointer = b.sharedPointer(address.get(
          thread, getRegisterOffset(getLayout(tile), tile.getRank(), i)));
      scalars.push_back(b.create<LLVM::LoadOp>(tile.getElementType(), pointer));
    }
    return packTile(b, tile, scalars);
  }
};

struct LocalStoreLowering
    : public TaskLoweringPattern<LocalStoreOp, TileAdaptor<LocalStoreOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(LocalStoreOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    MemDescType buffer = op.getDestination().getType();
    RankedTensorType tile = op.getTile().getType();
    FailureOr<SharedLayout> layout =
        getSharedLayout(buffer, [&] { return op.emitOpError(); });
    if (failed(layout)) {
      return failure();
    }
    ElementAddress address(b, buffer, *layout,
                           adaptor.getDestination().front());
    if (canStoreMatrices(buffer, tile, *layout, task)) {
      storeMatrices(b, tile, task, address, adaptor.getTile());
    } else {
      storeElements(b, tile, task, address, adaptor.getTile());
    }
    return SmallVector<Value>();
  }

private:
  /// `stmatrix` stores 8x8 matrices that lie in registers as in accumulators.
  static bool canStoreMatrices(MemDescType buffer, RankedTensorType tile,
                               const SharedLayout &layout,
                               const TaskThreads &task) {
    return isPacked(tile) && tile.getRank() == 2 && !buffer.getTransposed() &&
           layout.swizzleBytes >= 32 && tile.getDimSize(1) % 16 == 0 &&
           task.threadsPerReplica % 128 == 0 &&
           tile.getDimSize(0) == task.threadsPerReplica / 2 &&
           getLayout(tile) == getAccumulatorLayout(tile.getContext(),
                                                   tile.getShape(),
                                                   task.threadsPerReplica);
  }

  /// Four matrices at a time: lane l gives the address of row l mod 8 of
  /// matrix l div 8; the matrices are 16 rows by 16 columns, rows fastest.
  static void storeMatrices(LoweringBuilder &b, RankedTensorType tile,
                            const TaskThreads &task, ElementAddress &address,
                            ValueRange registers) {
    Value thread = b.threadInTask(task);
    Value lane = b.remConstant(thread, 32), warp = b.divConstant(thread, 32);
    Value row = b.add(b.mulConstant(warp, 16), b.remConstant(lane, 16));
    Value column = b.mulConstant(b.divConstant(lane, 16), 8);
    Type i32 = b.builder.getI32Type();
    for (int64_t group = 0; group < tile.getDimSize(1) / 16; ++group) {
      Value pointer =
          b.sharedPointer(address.get({row, column}, {0, group * 16}));
      SmallVector<Value> matrices;
      for (Value pair : registers.slice(group * 4, 4)) {
        matrices.push_back(b.create<LLVM::BitcastOp>(i32, pair));
      }
      MLIRContext *context = b.builder.getContext();
      b.create<NVVM::StMatrixOp>(pointer, matrices, NVVM::MMALayout::row,
                                 NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
                                 NVVM::LdStMatrixEltType::B16);
    }
  }

  static void storeElements(LoweringBuilder &b, RankedTensorType tile,
                            const TaskThreads &task, ElementAddress &address,
                            ValueRange registers) {
    SmallVector<Value> thread = threadCoordinates(b, tile, task);
    for (auto [i, scalar] : llvm::enumerate(unpackTile(b, tile, registers))) {
      Value pointer = b.sharedPointer(address.get(
          thread, getRegisterOffset(getLayout(tile), tile.getRank(), i)));
      b.create<LLVM::StoreOp>(scalar, pointer);
    }
  }
};

struct FenceAsyncSharedLowering : public LoweringPattern<FenceAsyncSharedOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(FenceAsyncSharedOp op, Adaptor,
                    LoweringBuilder &b) const override {
    b.create<NVVM::FenceProxyOp>(
        NVVM::ProxyKind::async_shared,
        NVVM::SharedSpaceAttr::get(op.getContext(),
                                   NVVM::SharedSpace::shared_cta));
    return SmallVector<Value>();
  }
};
} // namespace

void tlx::populateMemoryToNVVMPatterns(const TLXTypeConverter &converter,
                                       RewritePatternSet &patterns) {
  patterns.add<LocalAllocLowering, LocalViewLowering, LocalSliceLowering,
               SameAddressLowering<LocalTransOp>,
               SameAddressLowering<LocalReinterpretOp>, LocalLoadLowering,
               LocalStoreLowering, FenceAsyncSharedLowering>(
      converter, patterns.getContext());
}
