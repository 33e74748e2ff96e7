//===- Machine.h - A cluster that runs a kernel -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The warps of a cluster with their lanes, the memory that they share, and the
// asynchronous operations in flight. Who takes the next step is the schedule's
// choice (jfa/Sim/Schedule.h); who knows of whose past, clocks say
// (jfa/Sim/Clock.h), with a warp as an agent.
//
// Lanes that part at a branch are fragments of their warp. They meet again at
// the branch's immediate post-dominator. A fragment that waits lets its
// siblings go on, as threads do since Volta.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_MACHINE_H
#define JFA_EMU_MACHINE_H

#include "jfa/Emu/Code.h"
#include "jfa/Emu/TensorMemory.h"
#include "jfa/Sim/Barrier.h"
#include "jfa/Sim/Memory.h"

#include <array>
#include <deque>
#include <functional>
#include <memory>

namespace mlir::jfa::sim {
class Schedule;
} // namespace mlir::jfa::sim

namespace mlir::jfa::emu {

using sim::Access;
using sim::Epoch;
using sim::Fault;
using sim::Knowledge;
using sim::Note;

class ClusterQueue;
class Machine;
class Trace;

enum class Numerics { Fast, Exact };
/// Whether what hardware does in order counts as ordered, or only what the ISA
/// promises.
enum class Fences { Hardware, Strict };

/// An array in global memory, at an address.
struct GlobalBuffer {
  uint64_t base = 0;
  sim::GlobalArray *array = nullptr;
  sim::History history;

  int64_t getSize() const { return int64_t(array->bytes.size()); }
};

/// Global memory, which outlives clusters.
class GlobalMemory {
public:
  /// Returns the address.
  uint64_t add(sim::GlobalArray &array);
  /// The buffer with all of the bytes, or null.
  GlobalBuffer *find(uint64_t address, uint64_t size);

  std::vector<std::unique_ptr<GlobalBuffer>> buffers;
};

/// Where an address leads.
struct Place {
  enum Kind { Nowhere, Shared, Global, Parameter } kind = Nowhere;
  uint8_t *bytes = nullptr;
  sim::History *history = nullptr;
  /// In the history.
  int64_t offset = 0;
  uint32_t rank = 0;
  GlobalBuffer *buffer = nullptr;
};

/// Work that goes on after the instruction that started it, in stages of which
/// each is a step of the schedule.
struct AsyncWork {
  using Stage = std::function<void(AsyncWork &)>;

  bool isDone() const { return done == stages.size(); }
  /// Work of one queue passes each stage in order.
  bool isReady() const {
    return !previous ||
           (startsLast ? previous->isDone() : previous->done > done);
  }

