//===- MemoryToNVVM.cpp - Lowering of the Memory family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementAddress.h"
#include "LoweringPattern.h"

#include "jfa/Dialect/TLX/IR/Fragments.h"
#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/SharedLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

/// Whether `ldmatrix` and `stmatrix` can move a tile: 8x8 matrices of 16 bits
/// that lie in registers as in accumulators (PTX ISA 9.7.15.5.15).
static bool isOfMatrices(RankedTensorType tile, const SharedLayout &layout,
                         const TaskThreads &task) {
  return isPacked(tile) && tile.getRank() == 2 && layout.swizzleBytes >= 32 &&
         tile.getDimSize(1) % 16 == 0 && task.threadsPerReplica % 128 == 0 &&
         tile.getDimSize(0) == task.threadsPerReplica / 2 &&
         getLayout(tile) == getAccumulatorLayout(tile.getContext(),
                                                 tile.getShape(),
                                                 task.threadsPerReplica);
}

/// The largest column of a panel that a lane's first line begins at.
static int64_t getLastBegin(MemDescType buffer, const SharedLayout &layout,
                            RankedTensorType tile) {
  int64_t begins = buffer.getTransposed() ? tile.getDimSize(0) : 16;
  return std::min(begins, layout.panelColumns) - 8;
}

/// Four matrices at a time: 16 rows by 16 columns of the tile, rows fastest.
/// Lane l gives the address of line l mod 8 of matrix l div 8. Lines are the
/// matrix's rows, or its columns where these are contiguous in memory. Calls
/// `move` with their pointers, 16 columns of the tile after each other.
static void moveMatrices(LoweringBuilder &b, MemDescType buffer,
                         const SharedLayout &layout, Value base,
                         RankedTensorType tile, const TaskThreads &task,
                         function_ref<void(Value pointer)> move) {
  Value thread = b.threadInTask(task);
  Value lane = b.remConstant(thread, 32);
  Value firstRow = b.mulConstant(b.divConstant(thread, 32), 16);
  Value line = b.remConstant(lane, 8);
  Value rowHalf = b.mulConstant(b.remConstant(b.divConstant(lane, 8), 2), 8);
  Value columnHalf = b.mulConstant(b.divConstant(lane, 16), 8);
  bool transposed = buffer.getTransposed();
  Value row = b.add(firstRow, rowHalf), column = columnHalf;
  (transposed ? column : row) = b.add(transposed ? column : row, line);
  // Halves along the contiguous dimension begin 8 elements apart.
  ElementAddress address(b, buffer, layout, base, {row, column},
                         getLastBegin(buffer, layout, tile));
  for (int64_t begin = 0; begin < tile.getDimSize(1); begin += 16) {
    move(address.get({0, begin}));
  }
}

static NVVM::MMALayout getLineLayout(MemDescType buffer) {
  return buffer.getTransposed() ? NVVM::MMALayout::col : NVVM::MMALayout::row;
}

static SmallVector<Value> loadMatrices(LoweringBuilder &b, MemDescType buffer,
                                       const SharedLayout &layout, Value base,
                                       RankedTensorType tile,
                                       const TaskThreads &task) {
  MLIRContext *context = b.builder.getContext();
  Type i32 = b.builder.getI32Type();
  Type four = LLVM::LLVMStructType::getLiteral(context, {i32, i32, i32, i32});
  Type pair = VectorType::get(2, tile.getElementType());
  SmallVector<Value> registers;
  auto load = [&](Value pointer) {
    Value loaded = b.create<NVVM::LdMatrixOp>(
        four, pointer, 4, getLineLayout(buffer),
        NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
        NVVM::LdStMatrixEltType::B16);
    for (int64_t i = 0; i < 4; ++i) {
      Value bits = b.create<LLVM::ExtractValueOp>(loaded, i);
      registers.push_back(b.create<LLVM::BitcastOp>(pair, bits));
    }
  };
  moveMatrices(b, buffer, layout, base, tile, task, load);
  return registers;
}

