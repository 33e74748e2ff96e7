//===- TileToNVVM.cpp - Lowering of the Tile family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoweringPattern.h"
#include "RegisterMap.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Value combine(LoweringBuilder &b, ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(x.getType());
  switch (kind) {
  case ReduceKind::Add:
    return isFloat ? Value(b.create<arith::AddFOp>(x, y))
                   : Value(b.create<arith::AddIOp>(x, y));
  case ReduceKind::Max:
    return isFloat ? Value(b.create<arith::MaxNumFOp>(x, y))
                   : Value(b.create<arith::MaxSIOp>(x, y));
  case ReduceKind::Min:
    return isFloat ? Value(b.create<arith::MinNumFOp>(x, y))
                   : Value(b.create<arith::MinSIOp>(x, y));
  }
  llvm_unreachable("all kinds are handled");
}

/// Combines a thread's registers; `target` says which register of the result
/// the element at an offset belongs to.
static SmallVector<Value>
reduceRegisters(LoweringBuilder &b, ReduceKind kind, RankedTensorType source,
                ArrayRef<Value> scalars, RankedTensorType result,
                function_ref<void(SmallVector<int64_t> &)> project) {
  RegisterMap from(source), to(result);
  SmallVector<Value> sums(to.size());
  for (auto [i, scalar] : llvm::enumerate(scalars)) {
    SmallVector<int64_t> offset = from.offset(i);
    project(offset);
    std::optional<int64_t> target = to.find(offset);
    if (!target) {
      return {};
    }
    Value &sum = sums[*target];
    sum = sum ? combine(b, kind, sum, scalar) : scalar;
  }
  return llvm::is_contained(sums, Value()) ? SmallVector<Value>() : sums;
}

/// Combines across the threads that hold other elements along `dim`.
static LogicalResult reduceThreads(LoweringBuilder &b, ReduceOp op,
                                   MutableArrayRef<Value> sums) {
  int64_t below = 1;
  for (const LayoutMode &mode :
       getLayout(op.getSource().getType()).getThreads()) {
    int64_t above = below * mode.count;
    if (mode.dim == op.getDim() && mode.count > 1) {
      if (above > 32 || !llvm::isPowerOf2_64(mode.count) ||
          !llvm::isPowerOf2_64(below)) {
        return op.emitOpError("expected every row of a reduction to lie within "
                              "one warp, but its layout is ")
               << getLayout(op.getSource().getType());
      }
      Type element = getElementTypeOrSelf(op.getResult());
      if (!element.isInteger(32) && !element.isF32()) {
        return op.emitOpError("expected i32 or f32 elements where threads "
                              "exchange them, but got ")
               << element;
      }
      for (int64_t step = below; step < above; step *= 2) {
        for (Value &sum : sums) {
          Value other = b.create<NVVM::ShflOp>(
              sum.getType(), b.i32(-1), sum, b.i32(step), b.i32(31),
              NVVM::ShflKind::bfly, UnitAttr());
          sum = combine(b, op.getKind(), sum, other);
        }
      }
    }
    below = above;
  }
  return success();
}

namespace {
struct ReduceLowering
    : public LoweringPattern<ReduceOp, TileAdaptor<ReduceOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(ReduceOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    RankedTensorType source = op.getSource().getType();
    SmallVector<Value> sums = reduceRegisters(
        b, op.getKind(), source, unpackTile(b, source, adaptor.getSource()),
        op.getResult().getType(), [&](SmallVector<int64_t> &offset) {
          offset.erase(offset.begin() + op.getDim());
        });
    if (sums.empty() || failed(reduceThreads(b, op, sums))) {
      return failure();
    }
    return packTile(b, op.getResult().getType(), sums);
  }
};

struct PartialReduceLowering
    : public LoweringPattern<PartialReduceOp, TileAdaptor<PartialReduceOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(PartialReduceOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    RankedTensorType source = op.getSource().getType();
    // Each thread is one group, so all its elements along the dimension meet.
    SmallVector<Value> sums = reduceRegisters(
        b, op.getKind(), source, unpackTile(b, source, adaptor.getSource()),
        op.getResult().getType(),
        [&](SmallVector<int64_t> &offset) { offset[op.getDim()] = 0; });
    if (sums.empty()) {
      return failure();
    }
    return packTile(b, op.getResult().getType(), sums);
  }
};