  uint64_t number = 0;
  uint32_t warp = 0, lane = 0, line = 0;
  Epoch epoch, globalEpoch;
  /// What its issuer knew, and what of that holds for tensor memory.
  Knowledge knowledge, tensorKnowledge;
  llvm::SmallVector<Stage, 2> stages;
  unsigned done = 0;
  std::shared_ptr<AsyncWork> previous;
  /// Whether it begins when the previous work has ended.
  bool startsLast = false;
  /// Whether its agent remains that of its queue.
  bool keepsAgent = false;
  /// The step in which it was issued.
  uint64_t issuedAt = 0;
};
using AsyncWorkRef = std::shared_ptr<AsyncWork>;

struct Condition {
  std::function<bool()> isTrue;
  /// What waiting for it makes known.
  std::function<void()> acquire;
  std::function<std::string()> describe;
  uint32_t line = 0;
};

/// Where lanes meet again.
struct Join {
  size_t pc = 0;
  uint32_t expected = 0, arrived = 0;
  std::shared_ptr<Join> parent;
};

/// Lanes that are at the same instruction.
struct Fragment {
  size_t pc = 0;
  uint32_t lanes = 0;
  std::shared_ptr<Join> join;
  std::unique_ptr<Condition> waiting;
  /// Of `bar.warp.sync` and its like: the lanes that it waits for.
  uint32_t warpMask = 0;
  /// The step since which it waits.
  uint64_t waitsSince = 0;
};

/// A matrix product of a warp, or a group of them.
struct WgmmaGroup {
  std::vector<AsyncWorkRef> work;
  std::vector<uint32_t> accumulators, operands;
  bool isDone() const { return work.empty() || work.back()->isDone(); }
};

/// An mbarrier, and who has initialised it when.
struct LiveBarrier : sim::MBarrier {
  LiveBarrier(uint32_t line, uint32_t offset, int64_t count, Epoch init)
      : MBarrier(line, offset, count) {
    this->init = init;
  }
};

/// Stores of a lane that are committed together.
struct BulkGroup {
  std::vector<AsyncWorkRef> work;
};

/// What a thread has made the tensor cores do, in order (PTX ISA 9.7.16.6).
struct TensorQueue {
  AsyncWorkRef last;
  /// Whether that is no product.
  bool isLastCopy = false;
  /// The ends of all of it, and what went before.
  Knowledge ends;
  /// The agents of what follows each other, and their time.
  std::map<uint64_t, Epoch> chains;
};

enum class TensorAccess { Read, Write, ReadWrite };

struct Cta {
  std::vector<uint8_t> bytes;
  sim::History history;
  TensorMemory tensor;
  std::map<uint32_t, LiveBarrier> barriers;
  std::array<sim::NamedBarrier, 16> named;
  uint32_t rank = 0;
  std::array<uint32_t, 3> id = {0, 0, 0};
  /// Whether it has learned that no cluster is left to be cancelled.
  bool hasSeenLast = false;
  /// Registers that nobody owns.
  int64_t freeRegisters = 0;
  /// For each warpgroup, the products its warps have to agree on.
  std::vector<std::vector<std::array<uint64_t, 3>>> products;
};

class Warp {
public:
  Warp(Machine &machine, Cta &cta, uint32_t index, uint32_t indexInCta);

  uint64_t *row(uint32_t reg) { return registers.data() + size_t(reg) * 32; }
  uint64_t get(const Argument &argument, unsigned lane) {
    return argument.isRegister()
               ? row(argument.reg)[lane]
               : argument.value + (argument.isShared ? sharedStart : 0);
  }
  bool getPredicate(const Argument &argument, unsigned lane) {
    bool value = get(argument, lane) != 0;
    return value != argument.isNegated;
  }
  /// A register and what is added to it.
  uint64_t getAddress(const Argument &argument, unsigned lane) {
    return argument.isRegister() ? row(argument.reg)[lane] + argument.value
                                 : get(argument, lane);
  }
  void set(const Argument &argument, unsigned lane, uint64_t value) {
    if (argument.isRegister()) {
      row(argument.reg)[lane] = value;
    }
  }

  /// Runs a fragment to just before the next instruction that others can
  /// notice.
  void step();
  bool isRunnable() const;
  bool isFinished() const { return live == 0; }

  // What instructions do.
  void branch(uint32_t lanes, size_t target);
  void exit(uint32_t lanes) { exiting = lanes; }
  /// Executes the instruction again when `condition` holds.
  void retry(Condition condition);
  /// Goes on after the instruction when it holds.
  void wait(Condition condition);
  /// Whether all live lanes of `mask` are here; else the instruction is
  /// executed once they are.
  bool gather(uint32_t lanes, uint32_t mask);

  void fault(Fault kind, const std::string &text, std::vector<Note> notes = {});
  Knowledge &know();
  /// What follows is no longer part of what has been released.
  void tick() { ++time; }
  uint32_t getLine() const { return line; }

