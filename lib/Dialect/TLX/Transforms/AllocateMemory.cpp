//===- AllocateMemory.cpp - Lay out the shared memory of kernels -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives buffers, scratch and mbarriers their offsets: first fit, in the order
// of the strictest alignment, so that no two that may be in use at the same
// time have a byte in common.
//
//===----------------------------------------------------------------------===//

#include "AllocateTensorMemory.h"
#include "Buffers.h"
#include "jfa/Dialect/TLX/IR/SharedLayout.h"
#include "jfa/Dialect/TLX/IR/TensorMemory.h"
#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_ALLOCATEMEMORYPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Where buffers start, so that copies and vectors find them aligned.
static constexpr int64_t kBufferAlignment = 128;
static constexpr int64_t kBarrierBytes = 8;
/// What the size of a CTA's shared memory is rounded up to.
static constexpr int64_t kTotalAlignment = 16;

namespace {
/// When a reservation is in use: from one to another top-level op of a task's
/// body.
struct LiveRange {
  AsyncTaskOp task;
  int64_t first;
  int64_t last;
};

/// Bytes that get one offset, and the ops that it is the offset of.
struct Reservation {
  StringRef what;
  int64_t bytes;
  int64_t alignment;
  /// Without it, in use as long as the kernel runs.
  std::optional<LiveRange> live;
  SmallVector<Operation *> ops;
  int64_t offset;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sizes and alignments
//===----------------------------------------------------------------------===//

/// Raises `alignment` to what `buffer`, with the layout of its type, and all
/// views of it need.
static LogicalResult addAlignment(Value buffer, int64_t &alignment) {
  auto emit = [&]() { return buffer.getDefiningOp()->emitOpError(); };
  // What is only viewed has no layout of its own: a ring of arrays, say.
  bool accessed = buffer.use_empty();
  for (Operation *user : buffer.getUsers()) {
    bool isView = isa<ViewLikeOpInterface>(user);
    accessed |= !isView;
    if (isView && failed(addAlignment(user->getResult(0), alignment))) {
      return failure();
    }
  }
  if (!accessed) {
    return success();
  }
  auto type = cast<MemDescType>(buffer.getType());
  FailureOr<SharedLayout> layout = getSharedLayout(type, emit);
  if (failed(layout)) {
    return failure();
  }
  alignment = std::max(alignment, layout->alignment);
  if (!buffer.getDefiningOp<LocalViewOp>() ||
      layout->getSizeInBytes() % layout->alignment == 0) {
    return success();
  }
  return emit() << "expected every tile of a ring to take a multiple of "
                << layout->alignment << " bytes, but got "
                << layout->getSizeInBytes();
}

/// Follows one buffer's uses; false if it has to live as long as the kernel.
static bool extendLiveRange(Value buffer, std::optional<LiveRange> &live,
                            const DenseMap<Operation *, int64_t> &order) {
  return visitBufferUses(buffer, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    AsyncTaskOp task = getEnclosingTask(user);
    auto access = dyn_cast<BufferAccessOpInterface>(user);
    if (!task || !access || task.getNumReplicas() != 1 ||
        (live && live->task != task)) {
      return false;
    }
    SmallVector<BufferAccess> accesses;
    access.getBufferAccesses(accesses);
    if (llvm::any_of(accesses, [&](const BufferAccess &entry) {
          return entry.buffer == &use && entry.proxy != Proxy::Generic;
        })) {
      return false;
    }
    int64_t at =
        order.lookup(task.getBody().front().findAncestorOpInBlock(*user));
    live = live ? LiveRange{task, std::min(live->first, at),
                            std::max(live->last, at)}
                : LiveRange{task, at, at};
    return true;
  });
}

static std::optional<LiveRange>
getLiveRange(ArrayRef<Operation *> allocs,
             const DenseMap<Operation *, int64_t> &order) {
  std::optional<LiveRange> live;
  for (Operation *alloc : allocs) {
    if (!extendLiveRange(alloc->getResult(0), live, order)) {
      return std::nullopt;
    }
  }
  return live;
}

//===----------------------------------------------------------------------===//
// Collecting what needs memory
//===----------------------------------------------------------------------===//

/// One reservation for each buffer and those that alias it.
static LogicalResult
collectBuffers(KernelOp kernel, SmallVectorImpl<Reservation> &reservations) {
  llvm::MapVector<Operation *, Reservation> buffers;
  WalkResult walk = kernel.walk([&](LocalAllocOp alloc) -> WalkResult {
    if (alloc->getParentOp() != kernel) {
      return alloc.emitOpError("expected to be in the kernel's body, since a "
                               "buffer belongs to the whole CTA");
    }
    if (alloc.getBuffer().getType().isInTensorMemory()) {
      return success();
    }
    FailureOr<int64_t> bytes = alloc.getBuffer().getType().getSizeInBytes();
    int64_t alignment = kBufferAlignment;
    if (failed(addAlignment(alloc.getBuffer(), alignment))) {
      return failure();
    }
    if (failed(bytes)) {
      return alloc.emitOpError("expected a buffer without parameters, but got ")
             << alloc.getBuffer().getType();
    }
    auto [it, isNew] = buffers.try_emplace(
        getStorage(alloc), Reservation{"buffer", 0, 0, std::nullopt, {}, 0});
    it->second.bytes = std::max(it->second.bytes, *bytes);
    it->second.alignment = std::max(it->second.alignment, alignment);
    it->second.ops.push_back(alloc);
    return success();
  });
  for (auto &[storage, reservation] : buffers) {
    reservations.push_back(reservation);
  }
  return failure(walk.wasInterrupted());
}

/// One reservation for the conversions of a task, which follow each other.
/// Replicas run side by side: for them, only conversions of one size may share,
/// so that the parts of different replicas never meet.
static void collectScratch(KernelOp kernel,
                           SmallVectorImpl<Reservation> &reservations) {
  llvm::MapVector<std::pair<Operation *, int64_t>, Reservation> scratch;
  kernel.walk([&](ConvertLayoutOp convert) {
    AsyncTaskOp task = getEnclosingTask(convert);
    int64_t bytes = convert.getScratchBytes();
    if (!task || bytes == 0) {
      return;
    }
    int64_t replicas = task.getNumReplicas();
    auto [it, isNew] = scratch.try_emplace(
        {task, replicas == 1 ? 0 : bytes},
        Reservation{"scratch", 0, kBufferAlignment, std::nullopt, {}, 0});
    it->second.bytes = std::max(it->second.bytes, bytes * replicas);
    it->second.ops.push_back(convert);
  });
  for (auto &[key, reservation] : scratch) {
    reservations.push_back(reservation);
  }
}

static LogicalResult
collectBarriers(KernelOp kernel, SmallVectorImpl<Reservation> &reservations) {
  WalkResult walk = kernel.walk([&](AllocBarriersOp alloc) -> WalkResult {
    MBarrierType type = alloc.getBarrier().getType();
    std::optional<int64_t> count = type.getCount().getConstant();
    if (!count) {
      return alloc.emitOpError("expected a known number of mbarriers, but got ")
             << type;
    }
    reservations.push_back({"mbarriers",
                            *count * kBarrierBytes,
                            kBarrierBytes,
                            std::nullopt,
                            {alloc},
                            0});
    return success();
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Placing it
//===----------------------------------------------------------------------===//

static bool interfere(const Reservation &a, const Reservation &b) {
  bool disjoint =
      a.live && b.live && a.live->task == b.live->task &&
      (a.live->last < b.live->first || b.live->last < a.live->first);
  return !disjoint;
}

/// The lowest offset at which `reservation` meets none of `placed`.
static int64_t findOffset(const Reservation &reservation,
                          ArrayRef<Reservation> placed) {
  SmallVector<const Reservation *> obstacles;
  for (const Reservation &other : placed) {
    if (interfere(reservation, other)) {
      obstacles.push_back(&other);
    }
  }
  llvm::stable_sort(obstacles, [](const Reservation *a, const Reservation *b) {
    return a->offset < b->offset;
  });
  int64_t offset = 0;
  for (const Reservation *other : obstacles) {
    if (offset + reservation.bytes <= other->offset) {
      break;
    }
    offset =
        std::max<int64_t>(offset, llvm::alignTo(other->offset + other->bytes,
                                                reservation.alignment));
  }
  return offset;
}

/// Sets the offsets; returns the bytes used.
static int64_t place(MutableArrayRef<Reservation> reservations) {
  llvm::stable_sort(reservations,
                    [](const Reservation &a, const Reservation &b) {
                      return a.alignment > b.alignment;
                    });
  int64_t end = 0;
  for (size_t i = 0; i < reservations.size(); ++i) {
    reservations[i].offset =
        findOffset(reservations[i], reservations.take_front(i));
    end = std::max(end, reservations[i].offset + reservations[i].bytes);
  }
  return llvm::alignTo(end, kTotalAlignment);
}

static LogicalResult verifyLimit(KernelOp kernel,
                                 ArrayRef<Reservation> reservations,
                                 int64_t total, int64_t limit) {
  if (total <= limit) {
    return success();
  }
  InFlightDiagnostic diag = kernel.emitOpError("expected at most ")
                            << limit
                            << " bytes of shared memory, which a CTA may have, "
                               "but got "
                            << total;
  for (const Reservation &reservation : reservations) {
    diag.attachNote(reservation.ops.front()->getLoc())
        << reservation.bytes << " bytes for this "
        << (reservation.what == "mbarriers" ? "array of mbarriers"
                                            : reservation.what);
  }
  return diag;
}

/// Where the hardware writes the address of the kernel's tensor memory.
static void reserveTensorAddress(KernelOp kernel,
                                 SmallVectorImpl<Reservation> &reservations) {
  constexpr int64_t kAddressBytes = 4;
  reservations.push_back({"address of tensor memory",
                          kAddressBytes,
                          kAddressBytes,
                          std::nullopt,
                          {kernel},
                          0});
}

static void setOffsets(KernelOp kernel, ArrayRef<Reservation> reservations) {
  for (const Reservation &reservation : reservations) {
    for (Operation *op : reservation.ops) {
      // Properties of different ops, all called `offset`; what belongs to the
      // kernel itself is the address of its tensor memory.
      op->setAttr(op == kernel ? StringRef(kTensorAddressAttr) : "offset",
                  Builder(op).getI64IntegerAttr(reservation.offset));
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Numbers the top-level ops of the tasks.
static DenseMap<Operation *, int64_t> getTaskOrder(KernelOp kernel) {
  DenseMap<Operation *, int64_t> order;
  kernel.walk([&](AsyncTaskOp task) {
    for (Operation &op : task.getBody().front()) {
      order.try_emplace(&op, order.size());
    }
  });
  return order;
}

static LogicalResult allocateMemory(KernelOp kernel, int64_t limit) {
  SmallVector<Reservation> reservations;
  if (failed(collectBuffers(kernel, reservations))) {
    return failure();
  }
  FailureOr<int64_t> tensorColumns = allocateTensorMemory(kernel);
  if (failed(tensorColumns)) {
    return failure();
  }
  DenseMap<Operation *, int64_t> order = getTaskOrder(kernel);
  for (Reservation &reservation : reservations) {
    reservation.live = getLiveRange(reservation.ops, order);
  }
  collectScratch(kernel, reservations);
  if (failed(collectBarriers(kernel, reservations))) {
    return failure();
  }
  if (*tensorColumns != 0) {
    reserveTensorAddress(kernel, reservations);
  }
  int64_t total = place(reservations);
  if (failed(verifyLimit(kernel, reservations, total, limit))) {
    return failure();
  }
  setOffsets(kernel, reservations);
  Builder builder(kernel);
  kernel->setAttr("tlx.shared_memory_bytes", builder.getI64IntegerAttr(total));
  if (*tensorColumns != 0) {
    kernel->setAttr(kTensorColumnsAttr,
                    builder.getI64IntegerAttr(*tensorColumns));
  }
  remark::analysis(kernel.getLoc(), remark::RemarkOpts::name("shared_memory")
                                        .category("memory")
                                        .function(kernel.getName()))
      << std::to_string(total) + " of " + std::to_string(limit) +
             " bytes of shared memory";
  return success();
}

namespace {
struct AllocateMemoryPass
    : public tlx::impl::AllocateMemoryPassBase<AllocateMemoryPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(allocateMemory(getOperation(), limit))) {
      signalPassFailure();
    }
  }
};
} // namespace
