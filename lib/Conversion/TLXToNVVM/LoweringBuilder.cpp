//===- LoweringBuilder.cpp - Pieces that the families' lowerings share -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoweringBuilder.h"

#include "jfa/Dialect/TLX/IR/NamedBarriers.h"
#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <tuple>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

FailureOr<TaskThreads> tlx::getTaskThreads(Operation *op) {
  AsyncTaskOp task = getEnclosingTask(op);
  if (!task) {
    return op->emitOpError("expected to be inside a 'tlx.async_task', since it "
                           "depends on the threads that run it");
  }
  auto tasks = cast<AsyncTasksOp>(task->getParentOp());
  FailureOr<TaskPlacement> placement = tasks.getPlacement();
  if (failed(placement)) {
    return failure();
  }
  int64_t barrierId = kLastNamedBarrier;
  for (auto [other, slot] :
       llvm::zip(tasks.getBody().getOps<AsyncTaskOp>(), placement->slots)) {
    if (other == task) {
      return TaskThreads{slot.firstThread, slot.threadsPerReplica,
                         slot.replicas, barrierId};
    }
    barrierId -= countNamedBarriers(slot);
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value LoweringBuilder::i32(int64_t value) {
  return create<arith::ConstantOp>(builder.getI32IntegerAttr(value));
}

Value LoweringBuilder::i64(int64_t value) {
  return create<arith::ConstantOp>(builder.getI64IntegerAttr(value));
}

Value LoweringBuilder::f32(float value) {
  return create<arith::ConstantOp>(builder.getF32FloatAttr(value));
}

Value LoweringBuilder::add(Value lhs, Value rhs) {
  return create<arith::AddIOp>(lhs, rhs);
}

Value LoweringBuilder::addConstant(Value lhs, int64_t rhs) {
  return rhs == 0 ? lhs : add(lhs, i32(rhs));
}

Value LoweringBuilder::mulConstant(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : create<arith::MulIOp>(lhs, i32(rhs));
}

Value LoweringBuilder::divConstant(Value lhs, int64_t rhs) {
  return rhs == 1 ? lhs : create<arith::DivUIOp>(lhs, i32(rhs));
}

Value LoweringBuilder::remConstant(Value lhs, int64_t rhs) {
  return rhs == 1 ? i32(0) : create<arith::RemUIOp>(lhs, i32(rhs));
}

Value LoweringBuilder::equals(Value lhs, int64_t rhs) {
  return create<arith::CmpIOp>(arith::CmpIPredicate::eq, lhs, i32(rhs));
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value LoweringBuilder::threadId() {
  return create<NVVM::ThreadIdXOp>(builder.getI32Type());
}

Value LoweringBuilder::threadInTask(const TaskThreads &task) {
  // First threads are multiples of 32 and, where replicas are warpgroups, of
  // 128, so that the index needs no subtraction.
  Value id = threadId();
  if (task.firstThread % task.threadsPerReplica == 0) {
    return remConstant(id, task.threadsPerReplica);
  }
  Value index = addConstant(id, -task.firstThread);
  return task.replicas == 1 ? index
                            : remConstant(index, task.threadsPerReplica);
}

Value LoweringBuilder::uniformWarp() {
  Value warp = divConstant(threadId(), 32);
  return create<NVVM::ShflOp>(builder.getI32Type(), i32(-1), warp, i32(0),
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}

Value LoweringBuilder::warpInTask(const TaskThreads &task) {
  return addConstant(uniformWarp(), -task.firstThread / 32);
}

Value LoweringBuilder::replica(const TaskThreads &task) {
  if (task.replicas == 1) {
    return i32(0);
  }
  return divConstant(warpInTask(task), task.threadsPerReplica / 32);
}

Value LoweringBuilder::isLeader(const TaskThreads &task) {
  return equals(threadInTask(task), 0);
}

void LoweringBuilder::elected(const TaskThreads &task,
                              function_ref<void()> body) {
  auto elect = [&] {
    guarded(create<NVVM::ElectSyncOp>(builder.getI1Type(), Value()), body);
  };
  if (task.threadsPerReplica <= 32) {
    return elect();
  }
  Value warp = warpInTask(task);
  if (task.replicas > 1) {
    warp = remConstant(warp, task.threadsPerReplica / 32);
  }
  guarded(equals(warp, 0), elect);
}

void LoweringBuilder::syncTask(const TaskThreads &task) {
  if (task.threadsPerReplica <= 32) {
    create<NVVM::SyncWarpOp>(i32(-1));
    return;
  }
  Value id = i32(task.barrierId);
  if (task.replicas > 1) {
    id = create<arith::SubIOp>(id, replica(task));
  }
  create<NVVM::BarrierOp>(Type(), id, i32(task.threadsPerReplica),
                          NVVM::BarrierReductionAttr(), Value());
}

void LoweringBuilder::guarded(Value condition, function_ref<void()> body) {
  auto ifOp = create<scf::IfOp>(condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

Value LoweringBuilder::sharedAddress(int64_t offset) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  Value base = create<LLVM::AddressOfOp>(pointer, kSharedMemoryName);
  Value address = create<LLVM::PtrToIntOp>(builder.getI32Type(), base);
  return addConstant(address, offset);
}

Value LoweringBuilder::barrierAddress(Value array, Value index) {
  return index ? add(array, mulConstant(index, kBarrierBytes)) : array;
}

Value LoweringBuilder::sharedPointer(Value address) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), 3);
  return create<LLVM::IntToPtrOp>(pointer, address);
}

Value LoweringBuilder::tensorPointer(Value address) {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext(), 6);
  return create<LLVM::IntToPtrOp>(pointer, address);
}

/// `index` as a sum of a value and a constant, where that sum cannot overflow:
/// a multiple of a power of two, and less than that power.
static std::pair<Value, int32_t> splitConstant(Value index) {
  APInt factor, constant;
  auto product = m_Op<arith::MulIOp>(matchers::m_Any(), m_ConstantInt(&factor));
  if (!matchPattern(index,
                    m_Op<arith::AddIOp>(product, m_ConstantInt(&constant))) ||
      !factor.isPowerOf2() || constant.uge(factor)) {
    return {index, 0};
  }
  return {index.getDefiningOp<arith::AddIOp>().getLhs(),
          static_cast<int32_t>(constant.getZExtValue())};
}

Value LoweringBuilder::globalPointer(Value array, Value index, Type element) {
  int32_t constant = 0;
  if (index.getType().isInteger(32)) {
    // The fields of a record share one address and differ in the offsets of
    // their instructions.
    std::tie(index, constant) = splitConstant(index);
    index = create<arith::ExtUIOp>(builder.getI64Type(), index);
  }
  Value pointer = create<LLVM::GEPOp>(array.getType(), element, array, index);
  if (constant == 0) {
    return pointer;
  }
  return create<LLVM::GEPOp>(array.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{constant});
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

bool tlx::isPacked(RankedTensorType tile) {
  Type element = tile.getElementType();
  return (element.isBF16() || element.isF16()) &&
         getLayout(tile).getNumRegisters() % 2 == 0;
}

SmallVector<Value> tlx::unpackTile(LoweringBuilder &b, RankedTensorType tile,
                                   ValueRange registers) {
  if (!isPacked(tile)) {
    return llvm::to_vector(registers);
  }
  SmallVector<Value> scalars;
  for (Value pair : registers) {
    for (int64_t half : {0, 1}) {
      scalars.push_back(b.create<LLVM::ExtractElementOp>(pair, b.i32(half)));
    }
  }
  return scalars;
}

SmallVector<Value> tlx::packTile(LoweringBuilder &b, RankedTensorType tile,
                                 ArrayRef<Value> scalars) {
  if (!isPacked(tile)) {
    return llvm::to_vector(scalars);
  }
  SmallVector<Value> registers;
  Type pairType = VectorType::get(2, tile.getElementType());
  for (size_t i = 0; i < scalars.size(); i += 2) {
    Value pair = b.create<LLVM::UndefOp>(pairType);
    for (int64_t half : {0, 1}) {
      pair =
          b.create<LLVM::InsertElementOp>(pair, scalars[i + half], b.i32(half));
    }
    registers.push_back(pair);
  }
  return registers;
}

Value tlx::threadCoordinate(LoweringBuilder &b, LayoutAttr layout,
                            const TaskThreads &task, unsigned dim) {
  Value sum;
  int64_t below = 1;
  for (const LayoutMode &mode : layout.getThreads()) {
    if (mode.dim == dim && mode.count > 1) {
      Value digit = b.divConstant(b.threadInTask(task), below);
      if (below * mode.count < layout.getNumThreads()) {
        digit = b.remConstant(digit, mode.count);
      }
      Value part = b.mulConstant(digit, mode.stride);
      sum = sum ? b.add(sum, part) : part;
    }
    below *= mode.count;
  }
  return sum ? sum : b.i32(0);
}
