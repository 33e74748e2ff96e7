//===- MMAToNVVM.cpp - Lowering of the MMA family -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One product is a sequence of wgmma.mma_async, one for every 64 rows of a
// warpgroup and 32 bytes of K, between a fence and a commit. It does not go
// through nvvm.wgmma.mma_async: docs/Rationale.md says why.
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringPattern.h"
#include "RegisterPressure.h"
#include "SharedOperands.h"

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Rows of one instruction, and bits of K (PTX ISA 9.7.15.2).
static constexpr int64_t kRows = 64, kDepthBits = 256;

/// Marks the products and rings of `task` if the products of one of its blocks
/// have many accumulators.
static void markShortage(AsyncTaskOp task) {
  DenseMap<Block *, int64_t> accumulators;
  int64_t threads = task.getNumWarps() * 32;
  bool isShort = false;
  task.walk([&](AsyncDotOp dot) {
    if (!dot.getResult()) {
      return; // its sums are in tensor memory
    }
    int64_t elements = dot.getResult().getType().getTile().getNumElements();
    int64_t &sum = accumulators[dot->getBlock()];
    sum += elements / threads;
    isShort |= sum > kManyAccumulators;
  });
  if (!isShort) {
    return;
  }
  task.walk([](Operation *op) {
    if (isa<AsyncDotOp, RingOp>(op)) {
      op->setDiscardableAttr(kShortOfRegisters,
                             UnitAttr::get(op->getContext()));
    }
  });
}

void tlx::prepareDots(KernelOp kernel) {
  kernel.walk([](AsyncTaskOp task) { markShortage(task); });
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

FailureOr<SharedOperand> tlx::getSharedOperand(Operation *op, MemDescType type,
                                               bool kIsLast) {
  FailureOr<SharedLayout> layout =
      getSharedLayout(type, [&] { return op->emitOpError(); });
  if (failed(layout)) {
    return failure();
  }
  if (layout->swizzleBytes == 0) {
    return op->emitOpError("expected an operand whose rows are 32, 64 or a "
                           "multiple of 128 bytes, but got ")
           << type;
  }
  return SharedOperand{*layout, kIsLast != type.getTransposed()};
}

Value tlx::buildDescriptor(LoweringBuilder &b, int64_t fixedBits,
                           Value address) {
  Value window = b.create<arith::AndIOp>(address, b.i32(0x3FFFF));
  Value units = b.create<arith::ShRUIOp>(window, b.i32(4));
  Value low = b.create<arith::ExtUIOp>(b.builder.getI64Type(), units);
  return b.create<arith::OrIOp>(low, b.i64(fixedBits));
}

Value tlx::advanceDescriptor(LoweringBuilder &b, Value descriptor,
                             int64_t bytes) {
  return bytes == 0 ? descriptor
                    : b.create<arith::AddIOp>(descriptor, b.i64(bytes >> 4));
}

namespace {
/// An address in shared memory as a sum: where the buffer begins, and what was
/// added to it for slots and slices.
struct AddressSum {
  Value buffer, rest;
  int64_t constant = 0;
};
} // namespace

static void addTerms(LoweringBuilder &b, Value value, AddressSum &sum) {
  if (auto add = value.getDefiningOp<arith::AddIOp>()) {
    addTerms(b, add.getLhs(), sum);
    addTerms(b, add.getRhs(), sum);
  } else if (value.getDefiningOp<LLVM::PtrToIntOp>()) {
    sum.buffer = value;
  } else if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    sum.constant += *constant;
  } else {
    sum.rest = sum.rest ? b.add(sum.rest, value) : value;
  }
}

