//===- InsertFences.cpp - Order accesses to shared memory -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two forward analyses of each task, which remember the accesses that nothing
// has ordered yet and insert what is missing when another access meets them:
// first barriers between the task's threads, then proxy fences. A third one, of
// tensor memory, is InsertTensorFences.cpp.
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "ForwardWalk.h"
#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"
#include <array>

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_INSERTFENCESPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// What ops do
//===----------------------------------------------------------------------===//

SmallVector<BufferAccess> tlx::getAccesses(Operation *op) {
  SmallVector<BufferAccess> accesses;
  if (auto access = dyn_cast<BufferAccessOpInterface>(op)) {
    access.getBufferAccesses(accesses);
  }
  return accesses;
}

static bool isGeneric(const BufferAccess &access) {
  return access.proxy == Proxy::Generic || access.proxy == Proxy::Response;
}

template <typename Resource>
static bool writesResource(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  SmallVector<MemoryEffects::EffectInstance> instances;
  if (effects) {
    effects.getEffects(instances);
  }
  return llvm::any_of(instances, [](const MemoryEffects::EffectInstance &it) {
    return isa<MemoryEffects::Write>(it.getEffect()) &&
           it.getResource() == Resource::get();
  });
}

// Besides the barrier made for it, everything that starts or awaits groups of
// stores does, and a named barrier, which opens once all threads of those who
// wait are there.
bool tlx::letsThreadsMeet(Operation *op) {
  return isa<TaskBarrierOp, NamedBarrierWaitOp>(op) ||
         writesResource<StoreGroupResource>(op);
}

bool tlx::isRelease(Operation *op) {
  auto barriers = dyn_cast<BarrierOpInterface>(op);
  if (!barriers) {
    return letsThreadsMeet(op) || writesResource<BarrierResource>(op);
  }
  SmallVector<BarrierUse> uses;
  barriers.getBarrierUses(uses);
  return llvm::any_of(uses, [](const BarrierUse &use) {
    return use.action == BarrierAction::Arrive ||
           use.action == BarrierAction::Expect;
  });
}

bool tlx::isAcquire(Operation *op) {
  auto barriers = dyn_cast<BarrierOpInterface>(op);
  if (!barriers) {
    return letsThreadsMeet(op) || writesResource<BarrierResource>(op);
  }
  SmallVector<BarrierUse> uses;
  barriers.getBarrierUses(uses);
  return llvm::any_of(uses, [](const BarrierUse &use) {
    return use.action == BarrierAction::Wait;
  });
}

//===----------------------------------------------------------------------===//
// Sets of buffers
//===----------------------------------------------------------------------===//

namespace {
/// A set of allocations. Null stands for one that is not known.
struct BufferSet {
  llvm::SmallSetVector<Operation *, 4> allocs;

  void insert(Value buffer) { allocs.insert(getAllocation(buffer)); }

  bool mayContain(Value buffer) const { return mayMeet(getAllocation(buffer)); }
  bool mayMeet(const BufferSet &other) const {
    return llvm::any_of(other.allocs, [&](Operation *alloc) {
      return mayMeet(cast_or_null<LocalAllocOp>(alloc));
    });
  }
  /// Adds what `other` has; whether that was new.
  bool join(const BufferSet &other) {
    size_t before = allocs.size();
    allocs.insert(other.allocs.begin(), other.allocs.end());
    return allocs.size() != before;
  }

private:
  bool mayMeet(LocalAllocOp alloc) const {
    return llvm::any_of(allocs, [&](Operation *own) {
      return mayOverlap(cast_or_null<LocalAllocOp>(own), alloc);
    });
  }
};

//===----------------------------------------------------------------------===//
// Barriers between the threads of a task
//===----------------------------------------------------------------------===//

/// The newest products that tlx.async_dot_wait can leave in flight.
constexpr unsigned kMaxPending = 7;

/// Keeps apart what different threads of a task do to the same bytes.
struct BarrierAnalysis {
  struct State {
    /// Accessed by some threads since all of them last met.
    BufferSet read, written;
    /// Read by the matrix products in flight, the newest first; the last entry
    /// stands for all older ones too.
    std::array<BufferSet, kMaxPending + 1> inFlight;

    bool join(const State &other) {
      bool changed = read.join(other.read);
      changed |= written.join(other.written);
      for (auto [own, others] : llvm::zip_equal(inFlight, other.inFlight)) {
        changed |= own.join(others);
      }
      return changed;
    }
  };

