//===- Buffers.cpp - Which buffers ops touch --------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

LocalAllocOp tlx::getAllocation(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    buffer = view.getViewSource();
  }
  return buffer.getDefiningOp<LocalAllocOp>();
}

LocalAllocOp tlx::getStorage(LocalAllocOp alloc) {
  while (alloc.getAlias()) {
    alloc = alloc.getAlias().getDefiningOp<LocalAllocOp>();
  }
  return alloc;
}

bool tlx::visitBufferUses(Value buffer, function_ref<bool(OpOperand &)> visit) {
  return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
    if (isa<LocalAllocOp>(use.getOwner())) {
      return true; // `alias`
    }
    if (isa<ViewLikeOpInterface>(use.getOwner())) {
      return visitBufferUses(use.getOwner()->getResult(0), visit);
    }
    return visit(use);
  });
}

bool tlx::mayOverlap(LocalAllocOp a, LocalAllocOp b) {
  if (!a || !b || getStorage(a) == getStorage(b)) {
    return true;
  }
  if (a.getBuffer().getType().getMemorySpace() !=
      b.getBuffer().getType().getMemorySpace()) {
    return false;
  }
  // In what offsets count.
  auto getSize = [](MemDescType type) {
    return type.isInTensorMemory() ? getTensorColumns(type)
                                   : type.getSizeInBytes();
  };
  FailureOr<int64_t> sizeA = getSize(a.getBuffer().getType());
  FailureOr<int64_t> sizeB = getSize(b.getBuffer().getType());
  if (!a.getOffset() || !b.getOffset() || failed(sizeA) || failed(sizeB)) {
    return false;
  }
  int64_t beginA = *a.getOffset(), beginB = *b.getOffset();
  return beginA < beginB + *sizeB && beginB < beginA + *sizeA;
}
