//===- Program.h - A kernel made ready to run -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel as flat lists of instructions on numbered slots: one list for what
// every thread does first and one for each task. Regions have become jumps, so
// a replica of a task is a program counter and its slots.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_PROGRAM_H
#define JFA_SIM_PROGRAM_H

#include "jfa/Sim/Report.h"
#include "jfa/Sim/Value.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::jfa::sim {

class Machine;
struct Task;

using Slot = uint32_t;

/// The kernel itself.
inline constexpr Site kKernelSite = 0;

/// Runs of so many instructions are taken for endless, if nothing else is said.
inline constexpr uint64_t kMaxInstructions = uint64_t(1) << 30;

struct Instruction {
  std::function<void(Machine &, Task &)> run;
  Site site;
  /// Whether others can notice it: the scheduler may switch before it.
  bool isVisible;
  /// Where it may jump to, if it may, and whether it always does.
  std::shared_ptr<const size_t> target = nullptr;
  bool isJump = false;
};
using Code = std::vector<Instruction>;

struct TaskProgram {
  std::string name;
  int64_t replicas;
  /// Of one replica.
  int64_t threads;
  Site site;
  Code code;
};

/// An op that signals a barrier.
struct Signaller {
  uint32_t task;
  Site site;
  /// Whether it may signal the barrier of another CTA of the cluster.
  bool isRemote;
};

struct BarrierArray {
  std::string name;
  int64_t count;
  int64_t arrivals;
  Site site;
  /// Tasks that arrive at it or start copies that deliver to it, and where.
  std::vector<Signaller> signallers;
};

/// An op that arrives at a named barrier.
struct NamedSignaller {
  uint32_t task;
  Site site;
  /// Its id, if that is a constant.
  std::optional<int64_t> id;
};

/// A buffer in shared memory, or in columns of tensor memory, for messages.
struct Buffer {
  std::string name;
  int64_t begin, end;
  Site site;
};

enum class ArgumentKind { TensorMap, Pointer, Scalar };

struct Argument {
  std::string name;
  ArgumentKind kind;
  ElementKind element;
  Slot slot;
  Site site;
  /// Of tensor maps.
  Shape box;
  bool isOutput = false;
};

struct Program {
  std::string name;
  uint32_t numSlots = 0;
  /// CTAs of a cluster.
  uint32_t clusterSize = 1;
  int64_t sharedBytes = 0;
  int64_t tensorColumns = 0;
  std::vector<Argument> arguments;
  Code prologue;
  std::vector<TaskProgram> tasks;
  std::vector<BarrierArray> barriers;
  std::vector<Buffer> buffers, tensorBuffers;
  /// Whether tensor memory has tiles of 64 rows.
  bool hasHalfTiles = false;
  /// Named barriers from this one on are the compiler's own.
  int64_t firstReservedBarrier = 16;
  /// Where its tasks are.
  Site tasksSite = kKernelSite;
  /// Tasks that arrive at named barriers, and where.
  std::vector<NamedSignaller> namedSignallers;
  /// Tasks that arrive at the cluster's barrier, and where.
  std::vector<Signaller> clusterSignallers;
  /// Whether CTAs wait for each other, and tasks that let others go on.
  bool hasSemaphores = false;
  std::vector<Signaller> semaphoreSignallers;
  /// The names of the ops, or arguments, at the sites.
  std::vector<std::string> siteNames;
  /// Whether it asks for clusters that have not been launched.
  bool asksForClusters = false;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_PROGRAM_H