  Machine &machine;
  Cta &cta;
  /// In the cluster and in the CTA.
  uint32_t index, indexInCta;
  uint32_t live = ~0u;
  uint32_t time = 1;
  Knowledge knowledge;
  int64_t ownRegisters = 0;
  /// Of its CTA, among the shared memory of the cluster.
  uint64_t sharedStart = 0;
  std::vector<Fragment> fragments;

  // Products in flight.
  std::deque<WgmmaGroup> wgmmaGroups;
  WgmmaGroup openGroup;
  uint64_t numProducts = 0;
  /// Registers in flight: 1 as accumulators, 2 as operands.
  std::vector<uint8_t> inFlight;
  bool anyInFlight = false;
  /// When a register was last written and read, and the last wgmma.fence.
  std::vector<uint64_t> writtenAt, readAt;
  uint64_t writes = 1, fencedAt = 0;

  // Bulk copies by lane.
  std::array<std::vector<AsyncWorkRef>, 32> openStores;
  std::array<std::deque<BulkGroup>, 32> storeGroups;
  AsyncWorkRef lastStore, lastProduct;
  uint64_t clusterPhase = 0;
  bool clusterArrived = false, clusterHasToWait = false;
  /// The last mbarrier that it has initialised, and the last of those before a
  /// fence.mbarrier_init, which an arrival without order makes known too.
  uint32_t initialised = 0, fencedInitialised = 0;

  // Tensor memory: loads and stores in flight, queues by lane, what the last
  // fence has made known to what follows, and what the next one will publish.
  std::vector<AsyncWorkRef> tensorLoads, tensorStores;
  std::vector<uint32_t> tensorRegisters;
  std::map<unsigned, TensorQueue> tensorQueues;
  sim::Clock tensorVisible, tensorUnpublished;

private:
  enum class Outcome { Next, Retry, Wait, Gather };

  size_t pick() const;
  bool isRunnable(const Fragment &fragment) const;
  void execute(Fragment &fragment, const Instruction &instruction);
  void checkRegisters(const Instruction &instruction);
  void settle(size_t at, size_t pc);
  void split(size_t at, size_t next);
  void removeLanes(size_t at, uint32_t lanes);
  void arriveAtJoin(Fragment fragment);

  std::vector<uint64_t> registers;
  uint32_t line = 0;
  size_t current = 0;
  Outcome outcome = Outcome::Next;
  uint32_t branching = 0, exiting = 0;
  size_t branchTarget = 0;
  std::unique_ptr<Condition> pending;
  uint32_t gatherMask = 0;
  bool isGathered = false;
};

struct LaunchShape {
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1},
                          cluster = {1, 1, 1};
  uint64_t dynamicShared = 0;
  uint32_t registersPerThread = 0;
};

struct MachineOptions {
  Numerics numerics = Numerics::Fast;
  Fences fences = Fences::Hardware;
  /// Clusters that run from the beginning, so that none can cancel them.
  size_t residentClusters = 1;
  /// After so many instructions of warps a cluster is taken for endless.
  uint64_t maxInstructions = uint64_t(1) << 30;
  /// Clusters that have not been launched yet; may be null.
  ClusterQueue *queue = nullptr;
  /// What to write down of a run; may be null.
  Trace *trace = nullptr;
};

class Machine {
public:
  Machine(const Code &code, const LaunchShape &shape,
          std::array<uint32_t, 3> firstCta, std::vector<uint8_t> &parameters,
          GlobalMemory &global, const MachineOptions &options,
          sim::Report &report);
  ~Machine();

  void run(sim::Schedule &schedule);
  uint64_t getSteps() const { return steps; }
  /// A fragment of a warp has waited at `line` since step `since`.
  void traceWait(const Warp &warp, uint32_t line, uint64_t since);
  void countInstructions(uint64_t count) { executed += count; }