  void step(Operation *op, State &state, bool insert) {
    SmallVector<BufferAccess> accesses = getAccesses(op);
    if (letsThreadsMeet(op)) {
      meet(state);
    } else if (llvm::any_of(accesses, [&](const BufferAccess &access) {
                 return conflicts(access, state);
               })) {
      if (insert) {
        OpBuilder builder(op);
        TaskBarrierOp::create(builder, op->getLoc());
      }
      meet(state);
    }
    if (auto wait = dyn_cast<AsyncDotWaitOp>(op)) {
      complete(wait.getPending(), state);
    } else if (writesResource<DotGroupResource>(op)) {
      start(accesses, state);
    }
    for (const BufferAccess &access : accesses) {
      if (isGeneric(access)) {
        (access.isWrite ? state.written : state.read)
            .insert(access.buffer->get());
      }
    }
  }

private:
  static void meet(State &state) {
    state.read = {};
    state.written = {};
  }

  static bool conflicts(const BufferAccess &access, const State &state) {
    Value buffer = access.buffer->get();
    return state.written.mayContain(buffer) ||
           (access.isWrite && state.read.mayContain(buffer));
  }

  static void start(ArrayRef<BufferAccess> product, State &state) {
    state.inFlight[kMaxPending].join(state.inFlight[kMaxPending - 1]);
    std::copy_backward(state.inFlight.begin(),
                       state.inFlight.begin() + kMaxPending - 1,
                       state.inFlight.begin() + kMaxPending);
    state.inFlight.front() = {};
    for (const BufferAccess &access : product) {
      state.inFlight.front().insert(access.buffer->get());
    }
  }

  /// All but the newest `pending` products have read their buffers, as far as
  /// the warp that waits is concerned: other warps may still be reading.
  static void complete(unsigned pending, State &state) {
    for (BufferSet &product :
         llvm::drop_begin(MutableArrayRef(state.inFlight), pending)) {
      state.read.join(product);
      product = {};
    }
  }
};

//===----------------------------------------------------------------------===//
// Fences between the proxies
//===----------------------------------------------------------------------===//

/// Orders generic accesses before the asynchronous ones of the kernel: writes
/// before those that read or write, reads before those that write. An arrival
/// at a barrier does not wait for the loads before it.
struct FenceAnalysis {
  /// What this thread has done through the generic proxy since its last fence.
  struct State {
    BufferSet written, read;

    bool join(const State &other) {
      bool changed = written.join(other.written);
      return read.join(other.read) || changed;
    }
  };

  /// Everything that the kernel accesses asynchronously, and writes so.
  BufferSet async, asyncWritten;

  void add(const BufferAccess &access) {
    if (access.proxy == Proxy::Async) {
      async.insert(access.buffer->get());
      if (access.isWrite) {
        asyncWritten.insert(access.buffer->get());
      }
    }
  }

  void step(Operation *op, State &state, bool insert) {
    if (isa<FenceAsyncSharedOp>(op)) {
      state = {};
      return;
    }
    SmallVector<BufferAccess> accesses = getAccesses(op);
    bool meets = llvm::any_of(accesses, [&](const BufferAccess &access) {
      return mayMeet(access, state);
    });
    if (meets || (isRelease(op) && (state.written.mayMeet(async) ||
                                    state.read.mayMeet(asyncWritten)))) {
      if (insert) {
        OpBuilder builder(op);
        FenceAsyncSharedOp::create(builder, op->getLoc());
      }
      state = {};
    }
    for (const BufferAccess &access : accesses) {
      if (isGeneric(access) && !access.isUnfenced) {
        (access.isWrite ? state.written : state.read)
            .insert(access.buffer->get());
      }
    }
  }

private:
  static bool mayMeet(const BufferAccess &access, const State &state) {
    Value buffer = access.buffer->get();
    return access.proxy == Proxy::Async &&
           (state.written.mayContain(buffer) ||
            (access.isWrite && state.read.mayContain(buffer)));
  }
};

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct InsertFencesPass
    : public tlx::impl::InsertFencesPassBase<InsertFencesPass> {
  using Base::Base;

  void runOnOperation() override {
    FenceAnalysis fences;
    getOperation().walk([&](BufferAccessOpInterface op) {
      for (const BufferAccess &access : getAccesses(op)) {
        fences.add(access);
      }
    });
    getOperation().walk([&](AsyncTaskOp task) {
      BarrierAnalysis barriers;
      analyse(barriers, task);
      analyse(fences, task);
      insertTensorFences(task);
    });
  }

private:
  template <typename Analysis>
  static void analyse(Analysis &analysis, AsyncTaskOp task) {
    typename Analysis::State state;
    ForwardWalk<Analysis>(analysis).run(task.getBody(), state,
                                        /*insert=*/true);
  }
};
} // namespace