//===----------------------------------------------------------------------===//
// Rearrangements of a thread's own registers
//===----------------------------------------------------------------------===//

/// Takes each register of the result from the source's register whose offset
/// `project` derives.
template <typename Op>
static Replacement
lowerSelection(Op op, TileAdaptor<Op> adaptor, LoweringBuilder &b,
               function_ref<void(SmallVector<int64_t> &)> project) {
  RankedTensorType source = op.getSource().getType();
  RankedTensorType result = op.getResult().getType();
  SmallVector<Value> scalars = unpackTile(b, source, adaptor.getSource());
  RegisterMap from(source), to(result);
  SmallVector<Value> selected;
  for (int64_t i = 0; i < to.size(); ++i) {
    SmallVector<int64_t> offset = to.offset(i);
    project(offset);
    std::optional<int64_t> reg = from.find(offset);
    if (!reg) {
      return op.emitOpError("expected layouts under which a thread holds what "
                            "it needs, but got ")
             << getLayout(source) << " and " << getLayout(result);
    }
    selected.push_back(scalars[*reg]);
  }
  return packTile(b, result, selected);
}

struct ExpandDimsLowering
    : public LoweringPattern<ExpandDimsOp, TileAdaptor<ExpandDimsOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(ExpandDimsOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    return lowerSelection(op, adaptor, b, [&](SmallVector<int64_t> &offset) {
      offset.erase(offset.begin() + op.getDim());
    });
  }
};

struct BroadcastLowering
    : public LoweringPattern<BroadcastOp, TileAdaptor<BroadcastOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(BroadcastOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    RankedTensorType source = op.getSource().getType();
    return lowerSelection(op, adaptor, b, [&](SmallVector<int64_t> &offset) {
      for (auto [dim, value] : llvm::enumerate(offset)) {
        value = source.getDimSize(dim) == 1 ? 0 : value;
      }
    });
  }
};

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

struct SplatLowering : public LoweringPattern<SplatOp, TileAdaptor<SplatOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(SplatOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    RankedTensorType tile = op.getResult().getType();
    SmallVector<Value> scalars(getLayout(tile).getNumRegisters(),
                               adaptor.getScalar().front());
    return packTile(b, tile, scalars);
  }
};

struct IotaLowering : public TaskLoweringPattern<IotaOp, TileAdaptor<IotaOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(IotaOp op, Adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    RankedTensorType tile = op.getResult().getType();
    LayoutAttr layout = getLayout(tile);
    Value thread = threadCoordinate(b, layout, task, op.getDim());
    SmallVector<Value> scalars;
    for (int64_t i = 0; i < layout.getNumRegisters(); ++i) {
      int64_t offset =
          getRegisterOffset(layout, tile.getRank(), i)[op.getDim()];
      scalars.push_back(b.addConstant(thread, offset));
    }
    return packTile(b, tile, scalars);
  }
};

struct PrefixMaskLowering
    : public TaskLoweringPattern<PrefixMaskOp, TileAdaptor<PrefixMaskOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(PrefixMaskOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    RankedTensorType tile = op.getResult().getType();
    LayoutAttr layout = getLayout(tile);
    Value thread = threadCoordinate(b, layout, task, op.getDim());
    // The limit as this thread's registers see it, which leaves a comparison
    // with a constant for each. No limit below 0 differs from 0, so that the
    // subtraction cannot wrap.
    SmallVector<Value> limits;
    for (Value limit : adaptor.getLimit()) {
      Value positive = b.create<arith::MaxSIOp>(limit, b.i32(0));
      limits.push_back(b.create<arith::SubIOp>(positive, thread));
    }
    RegisterMap from(op.getLimit().getType());
    SmallVector<Value> masks;
    for (int64_t i = 0; i < layout.getNumRegisters(); ++i) {
      SmallVector<int64_t> offset =
          getRegisterOffset(layout, tile.getRank(), i);
      int64_t along = offset[op.getDim()];
      offset.erase(offset.begin() + op.getDim());
      std::optional<int64_t> reg = from.find(offset);
      if (!reg) {
        return failure();
      }
      masks.push_back(b.create<arith::CmpIOp>(arith::CmpIPredicate::sgt,
                                              limits[*reg], b.i32(along)));
    }
    return masks;
  }
};