  // What instructions use.
  Place locate(uint64_t generic, uint64_t size);
  /// An access by a warp; false, with a finding, if out of bounds.
  bool access(Warp &warp, const Place &place, int64_t size, bool isWrite,
              bool isReduction = false);
  /// One by asynchronous work.
  bool access(AsyncWork &work, const Place &place, int64_t size, bool isWrite,
              bool isReduction = false);
  /// An access to tensor memory; false, with a finding, if it is not allocated.
  bool accessTensor(AsyncWork &work, Cta &cta, const TensorCells &cells,
                    TensorAccess how);
  /// Cells are freed: who uses them must have ended. They begin anew.
  void releaseTensor(Warp &warp, Cta &cta, const TensorCells &cells);
  Epoch getCompletion(Epoch epoch) const;
  /// The other CTA of a pair (PTX ISA 9.7.16.5.1), or null.
  Cta *findPeer(const Cta &cta);
  /// Notes which elements of an array have values now.
  void markWritten(const Place &place, int64_t size);
  /// The mbarrier at an address, for someone at `line` who knows `knowledge`.
  /// Null, after a finding, if there is none.
  LiveBarrier *findBarrier(uint64_t generic, uint32_t line,
                           const Knowledge &knowledge);
  void completed(sim::MBarrier &barrier, uint32_t line);
  /// The moment at which a warp has initialised its mbarrier number `count`.
  Epoch getInitEpoch(const Warp &warp, uint32_t count) const {
    return {8 * getNumWarps() + warp.index, count};
  }
  /// Notes that `epoch` of the warp is done to the CTA of `rank`.
  void reach(Warp &warp, uint32_t rank, Epoch epoch);
  AsyncWorkRef issue(Warp &warp, unsigned lane,
                     llvm::ArrayRef<AsyncWork::Stage> stages);
  /// An agent for a copy that nothing orders after others.
  Epoch makeCopyEpoch(const AsyncWorkRef &work);
  /// The next moment of a queue, or the first of one with an agent of its own.
  Epoch continueChain(const AsyncWorkRef &work, Epoch last);
  void fault(Fault kind, uint32_t line, const std::string &text,
             std::vector<Note> notes = {});
  uint32_t getNumWarps() const { return uint32_t(warps.size()); }

  const Code &code;
  LaunchShape shape;
  MachineOptions options;
  GlobalMemory &global;
  std::vector<uint8_t> &parameters;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<std::unique_ptr<Warp>> warps;
  uint32_t cluster = 0;

  /// What strong accesses to an address have released.
  std::map<uint64_t, Knowledge> strongAccesses;

  // The cluster's barrier (PTX ISA 9.7.13.3).
  uint64_t clusterPhase = 0;
  uint32_t clusterArrivals = 0;
  Knowledge clusterCurrent, clusterCompleted;
  void completeClusterBarrier();

private:
  void fillSpecials(Warp &warp);
  void checkEnd();
  void checkRemoteAtEnd();
  void reportDeadlock();
  void step(size_t inFlightIndex);
  std::string getName(uint32_t line) const;
  void record(const Access &access, const Knowledge &knowledge,
              const Place &place, int64_t size);
  void recordTensor(Cta &cta, const TensorCells &cells, const Access &access,
                    const Knowledge &visible, const Knowledge &happened);
  void checkTensorEnd();

  sim::Report &report;
  std::vector<AsyncWorkRef> inFlight;
  /// The latest work of each agent that copies have been.
  std::vector<AsyncWorkRef> copies;
  sim::RemoteAccesses remote;
  uint64_t steps = 0, issued = 0, executed = 0;
};

/// Calls `visit(lane)` for each lane.
template <typename Visit>
void forEachLane(uint32_t lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) {
    visit(unsigned(__builtin_ctz(lanes)));
  }
}

std::string toHex(uint64_t value);
/// Coordinates of number `number` in a box of extents `of`.
std::array<uint32_t, 3> unflatten(uint32_t number,
                                  const std::array<uint32_t, 3> &of);

} // namespace mlir::jfa::emu

#endif // JFA_EMU_MACHINE_H
