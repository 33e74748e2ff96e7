//===- AllocateTensorMemory.cpp - Columns for buffers in tensor memory -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of tlx-allocate-memory that is about tensor memory: buffers side by
// side, in the order of the program, those that alias each other at one place.
//
//===----------------------------------------------------------------------===//

#include "AllocateTensorMemory.h"
#include "Buffers.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

namespace {
/// Columns that get one offset, and the buffers that lie there.
struct Columns {
  int64_t count = 0;
  SmallVector<LocalAllocOp> buffers;
};
} // namespace

/// What the source calls a buffer, for messages.
static std::string describe(LocalAllocOp alloc) {
  if (auto named = alloc.getLoc()->findInstanceOf<NameLoc>()) {
    return "'%" + named.getName().str() + "'";
  }
  return "this buffer";
}

static LogicalResult verifyFits(KernelOp kernel, ArrayRef<Columns> all,
                                int64_t total) {
  if (total <= kTensorColumns) {
    return success();
  }
  InFlightDiagnostic diag =
      kernel.emitOpError("expected buffers in tensor memory to take at most ")
      << kTensorColumns << " columns of 128 lanes (PTX ISA 9.7.16.1), but got "
      << total;
  for (const Columns &columns : all) {
    for (LocalAllocOp buffer : columns.buffers) {
      diag.attachNote(buffer.getLoc())
          << describe(buffer) << " takes "
          << *getTensorColumns(buffer.getBuffer().getType()) << " columns"
          << (buffer.getAlias() ? ", which another buffer has too" : "");
    }
  }
  return diag;
}

/// Notes whether pairs of CTAs allocate together. Instructions of one CTA and
/// of two do not mix in a kernel (PTX ISA 9.7.16.5).
static LogicalResult markPair(KernelOp kernel) {
  AsyncDotOp first;
  WalkResult walk = kernel.walk([&](AsyncDotOp dot) -> WalkResult {
    if (!dot.isInTensorMemory()) {
      return success();
    }
    if (!first || dot.isOfPair() == first.isOfPair()) {
      first = first ? first : dot;
      return success();
    }
    InFlightDiagnostic diag =
        dot.emitOpError("expected all products of a kernel in tensor memory to "
                        "be of one CTA or all of two (PTX ISA 9.7.16.5), but "
                        "this one is of ")
        << (dot.isOfPair() ? "two" : "one");
    diag.attachNote(first.getLoc())
        << "and this one of " << (first.isOfPair() ? "two" : "one");
    return diag;
  });
  if (first && first.isOfPair()) {
    kernel->setAttr(kTensorPairAttr, UnitAttr::get(kernel.getContext()));
  }
  return failure(walk.wasInterrupted());
}

FailureOr<int64_t> tlx::allocateTensorMemory(KernelOp kernel) {
  if (failed(markPair(kernel))) {
    return failure();
  }
  llvm::MapVector<Operation *, Columns> groups;
  WalkResult walk = kernel.walk([&](LocalAllocOp alloc) -> WalkResult {
    MemDescType type = alloc.getBuffer().getType();
    if (!type.isInTensorMemory()) {
      return success();
    }
    FailureOr<int64_t> columns = getTensorColumns(type);
    if (failed(columns)) {
      return alloc.emitOpError("expected a buffer without parameters, but got ")
             << type;
    }
    Columns &group = groups[getStorage(alloc)];
    group.count = std::max(group.count, *columns);
    group.buffers.push_back(alloc);
    return success();
  });
  if (walk.wasInterrupted()) {
    return failure();
  }
  int64_t total = 0;
  SmallVector<Columns> all;
  for (auto &[storage, group] : groups) {
    for (LocalAllocOp buffer : group.buffers) {
      buffer.setOffset(total);
    }
    if (llvm::AddOverflow(total, group.count, total)) {
      return kernel.emitOpError("expected buffers in tensor memory to take at "
                                "most ")
             << kTensorColumns << " columns";
    }
    all.push_back(group);
  }
  if (failed(verifyFits(kernel, all, total))) {
    return failure();
  }
  if (total == 0) {
    return 0;
  }
  return std::max<int64_t>(kMinTensorColumns, llvm::PowerOf2Ceil(total));
}