//===----------------------------------------------------------------------===//
// ConvertLayoutOp
//===----------------------------------------------------------------------===//

struct ConvertLayoutLowering
    : public TaskLoweringPattern<ConvertLayoutOp,
                                 TileAdaptor<ConvertLayoutOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(ConvertLayoutOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    RankedTensorType source = op.getSource().getType();
    RankedTensorType result = op.getResult().getType();
    // The same threads hold the same elements, in other registers.
    if (getLayout(source).getThreads() == getLayout(result).getThreads()) {
      return lowerSelection(op, adaptor, b, [](SmallVector<int64_t> &) {});
    }
    if (!op.getOffset()) {
      return op.emitOpError("expected an offset of its scratch memory; run "
                            "tlx-allocate-memory first");
    }
    Value base = b.sharedAddress(*op.getOffset());
    if (task.replicas > 1) {
      int64_t bytes = source.getNumElements() * elementBytes(source);
      base = b.add(base, b.mulConstant(b.replica(task), bytes));
    }
    // Nobody may still be reading what an earlier conversion left there.
    b.syncTask(task);
    SmallVector<Value> pointers = elementPointers(b, source, task, base);
    for (auto [pointer, scalar] : llvm::zip_equal(
             pointers, unpackTile(b, source, adaptor.getSource()))) {
      b.create<LLVM::StoreOp>(widen(b, scalar), pointer);
    }
    b.syncTask(task);
    SmallVector<Value> scalars;
    Type element = source.getElementType();
    for (Value pointer : elementPointers(b, result, task, base)) {
      Type stored = element.isInteger(1) ? b.builder.getI8Type() : element;
      Value value = b.create<LLVM::LoadOp>(stored, pointer);
      scalars.push_back(stored == element
                            ? value
                            : b.create<arith::TruncIOp>(element, value));
    }
    return packTile(b, result, scalars);
  }

private:
  static int64_t elementBytes(RankedTensorType tile) {
    return llvm::divideCeil(tile.getElementTypeBitWidth(), 8);
  }

  static Value widen(LoweringBuilder &b, Value scalar) {
    return scalar.getType().isInteger(1)
               ? b.create<arith::ExtUIOp>(b.builder.getI8Type(), scalar)
               : scalar;
  }

  /// Where a thread's elements lie in row-major scratch memory.
  static SmallVector<Value> elementPointers(LoweringBuilder &b,
                                            RankedTensorType tile,
                                            const TaskThreads &task,
                                            Value base) {
    LayoutAttr layout = getLayout(tile);
    SmallVector<Value> pointers;
    for (int64_t i = 0; i < layout.getNumRegisters(); ++i) {
      SmallVector<int64_t> offset =
          getRegisterOffset(layout, tile.getRank(), i);
      Value address = base;
      int64_t stride = elementBytes(tile);
      for (int64_t dim = tile.getRank() - 1; dim >= 0; --dim) {
        Value at =
            b.addConstant(threadCoordinate(b, layout, task, dim), offset[dim]);
        address = b.add(address, b.mulConstant(at, stride));
        stride *= tile.getDimSize(dim);
      }
      pointers.push_back(b.sharedPointer(address));
    }
    return pointers;
  }
};

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// A value as scalars, be it a tile or a scalar.
static SmallVector<Value> scalarsOf(LoweringBuilder &b, Type type,
                                    ValueRange registers) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? unpackTile(b, tile, registers) : llvm::to_vector(registers);
}

struct GlobalLoadLowering
    : public LoweringPattern<GlobalLoadOp, TileAdaptor<GlobalLoadOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(GlobalLoadOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    auto tile = dyn_cast<RankedTensorType>(op.getResult().getType());
    Type element = tile ? tile.getElementType() : op.getResult().getType();
    SmallVector<Value> masks, others, results;
    if (op.getMask()) {
      masks = scalarsOf(b, op.getMask().getType(), adaptor.getMask());
    }
    if (op.getOther()) {
      others = scalarsOf(b, op.getOther().getType(), adaptor.getOther());
    }
    for (auto [i, index] : llvm::enumerate(
             scalarsOf(b, op.getIndex().getType(), adaptor.getIndex()))) {
      Value pointer =
          b.globalPointer(adaptor.getPointer().front(), index, element);
      if (masks.empty()) {
        results.push_back(b.create<LLVM::LoadOp>(element, pointer));
        continue;
      }
      Value other = others.empty()
                        ? Value(b.create<arith::ConstantOp>(
                              cast<TypedAttr>(b.builder.getZeroAttr(element))))
                        : others[i];
      results.push_back(buildMaskedLoad(b, masks[i], pointer, other));
    }
    if (tile) {
      results = packTile(b, tile, results);
    }
    return results;
  }

