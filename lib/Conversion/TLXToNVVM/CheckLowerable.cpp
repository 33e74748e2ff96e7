//===- CheckLowerable.cpp - What a kernel needs to be lowered ---*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patterns of the families take a specialised kernel with layouts and
// offsets for granted. This checks all of it first, so that a kernel that comes
// from elsewhere than the pipeline gets an error that says which pass it lacks.
//
//===----------------------------------------------------------------------===//

#include "LoweringBuilder.h"
#include "jfa/Conversion/TLXToNVVM/TLXToNVVM.h"

#include "jfa/Dialect/TLX/IR/NamedBarriers.h"
#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/TensorMemory.h"
#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Shared memory that one CTA can have on Hopper, in bytes.
static constexpr int64_t kMaxSharedBytes = 232448;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Checks that no parameter is left in the op's attributes and types.
static LogicalResult checkBound(Operation *op) {
  if (isa<ParamOp, ConstraintOp>(op)) {
    return op->emitOpError("expected every parameter to be bound; run "
                           "tlx-specialize first");
  }
  SmallVector<Attribute> used = {op->getAttrDictionary(),
                                 op->getPropertiesAsAttribute()};
  for (Type type : op->getResultTypes()) {
    used.push_back(TypeAttr::get(type));
  }
  for (Region &region : op->getRegions()) {
    for (Type type : region.getArgumentTypes()) {
      used.push_back(TypeAttr::get(type));
    }
  }
  StringAttr unbound;
  ExprAttr overflown;
  for (Attribute attr : used) {
    if (!attr) {
      continue;
    }
    forEachParameter(attr, [&](StringAttr name) { unbound = name; });
    attr.walk([&](ExprAttr expr) {
      overflown = expr.getConstant() ? overflown : expr;
    });
  }
  if (unbound) {
    return op->emitOpError("expected every parameter to be bound, but '")
           << unbound.getValue() << "' is not; run tlx-specialize first";
  }
  if (overflown) {
    return op->emitOpError("expected values of 64 bits, but got ") << overflown;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static LogicalResult checkFits(Operation *op, std::optional<uint64_t> offset,
                               FailureOr<int64_t> bytes) {
  if (!offset) {
    return op->emitOpError("expected an offset; run tlx-allocate-memory first");
  }
  if (failed(bytes) || *bytes > kMaxSharedBytes ||
      *offset > static_cast<uint64_t>(kMaxSharedBytes - *bytes)) {
    return op->emitOpError("expected to end within the ")
           << kMaxSharedBytes << " bytes of shared memory of a CTA";
  }
  return success();
}

/// Checks that a buffer in tensor memory has columns of those that the kernel
/// allocates.
static LogicalResult checkTensorMemory(LocalAllocOp alloc) {
  auto kernel = cast<KernelOp>(alloc->getParentOp());
  auto allocated = kernel->getAttrOfType<IntegerAttr>(kTensorColumnsAttr);
  auto address = kernel->getAttrOfType<IntegerAttr>(kTensorAddressAttr);
  if (!alloc.getOffset() || !allocated || !address) {
    return alloc.emitOpError("expected columns of tensor memory; run "
                             "tlx-allocate-memory first");
  }
  int64_t count = allocated.getInt();
  if (count < kMinTensorColumns || count > kTensorColumns ||
      !llvm::isPowerOf2_64(count)) {
    return kernel.emitOpError("expected '")
           << kTensorColumnsAttr << "' to be a power of two from "
           << kMinTensorColumns << " to " << kTensorColumns << ", but got "
           << count;
  }
  FailureOr<int64_t> columns = getTensorColumns(alloc.getBuffer().getType());
  if (failed(columns) || *columns > count ||
      *alloc.getOffset() > static_cast<uint64_t>(count - *columns)) {
    return alloc.emitOpError("expected to end within the ")
           << count << " columns of tensor memory that the kernel allocates";
  }
  constexpr int64_t kAddressBytes = 4;
  return checkFits(kernel, address.getInt(), kAddressBytes);
}

/// Checks that what is allocated has its place.
static LogicalResult checkAllocated(Operation *op) {
  if (isa<LocalAllocOp, AllocBarriersOp>(op) &&
      !isa<KernelOp>(op->getParentOp())) {
    return op->emitOpError("expected to be directly in the kernel, since it "
                           "lives as long as that");
  }
  if (auto alloc = dyn_cast<LocalAllocOp>(op)) {
    if (alloc.getBuffer().getType().isInTensorMemory()) {
      return checkTensorMemory(alloc);
    }
    return checkFits(op, alloc.getOffset(),
                     alloc.getBuffer().getType().getSizeInBytes());
  }
  if (auto alloc = dyn_cast<AllocBarriersOp>(op)) {
    constexpr int64_t kBarrierBytes = 8;
    return checkFits(op, alloc.getOffset(),
                     *alloc.getBarrier().getType().getCount().getConstant() *
                         kBarrierBytes);
  }
  auto convert = dyn_cast<ConvertLayoutOp>(op);
  if (!convert || convert.getScratchBytes() == 0) {
    return success();
  }
  AsyncTaskOp task = getEnclosingTask(op);
  return checkFits(op, convert.getOffset(),
                   convert.getScratchBytes() * task.getNumReplicas());
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Checks that an op that some threads run says which: of this dialect, only
/// what every thread computes alike may be outside of tasks.
static LogicalResult checkInTask(Operation *op) {
  if (!isa_and_nonnull<TLXDialect>(op->getDialect()) || getEnclosingTask(op) ||
      isa<KernelOp, AsyncTasksOp, AsyncTaskOp, LocalAllocOp, AllocBarriersOp,
          ViewLikeOpInterface, CtaIdOp, CtaCountOp, ClusterRankOp,
          ClusterArriveOp, ClusterWaitOp, GridDependencyWaitOp,
          GridLaunchDependentsOp, RingOp, GlobalLoadOp, InMaskedTailOp>(op)) {
    return success();
  }
  return op->emitOpError("expected to be inside a 'tlx.async_task', since it "
                         "depends on the threads that run it");
}

/// Checks that a named barrier of the author's is none of the compiler's own.
static LogicalResult checkNamedBarrier(Operation *op, Value id,
                                       int64_t firstReserved) {
  APInt value;
  if (matchPattern(id, m_Zero()) &&
      op->getParentOfType<KernelOp>()->hasAttr(kTensorColumnsAttr)) {
    return op->emitOpError("expected an id from 1 on, since the compiler takes "
                           "0 to allocate and free tensor memory");
  }
  if (!matchPattern(id, m_ConstantInt(&value)) ||
      value.getZExtValue() < static_cast<uint64_t>(firstReserved)) {
    return success();
  }
  return op->emitOpError("expected an id below ")
         << firstReserved << ", since the compiler takes " << firstReserved
         << " to " << kLastNamedBarrier
         << " for the tasks of several warps, but got " << value.getZExtValue();
}

/// The first of the named barriers that the kernel's tasks synchronise with.
static FailureOr<int64_t> findFirstReserved(KernelOp kernel) {
  int64_t first = kLastNamedBarrier + 1;
  for (AsyncTasksOp tasks : kernel.getBody().getOps<AsyncTasksOp>()) {
    FailureOr<TaskPlacement> placement = tasks.getPlacement();
    if (failed(placement)) {
      return failure();
    }
    first = std::min(first, getFirstReservedBarrier(*placement));
  }
  return first;
}

/// Checks that a product is waited for where it was started.
static LogicalResult checkProduct(AsyncDotOp op) {
  if (op.isInTensorMemory()) {
    return success();
  }
  for (Operation *user : op.getResult().getUsers()) {
    if (!isa<AsyncDotWaitOp>(user)) {
      InFlightDiagnostic diag =
          op.emitOpError("expected only 'tlx.async_dot_wait' to use it");
      diag.attachNote(user->getLoc()) << "used here";
      return diag;
    }
  }
  if (op.getResult().use_empty()) {
    return op.emitOpError("expected a 'tlx.async_dot_wait' of it, since its "
                          "registers are written until then");
  }
  return success();
}

/// Checks that what depends on a warp's vote does not synchronise: other warps
/// may have voted differently.
static LogicalResult checkVote(VoteAnyOp vote) {
  for (Operation *user : vote->getUsers()) {
    auto ifOp = dyn_cast<scf::IfOp>(user);
    if (!ifOp) {
      return vote.emitOpError("expected only 'scf.if' to use a vote, since "
                              "warps may differ in it");
    }
    WalkResult walk = ifOp.walk([&](Operation *op) -> WalkResult {
      auto effects = dyn_cast<MemoryEffectOpInterface>(op);
      SmallVector<MemoryEffects::EffectInstance> instances;
      if (effects) {
        effects.getEffects(instances);
      }
      bool synchronises =
          llvm::any_of(instances, [](const MemoryEffects::EffectInstance &it) {
            return isa<MemoryEffects::Write>(it.getEffect()) &&
                   it.getResource() == BarrierResource::get();
          });
      if (!synchronises) {
        return WalkResult::advance();
      }
      InFlightDiagnostic diag =
          op->emitOpError("expected nothing that synchronises where warps may "
                          "differ");
      diag.attachNote(vote.getLoc()) << "they vote here";
      return diag;
    });
    if (walk.wasInterrupted()) {
      return failure();
    }
  }
  return success();
}

/// Checks that no task meets the cluster where all threads do so at the end, to
/// free tensor memory: threads whose task is over would keep the cluster's
/// barrier from completing.
static LogicalResult checkClusterBarrier(Operation *op) {
  if (!isa<ClusterArriveOp, ClusterWaitOp>(op) || !getEnclosingTask(op) ||
      !op->getParentOfType<KernelOp>()->hasAttr(kTensorColumnsAttr)) {
    return success();
  }
  return op->emitOpError("expected no task of a kernel with tensor memory to "
                         "meet the cluster, since all threads do so at the end "
                         "to free that");
}

static LogicalResult checkOp(Operation *op, int64_t firstReserved) {
  if (failed(checkInTask(op)) || failed(checkAllocated(op)) ||
      failed(checkClusterBarrier(op))) {
    return failure();
  }
  if (auto dot = dyn_cast<AsyncDotOp>(op)) {
    return checkProduct(dot);
  }
  if (auto vote = dyn_cast<VoteAnyOp>(op)) {
    return checkVote(vote);
  }
  if (auto wait = dyn_cast<NamedBarrierWaitOp>(op)) {
    return checkNamedBarrier(op, wait.getId(), firstReserved);
  }
  if (auto arrive = dyn_cast<NamedBarrierArriveOp>(op)) {
    return checkNamedBarrier(op, arrive.getId(), firstReserved);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

static LogicalResult checkNames(KernelOp kernel) {
  Operation *module = SymbolTable::getNearestSymbolTable(kernel->getParentOp());
  if (!module) {
    return kernel.emitOpError("expected to be inside a module");
  }
  Operation *symbol = SymbolTable::lookupSymbolIn(module, kSharedMemoryName);
  if (!symbol || isa<LLVM::GlobalOp>(symbol)) {
    return success();
  }
  return symbol->emitOpError("expected another name, since '")
         << kSharedMemoryName << "' is that of the CTA's shared memory";
}

LogicalResult tlx::checkLowerable(KernelOp kernel) {
  if (failed(checkNames(kernel))) {
    return failure();
  }
  WalkResult bound =
      kernel.walk([](Operation *op) { return WalkResult(checkBound(op)); });
  if (bound.wasInterrupted()) {
    return failure();
  }
  if (kernel.getBody().getOps<AsyncTasksOp>().empty()) {
    return kernel.emitOpError("expected a 'tlx.async_tasks', which says how "
                              "many threads run the kernel");
  }
  FailureOr<int64_t> firstReserved = findFirstReserved(kernel);
  if (failed(firstReserved)) {
    return failure();
  }
  WalkResult layouts = kernel.walk(
      [](AsyncTaskOp task) { return WalkResult(verifyLayouts(task)); });
  if (layouts.wasInterrupted()) {
    return failure();
  }
  WalkResult ops = kernel.walk(
      [&](Operation *op) { return WalkResult(checkOp(op, *firstReserved)); });
  return failure(ops.wasInterrupted());
}
