//===- Machine.h - A cluster that runs a program ----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replicas of tasks and asynchronous operations take turns, one step at a time,
// in the order that a schedule chooses. The machine keeps what they share:
// memory, barriers, and who knows of whose past. The CTAs of a cluster run
// together, and those of a grid that has semaphores; otherwise there is one.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_MACHINE_H
#define JFA_SIM_MACHINE_H

#include "jfa/Sim/Barrier.h"
#include "jfa/Sim/Grid.h"
#include "jfa/Sim/Memory.h"
#include "jfa/Sim/Program.h"
#include "jfa/Sim/TensorMemory.h"

#include <array>
#include <deque>
#include <map>
#include <memory>

namespace mlir::jfa::sim {

class Machine;
class Trace;

/// How many releases and stores of a task are remembered.
constexpr size_t kRemembered = 64;

/// Work that goes on after the op that started it, in stages of which each is
/// a step of the schedule: a copy into shared memory becomes visible, then
/// signals; a store reads its source, then its result becomes visible.
struct AsyncOp : llvm::RefCountedBase<AsyncOp> {
  using Stage = std::function<void(Machine &, AsyncOp &)>;

  bool isDone() const { return done == stages.size(); }
  /// Operations of one queue pass each stage in order.
  bool isReady() const { return !previous || previous->done > done; }

  uint32_t task = 0;
  /// Of the CTA whose memory it touches; products of pairs touch that of both
  /// in turn.
  uint32_t rank = 0;
  /// Whether a copy reads the memory of its issuer's CTA, whatever it writes.
  bool readsOwn = false;
  Site site = 0;
  /// When it touches shared memory.
  Epoch epoch;
  /// When it writes global memory.
  Epoch globalEpoch;
  /// What its issuer knew.
  Knowledge knowledge;
  llvm::SmallVector<Stage, 2> stages;
  unsigned done = 0;
  AsyncRef previous;
  /// Of a matrix product.
  TileRef result;
  /// The mbarrier that it signals, and in which phase it did.
  int64_t barrier = -1;
  uint64_t phase = 0;
  /// The step in which it was started.
  uint64_t begin = 0;
};

/// Where an operation takes its place.
/// (Products in tensor memory are waited for at mbarriers only.)
enum class Queue { None, Dots, TensorDots, Stores };

/// What a task waits for.
struct Condition {
  enum Kind {
    Nothing,
    Barrier,
    Named,
    Cluster,
    Semaphore,
    Dots,
    Stores
  } kind = Nothing;
  /// The barrier's number, or the semaphore's element of its array.
  int64_t barrier = 0;
  int64_t array = 0;
  /// That the semaphore has to reach.
  int64_t count = 0;
  unsigned parity = 0;
  /// Of a named barrier, or the cluster's phase.
  uint64_t generation = 0;
  /// How many operations may still be in flight.
  unsigned pending = 0;
  /// Whether stores have to be in global memory too.
  bool written = false;
  Site site = 0;
};

/// A counter in global memory that CTAs wait for.
class Semaphore {
public:
  explicit Semaphore(int64_t first) : first(first) {}

  int64_t getCount() const { return first + int64_t(posts.size()); }
  void post(Epoch epoch, const Knowledge &knowledge);
  /// What a wait for `count` makes known: of the posts so far those without
  /// which the count is not reached, in whatever order they come. Of a turn
  /// that is passed on twice a wait for the one after it learns nothing.
  Knowledge getKnown(int64_t count) const;

private:
  struct Post {
    Epoch epoch;
    Knowledge knowledge;
    /// How many later ones may come before it: nothing orders them after it.
    int64_t numUnordered;
  };

  int64_t first;
  std::vector<Post> posts;
};

/// A release, remembered to explain what a later wait has made known.
struct Release {
  uint32_t time;
  Site site;
  std::string what;
};

/// One replica of a task. What all threads of a CTA run before its tasks is a
/// task too, from whose end on the others run.
struct Task {
  Value &operator[](Slot slot) { return slots[slot]; }
  void jump(size_t target) { counter = target; }