private:
  static Value buildMaskedLoad(LoweringBuilder &b, Value mask, Value pointer,
                               Value other) {
    auto ifOp = b.create<scf::IfOp>(TypeRange(other.getType()), mask,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(ifOp.thenBlock());
    b.create<scf::YieldOp>(
        ValueRange(b.create<LLVM::LoadOp>(other.getType(), pointer)));
    b.builder.setInsertionPointToStart(ifOp.elseBlock());
    b.create<scf::YieldOp>(ValueRange(other));
    return ifOp.getResult(0);
  }
};

struct GlobalStoreLowering
    : public TaskLoweringPattern<GlobalStoreOp, TileAdaptor<GlobalStoreOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(GlobalStoreOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    Type type = op.getValue().getType();
    SmallVector<Value> values = scalarsOf(b, type, adaptor.getValue());
    SmallVector<Value> masks;
    if (op.getMask()) {
      masks = scalarsOf(b, op.getMask().getType(), adaptor.getMask());
    }
    Value owner = isOwner(b, type, task);
    for (auto [i, index] : llvm::enumerate(
             scalarsOf(b, op.getIndex().getType(), adaptor.getIndex()))) {
      Value guard = owner;
      if (!masks.empty()) {
        guard = guard ? b.create<arith::AndIOp>(guard, masks[i]) : masks[i];
      }
      Value value = values[i];
      Value pointer =
          b.globalPointer(adaptor.getPointer().front(), index, value.getType());
      auto store = [&] { b.create<LLVM::StoreOp>(value, pointer); };
      if (guard) {
        b.guarded(guard, store);
      } else {
        store();
      }
    }
    return SmallVector<Value>();
  }

private:
  /// Whether this thread writes what it holds: the first of those that hold
  /// copies. Null if no other thread does.
  static Value isOwner(LoweringBuilder &b, Type type, const TaskThreads &task) {
    if (!isa<RankedTensorType>(type)) {
      return b.isLeader(task);
    }
    Value owner;
    int64_t below = 1;
    for (const LayoutMode &mode : getLayout(type).getThreads()) {
      if (mode.isReplicated() && mode.count > 1) {
        Value digit = b.remConstant(b.divConstant(b.threadInTask(task), below),
                                    mode.count);
        Value first = b.equals(digit, 0);
        owner = owner ? b.create<arith::AndIOp>(owner, first) : first;
      }
      below *= mode.count;
    }
    return owner;
  }
};

struct VoteAnyLowering
    : public LoweringPattern<VoteAnyOp, TileAdaptor<VoteAnyOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(VoteAnyOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    ValueRange bits = adaptor.getSource();
    Value any = bits.front();
    for (Value bit : bits.drop_front()) {
      any = b.create<arith::OrIOp>(any, bit);
    }
    return SmallVector<Value>{b.create<NVVM::VoteSyncOp>(
        b.builder.getI1Type(), b.i32(-1), any, NVVM::VoteSyncKind::any)};
  }
};

struct InMaskedTailLowering : public LoweringPattern<InMaskedTailOp> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(InMaskedTailOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    return SmallVector<Value>{b.create<arith::CmpIOp>(
        arith::CmpIPredicate::sge, adaptor.getInduction(), adaptor.getFirst())};
  }
};
} // namespace

void tlx::populateTileToNVVMPatterns(const TLXTypeConverter &converter,
                                     RewritePatternSet &patterns) {
  patterns.add<ReduceLowering, PartialReduceLowering, ExpandDimsLowering,
               BroadcastLowering, SplatLowering, IotaLowering,
               PrefixMaskLowering, ConvertLayoutLowering, GlobalLoadLowering,
               GlobalStoreLowering, InMaskedTailLowering, VoteAnyLowering>(
      converter, patterns.getContext());
}