/// The descriptor of a factor as a sum of 64 bits, of which only the units that
/// change from step to step are not constant. ptxas advances such a descriptor
/// by one instruction; where it knows the upper half, it sets that anew each
/// time. No sum within shared memory carries out of the address.
static Value buildDescriptorOfSum(LoweringBuilder &b, int64_t fixedBits,
                                  Value address) {
  AddressSum sum;
  addTerms(b, address, sum);
  if (!sum.buffer) {
    return buildDescriptor(b, fixedBits, address);
  }
  Value window = b.create<arith::AndIOp>(sum.buffer, b.i32(0x3FFFF));
  Value units = b.create<arith::ShRUIOp>(window, b.i32(4));
  if (sum.rest) {
    units = b.add(units, b.create<arith::ShRUIOp>(sum.rest, b.i32(4)));
  }
  Value wide = b.create<arith::ExtUIOp>(b.builder.getI64Type(), units);
  return b.create<arith::AddIOp>(wide, b.i64(fixedBits + (sum.constant >> 4)));
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
        depth(getDepth(op)), stepDepth(getStepDepth(op)),
        isShortOfRegisters(op->hasAttr(kShortOfRegisters)) {}

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
    rhsDescriptor = build(rhs, bAddress);
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
    lhsDescriptor = build(*lhs, aAddress);
    return success();
  }

  /// All instructions of step `step` along M. `accumulators` is empty for a
  /// product without C.
  SmallVector<Value> buildStep(int64_t step, ArrayRef<Value> accumulators) {
    DotInstructions dot;
    dot.elementA = getElement(op.getA().getType());
    dot.elementB = getElement(op.getB().getType());
    dot.n = shape[1];
    dot.accumulate = !accumulators.empty();
    dot.transposeB = !rhs.kMajor;
    for (int64_t k = 0; k < depth; k += stepDepth) {
      addTo(dot.b, rhsDescriptor, rhs.getOffset(0, k));
    }
    if (lhs) {
      addShared(dot, step);
    } else {
      int64_t count = depth / stepDepth * 4;
      llvm::append_range(
          dot.aRegisters,
          ArrayRef(registers).slice(size_t(step * count), size_t(count)));
    }
    if (dot.accumulate) {
      return buildDot(b, dot, accumulators);
    }
    Value undefined = b.create<LLVM::UndefOp>(b.builder.getF32Type());
    return buildDot(b, dot, SmallVector<Value>(shape[1] / 2, undefined));
  }

private:
  Value build(const SharedOperand &operand, Value address) {
    return isShortOfRegisters
               ? buildDescriptorOfSum(b, operand.getFixedBits(), address)
               : buildDescriptor(b, operand.getFixedBits(), address);
  }

  /// Adds the part `bytes` after the one that `descriptor` is of.
  void addTo(DotFactor &factor, Value descriptor, int64_t bytes) {
    if (isShortOfRegisters) {
      factor.descriptors.assign(1, descriptor);
      factor.distances.push_back(bytes >> 4);
    } else {
      factor.descriptors.push_back(advanceDescriptor(b, descriptor, bytes));
    }
  }

  static int64_t getDepth(AsyncDotOp op) {
    return *op.getB().getType().getShape()[0].getConstant();
  }

  static Type getElement(Type factor) {
    auto buffer = dyn_cast<MemDescType>(factor);
    return buffer ? buffer.getElementType() : getElementTypeOrSelf(factor);
  }

  /// Elements of K of one instruction.
  static int64_t getStepDepth(AsyncDotOp op) {
    return kDepthBits /
           op.getB().getType().getElementType().getIntOrFloatBitWidth();
  }

  void addShared(DotInstructions &dot, int64_t step) {
    dot.transposeA = !lhs->kMajor;
    int64_t row = step * task.threadsPerReplica / 128 * kRows;
    for (int64_t k = 0; k < depth; k += stepDepth) {
      addTo(dot.a, lhsDescriptor, lhs->getOffset(row, k));
    }
  }

  LoweringBuilder &b;
  AsyncDotOp op;
  const TaskThreads &task;
  ArrayRef<int64_t> shape;
  int64_t depth, stepDepth;
  SharedOperand rhs;
  std::optional<SharedOperand> lhs;
  bool isShortOfRegisters;
  Value lhsDescriptor, rhsDescriptor;
  SmallVector<Value> registers;
};

struct AsyncDotLowering
    : public TaskLoweringPattern<AsyncDotOp, TileAdaptor<AsyncDotOp>> {
  using TaskLoweringPattern::TaskLoweringPattern;

  Replacement lower(AsyncDotOp op, Adaptor adaptor, LoweringBuilder &b,
                    const TaskThreads &task) const override {
    DotBuilder dot(b, op, task);
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
    return result;
  }
};

struct AsyncDotWaitLowering
    : public LoweringPattern<AsyncDotWaitOp, TileAdaptor<AsyncDotWaitOp>> {
  using LoweringPattern::LoweringPattern;

  Replacement lower(AsyncDotWaitOp op, Adaptor adaptor,
                    LoweringBuilder &b) const override {
    SmallVector<Value> accumulators, kept;
    for (ValueRange product : adaptor.getProducts()) {
      llvm::append_range(accumulators, product);
    }
    for (ValueRange tile : adaptor.getKept()) {
      llvm::append_range(kept, tile);
    }
    return buildDotWait(b, op.getPending(), accumulators, kept);
  }
};
} // namespace

void tlx::populateMMAToNVVMPatterns(const TLXTypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<AsyncDotLowering, AsyncDotWaitLowering>(converter,
                                                       patterns.getContext());
}
