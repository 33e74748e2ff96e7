//===- Facts.h - What the op families tell passes -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plain structures through which the family interfaces (TLXInterfaces.td)
// state what an op does. The lowering, and later the simulator and the protocol
// checker, take their facts from here, never from a switch over ops.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_FACTS_H
#define JFA_DIALECT_TLX_IR_FACTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::jfa::tlx {

/// One mode of a register layout: `count` steps of `stride` along `dim`.
struct LayoutMode {
  int64_t count;
  /// The tile's dimension, or `kReplicated`.
  int64_t dim;
  int64_t stride;

  /// Threads along a mode without a dimension hold copies.
  static constexpr int64_t kReplicated = -1;

  bool isReplicated() const { return dim == kReplicated; }
  bool operator==(const LayoutMode &other) const {
    return count == other.count && dim == other.dim && stride == other.stride;
  }
  bool operator!=(const LayoutMode &other) const { return !(*this == other); }
};

inline llvm::hash_code hash_value(const LayoutMode &mode) {
  return llvm::hash_combine(mode.count, mode.dim, mode.stride);
}

/// How an access reaches memory (PTX ISA 8.6, "Proxies"). A fence is needed
/// between accesses of the two kinds.
/// Tensor memory has no proxies, but an order of its own (PTX ISA 9.7.16.6):
/// `tlx.tcgen05_fence`.
/// Responses of launch control are read through the generic proxy, but reads
/// too have to be fenced before the next one is written (PTX ISA 9.7.13.17).
enum class Proxy { Generic, Async, Tensor, Response };

/// One buffer that an op touches.
struct BufferAccess {
  OpOperand *buffer;
  bool isWrite;
  Proxy proxy;
  /// Whether the kernel itself has the fence that a generic access may need.
  bool isUnfenced = false;
};

/// What an op does to an mbarrier.
enum class BarrierAction {
  Init,    // sets the count of arrivals
  Wait,    // waits for a phase
  Arrive,  // one arrival of the task's replica
  Expect,  // one arrival, and bytes that copies will deliver
  Deliver, // bytes that an asynchronous copy delivers when it is done
  Commit   // one arrival when the products started before are done
};

/// One mbarrier that an op uses.
struct BarrierUse {
  Value barrier;
  /// Which of the array; null for the only one.
  Value index;
  BarrierAction action;
};

/// Which threads of a task issue asynchronous work.
enum class AsyncIssuer { OneThread, EveryThread };

/// What signals that asynchronous work is done.
enum class AsyncCompletion {
  Barrier,    // bytes delivered to an mbarrier
  StoreGroup, // a bulk group of the issuing thread
  DotGroup,   // a wgmma group of the warpgroup
  Commit      // a tlx.tcgen05_commit of the issuing thread
};

/// What only some architectures have.
enum class TargetFeature {
  Wgmma,        // products with results in registers (PTX ISA 9.7.15)
  TensorMemory, // tcgen05 (PTX ISA 9.7.16)
  CtaPair,      // what two CTAs do together (PTX ISA 9.7.16.5)
  LaunchControl // clusterlaunchcontrol (PTX ISA 9.7.13.17)
};

/// Where the tasks of a kernel stand in its CTA.
struct TaskPlacement {
  /// For each task, in order: its first thread and the threads of one replica,
  /// counting the idle ones that pad it.
  struct Slot {
    int64_t firstThread;
    int64_t threadsPerReplica;
    int64_t activeThreads;
    int64_t replicas;
  };
  llvm::SmallVector<Slot> slots;
  /// Threads of the CTA.
  int64_t numThreads;
  /// Registers of each thread at launch, where tasks have budgets.
  int64_t launchRegisters;
};

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_IR_FACTS_H
