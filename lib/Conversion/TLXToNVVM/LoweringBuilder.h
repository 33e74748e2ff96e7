//===- LoweringBuilder.h - Pieces that the families' lowerings share -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thread indices, shared-memory addresses and the registers of a tile, as the
// lowering of every family needs them.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_LOWERINGBUILDER_H
#define JFA_LIB_CONVERSION_TLXTONVVM_LOWERINGBUILDER_H

#include "jfa/Conversion/TLXToNVVM/TLXToNVVM.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace mlir::jfa::tlx {

/// The threads that run the replicas of a task.
struct TaskThreads {
  int64_t firstThread;
  int64_t threadsPerReplica;
  int64_t replicas;
  /// Named barrier of replica 0; replica r has `barrierId - r`.
  int64_t barrierId;
};

/// The threads of the task that `op` is in; fails, with a diagnostic, outside
/// of tasks.
FailureOr<TaskThreads> getTaskThreads(Operation *op);

/// The threads of `task` of which one arrives at an mbarrier for `op`: those of
/// a replica, or of each warp where prepareBarriers() has counted so.
TaskThreads getArrivingThreads(Operation *op, const TaskThreads &task);

/// Bytes of an mbarrier (PTX ISA 9.7.13.15.1).
inline constexpr int64_t kBarrierBytes = 8;

/// The name of the CTA's dynamic shared memory.
inline constexpr StringLiteral kSharedMemoryName = "tlx_shared_memory";

/// Builds ops at one place of a kernel.
class LoweringBuilder {
public:
  LoweringBuilder(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc) {}

  template <typename Op, typename... Args>
  Op create(Args &&...args) {
    return Op::create(builder, loc, std::forward<Args>(args)...);
  }

  Value i32(int64_t value);
  Value i64(int64_t value);
  Value f32(float value);
  Value add(Value lhs, Value rhs);
  Value addConstant(Value lhs, int64_t rhs);
  Value mulConstant(Value lhs, int64_t rhs);
  Value divConstant(Value lhs, int64_t rhs);
  Value remConstant(Value lhs, int64_t rhs);
  Value equals(Value lhs, int64_t rhs);

  /// The thread's index in the CTA.
  Value threadId();
  /// The thread's index in its task's replica.
  Value threadInTask(const TaskThreads &task);
  /// The warp's index in the CTA, known to be the same in all its threads.
  Value uniformWarp();
  /// The same, counted from the first warp of all of a task's replicas.
  Value warpInTask(const TaskThreads &task);
  /// The replica that the thread runs.
  Value replica(const TaskThreads &task);
  /// Whether this is the thread that acts for its task's replica.
  Value isLeader(const TaskThreads &task);
  /// Runs `body` on one thread of the task's replica, always the same. ptxas
  /// knows that it is one: around copies and products of tensor memory in a
  /// branch on a thread's index it makes a loop over the threads that took it.
  void elected(const TaskThreads &task, function_ref<void()> body);
  /// Lets the threads of the task's replica wait for each other.
  void syncTask(const TaskThreads &task);

  /// The address of byte `offset` of the CTA's shared memory.
  Value sharedAddress(int64_t offset);
  /// The address of mbarrier `index` (null: the first) of an array.
  Value barrierAddress(Value array, Value index);
  /// An address as a pointer.
  Value sharedPointer(Value address);
  /// A pointer into tensor memory, lane and column in one word.
  Value tensorPointer(Value address);
  /// A pointer to element `index` of an array in global memory.
  Value globalPointer(Value array, Value index, Type element);

  /// Runs `body` on the threads where `condition` holds.
  void guarded(Value condition, function_ref<void()> body);

  OpBuilder &builder;
  Location loc;
};

/// Frees a kernel's tensor memory, if it has any, when all threads have come
/// here. `kernel` has the attributes of tlx-allocate-memory.
void buildTensorMemoryEnd(LoweringBuilder &builder, Operation *kernel);

/// The registers of a tile as scalars, whatever their packing.
SmallVector<Value> unpackTile(LoweringBuilder &builder, RankedTensorType tile,
                              ValueRange registers);
/// The inverse.
SmallVector<Value> packTile(LoweringBuilder &builder, RankedTensorType tile,
                            ArrayRef<Value> scalars);

/// Whether a thread holds the tile's elements as packed pairs.
bool isPacked(RankedTensorType tile);

/// The thread's part of the coordinate along `dim`.
Value threadCoordinate(LoweringBuilder &builder, LayoutAttr layout,
                       const TaskThreads &task, unsigned dim);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_LOWERINGBUILDER_H