  std::string name;
  uint32_t index = 0;
  /// The number of its program; kPrologue of what comes before the tasks.
  uint32_t program = 0;
  /// Of its CTA in the cluster.
  uint32_t rank = 0;
  int64_t replica = 0;
  int64_t threads = 0;
  const Code *code = nullptr;
  size_t counter = 0;
  /// Of the instruction that runs.
  Site site = 0;
  std::vector<Value> slots;
  uint32_t time = 1;
  Knowledge knowledge;
  Condition waiting;
  std::deque<AsyncRef> dots, stores;
  /// The newest product in tensor memory, and the newest that or commit.
  AsyncRef tensorDot, tensorOp;
  std::deque<Release> releases;
  /// Whether it has ended, or not begun.
  bool isFinished = false;
  /// Of the cluster's barrier: the phase in which it last arrived, whether that
  /// is the one going on, and whether it has yet to wait for it.
  uint64_t clusterPhase = 0;
  bool hasArrived = false, hasToWait = false;
  /// Where it last did one or the other, or else begins.
  Site clusterSite = kKernelSite;
  /// The step in which it ended.
  uint64_t end = 0;
};

/// As ProgramBuilder::getTask() says while there is no task.
constexpr uint32_t kPrologue = ~0u;

/// What a CTA of the cluster has for itself.
struct CtaState {
  explicit CtaState(const Program &program)
      : shared(program.sharedBytes),
        tensor(program.tensorColumns, program.hasHalfTiles) {}

  SharedMemory shared;
  TensorMemory tensor;
  std::array<NamedBarrier, 16> named;
};

struct MachineOptions {
  /// Whether to compute tiles, or only the order of things.
  bool values = true;
  /// The first of the cluster, and the number of all CTAs.
  uint32_t firstCta = 0;
  uint32_t ctas = 1;
  /// How many run together from the first on.
  uint32_t together = 1;
  /// Whether generic reads too need a proxy fence before asynchronous writes.
  bool strictProxy = true;
  /// After so many instructions a run is taken for endless.
  uint64_t maxInstructions = kMaxInstructions;
};

class Machine {
public:
  /// `values` are those of the arguments' slots.
  Machine(const Program &program, std::vector<GlobalArray> &arrays,
          const std::vector<Value> &values, const MachineOptions &options,
          Report &report);
  ~Machine();

  /// Runs the cluster to its end, or to where nothing can go on. Clusters of
  /// `grid` can be cancelled.
  void run(Schedule &schedule, Grid &grid, Trace *trace = nullptr);
  uint64_t getSteps() const { return steps; }
  /// The instructions of all its tasks so far.
  uint64_t getInstructions() const { return instructions; }

  //===--------------------------------------------------------------------===//
  // What instructions use
  //===--------------------------------------------------------------------===//

  const MachineOptions &getOptions() const { return options; }
  bool computesValues() const { return options.values; }

  /// The task goes on after the instruction when `condition` holds.
  void wait(Task &task, Condition condition);

  /// Initialises an array of mbarriers; returns the number of the first.
  int64_t addBarriers(Task &task, uint32_t array);
  bool checkBarrier(Task &task, int64_t first, int64_t index, int64_t count);
  void arrive(Task &task, int64_t barrier, int64_t bytes);
  void deliver(AsyncOp &op, int64_t barrier, int64_t bytes);
  /// The barrier at the same place of another CTA, by someone of `task`.
  int64_t getRemoteBarrier(const Task &task, int64_t barrier,
                           uint32_t rank) const {
    return barrier + (int64_t(rank) - int64_t(task.rank)) * barriersOfCta;
  }
  /// The ranks of a mask; none, with a finding, if it is no mask.
  llvm::SmallVector<uint32_t, 8> getRanks(Task &task, int64_t mask);
  /// The same of one rank.
  std::optional<uint32_t> getRank(Task &task, int64_t rank);
  /// Notes that `epoch` is done to `barrier`'s CTA, and checks that it is
  /// ready.
  void reach(Task &task, int64_t barrier, Epoch epoch);
  /// Notes that `epoch` is done to the memory of the other CTA of a pair.
  void reachPeer(Task &task, Epoch epoch);
  /// Checks that the task may ask for a cluster.
  void checkRequest(Task &task);
  /// Cancels a cluster of the grid; returns its first CTA.
  std::optional<uint32_t> cancelCluster();
  /// Notes that the task has learnt that a request has failed.
  void noteFailure(Task &task);
  void arriveAtCluster(Task &task);
  void waitForCluster(Task &task);
  void waitForSemaphore(Task &task, int64_t array, int64_t index,
                        int64_t count);
  void postSemaphore(Task &task, int64_t array, int64_t index);
  /// Returns whether the arrival was in order.
  bool arriveNamed(Task &task, int64_t id, int64_t threads);
  uint64_t getNamedGeneration(const Task &task, int64_t id) const {
    return ctas[task.rank].named[size_t(id)].generation;
  }
  /// The products that `op` comes after are done.
  void commit(AsyncOp &op, int64_t barrier);
  /// Makes the task's own writes visible to the async proxy.
  void fence(Task &task);
  /// Fences of tensor memory before and after a synchronisation.
  void fenceTensorBefore(Task &task);
  void fenceTensorAfter(Task &task);