static void storeMatrices(LoweringBuilder &b, MemDescType buffer,
                          const SharedLayout &layout, Value base,
                          RankedTensorType tile, const TaskThreads &task,
                          ValueRange registers) {
  Type i32 = b.builder.getI32Type();
  auto store = [&](Value pointer) {
    SmallVector<Value> matrices;
    for (Value pair : registers.take_front(4)) {
      matrices.push_back(b.create<LLVM::BitcastOp>(i32, pair));
    }
    registers = registers.drop_front(4);
    b.create<NVVM::StMatrixOp>(
        pointer, matrices, getLineLayout(buffer),
        NVVM::LdStMatrixShapeAttr::get(b.builder.getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
  };
  moveMatrices(b, buffer, layout, base, tile, task, store);
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Calls `move` with the pointers to a thread's quads of registers, one after
/// the other: quads of all threads lie side by side.
static void moveFragments(LoweringBuilder &b, Value base, RankedTensorType tile,
                          const TaskThreads &task,
                          function_ref<void(Value pointer)> move) {
  Value begin =
      b.add(base, b.mulConstant(b.threadInTask(task), kFragmentBytes));
  int64_t quads = getLayout(tile).getNumRegisters() / 4;
  for (int64_t i = 0; i < quads; ++i) {
    int64_t distance = i * kFragmentBytes * task.threadsPerReplica;
    move(b.sharedPointer(b.addConstant(begin, distance)));
  }
}

static SmallVector<Value> loadFragments(LoweringBuilder &b, Value base,
                                        RankedTensorType tile,
                                        const TaskThreads &task) {
  auto quad = VectorType::get(4, tile.getElementType());
  SmallVector<Value> scalars;
  moveFragments(b, base, tile, task, [&](Value pointer) {
    Value loaded = b.create<LLVM::LoadOp>(quad, pointer, kFragmentBytes);
    for (int64_t lane = 0; lane < 4; ++lane) {
      scalars.push_back(b.create<LLVM::ExtractElementOp>(loaded, b.i32(lane)));
    }
  });
  return packTile(b, tile, scalars);
}

static void storeFragments(LoweringBuilder &b, Value base,
                           RankedTensorType tile, const TaskThreads &task,
                           ValueRange registers) {
  auto quad = VectorType::get(4, tile.getElementType());
  SmallVector<Value> scalars = unpackTile(b, tile, registers);
  const Value *next = scalars.begin();
  moveFragments(b, base, tile, task, [&](Value pointer) {
    Value vector = b.create<LLVM::UndefOp>(quad);
    for (int64_t lane = 0; lane < 4; ++lane) {
      vector = b.create<LLVM::InsertElementOp>(vector, *next++, b.i32(lane));
    }
    b.create<LLVM::StoreOp>(vector, pointer, kFragmentBytes);
  });
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
    Value base = adaptor.getSource().front();
    if (op.getFragments()) {
      return loadFragments(b, base, tile, task);
    }
    if (isOfMatrices(tile, *layout, task)) {
      return loadMatrices(b, buffer, *layout, base, tile, task);
    }
    ElementAddress address = makeAddress(b, buffer, *layout, base, tile, task);
    int64_t length = getVectorLength(buffer, tile, *layout);
    Type element = tile.getElementType();
    SmallVector<Value> scalars;
    for (int64_t i = 0, end = getLayout(tile).getNumRegisters(); i < end;
         i += length) {
      Value pointer =
          address.get(getRegisterOffset(getLayout(tile), tile.getRank(), i));
      if (length == 1) {
        scalars.push_back(b.create<LLVM::LoadOp>(element, pointer));
        continue;
      }
      Value vector =
          b.create<LLVM::LoadOp>(VectorType::get(length, element), pointer,
                                 /*alignment=*/length * layout->elementBytes);
      for (int64_t lane = 0; lane < length; ++lane) {
        scalars.push_back(
            b.create<LLVM::ExtractElementOp>(vector, b.i32(lane)));
      }
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
    Value base = adaptor.getDestination().front();
    if (op.getFragments()) {
      storeFragments(b, base, tile, task, adaptor.getTile());
    } else if (isOfMatrices(tile, *layout, task)) {
      storeMatrices(b, buffer, *layout, base, tile, task, adaptor.getTile());
    } else {
      storeElements(b, buffer, *layout, base, tile, task, adaptor.getTile());
    }
    return SmallVector<Value>();
  }

private:
  static void storeElements(LoweringBuilder &b, MemDescType buffer,
                            const SharedLayout &layout, Value base,
                            RankedTensorType tile, const TaskThreads &task,
                            ValueRange registers) {
    ElementAddress address = makeAddress(b, buffer, layout, base, tile, task);
    int64_t length = getVectorLength(buffer, tile, layout);
    SmallVector<Value> scalars = unpackTile(b, tile, registers);
    for (size_t i = 0; i < scalars.size(); i += length) {
      Value pointer =
          address.get(getRegisterOffset(getLayout(tile), tile.getRank(), i));
      if (length == 1) {
        b.create<LLVM::StoreOp>(scalars[i], pointer);
        continue;
      }
      Value vector = b.create<LLVM::UndefOp>(
          VectorType::get(length, tile.getElementType()));
      for (int64_t lane = 0; lane < length; ++lane) {
        vector = b.create<LLVM::InsertElementOp>(vector, scalars[i + lane],
                                                 b.i32(lane));
      }
      b.create<LLVM::StoreOp>(vector, pointer,
                              /*alignment=*/length * layout.elementBytes);
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