  /// Puts an operation in flight, on the shared memory of the task's CTA.
  AsyncRef issue(Task &task, Queue queue,
                 llvm::ArrayRef<AsyncOp::Stage> stages);

  /// Accesses to shared memory; false, with a finding, if out of bounds.
  bool access(Task &task, const View &view, bool isWrite);
  bool access(AsyncOp &op, const View &view, bool isWrite);
  /// Reads a response, whose buffer is written anew only behind a proxy fence.
  bool accessResponse(Task &task, const View &view);
  SharedMemory &getShared(const Task &task) { return ctas[task.rank].shared; }
  SharedMemory &getShared(const AsyncOp &op) { return ctas[op.rank].shared; }

  /// Accesses to tensor memory; false, with a finding, if out of bounds.
  bool access(Task &task, const TensorView &view, bool isWrite);
  bool access(AsyncOp &op, const TensorView &view, bool isWrite);
  TensorMemory &getTensor(const Task &task) { return ctas[task.rank].tensor; }
  TensorMemory &getTensor(const AsyncOp &op) { return ctas[op.rank].tensor; }

  GlobalArray &getArray(int64_t number) { return arrays[size_t(number)]; }
  /// Accesses to elements [begin, end) of an array.
  bool access(Task &task, int64_t array, int64_t begin, int64_t end,
              bool isWrite);
  bool access(AsyncOp &op, int64_t array, int64_t begin, int64_t end,
              bool isWrite, bool isReduction = false, bool isOrdered = false);

  void fail(Fault fault, Site site, const std::string &text,
            std::vector<Note> notes = {});
  /// Where the argument is declared that an array is.
  Note getDeclaration(int64_t array) const;

private:
  friend class Explain;

  void makeTasks();
  void startTasks(Task &prologue);
  bool runSteps();
  /// False, with a finding, if the kernel has taken too many instructions.
  bool checkLength(Site site);
  void step(Task &task);
  void step(AsyncOp &op);
  bool isSatisfied(const Task &task) const;
  void acquire(Task &task);
  void finish(Task &task);
  void tick(Task &task, std::string release);
  void checkSeen(const MBarrier &barrier, const Knowledge &knowledge,
                 uint32_t task, Site site);
  void checkParity(const MBarrier &barrier, Task &task, Site site);
  void completed(MBarrier &barrier, Site site);
  void completeCluster();
  Semaphore *getSemaphore(Task &task, int64_t array, int64_t index);
  bool isKnownAtEnd(Epoch epoch, uint32_t rank, Clock Knowledge::*clock) const;
  void checkEnd();
  void checkBarriersAtEnd();
  void checkProductsAtEnd();
  void checkRemoteAtEnd();
  uint32_t allocateCopyAgent(const Knowledge &knowledge);
  Knowledge &know(Task &task);
  std::string getName(const Access &access) const;
  uint32_t getCta(uint32_t rank) const { return options.firstCta + rank; }
  uint32_t getCluster() const { return options.firstCta / program.clusterSize; }
  Access makeAccess(const Task &task, bool isWrite) const;
  Access makeAccess(const AsyncOp &op, bool isWrite) const;
  bool recordShared(SharedMemory &shared, const Access &access,
                    const Knowledge &knowledge, const View &view);
  bool recordTensor(TensorMemory &tensor, const Access &access,
                    const Knowledge &knowledge, const TensorView &view);
  bool recordGlobal(const Access &access, const Knowledge &knowledge,
                    int64_t array, int64_t begin, int64_t end);

  const Program &program;
  std::vector<GlobalArray> &arrays;
  MachineOptions options;
  Report &report;
  std::vector<CtaState> ctas;
  /// Those of one CTA after those of the other.
  std::vector<MBarrier> barriers;
  int64_t barriersOfCta = 0;
  ClusterBarrier clusterBarrier;
  /// By array and element.
  std::map<std::pair<int64_t, int64_t>, Semaphore> semaphores;
  /// Those of one CTA after those of the other, then what precedes them in
  /// each.
  std::vector<Task> tasks;
  std::vector<AsyncRef> inFlight;
  /// The latest copy of each agent that copies have been.
  std::vector<AsyncRef> copies;
  RemoteAccesses remote;
  std::vector<Value> initial;
  Trace *trace = nullptr;
  uint64_t steps = 0, instructions = 0;
  Schedule *schedule = nullptr;
  Grid *grid = nullptr;
  /// Of each CTA: where it has read that a request for a cluster has failed.
  std::vector<std::optional<Site>> failures;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_MACHINE_H
