//===- InsertTensorFences.cpp - Order accesses to tensor memory -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of tlx-insert-fences that is about tensor memory, whose accesses
// only fences on both sides of a synchronisation order (PTX ISA 9.7.16.6).
//
//===----------------------------------------------------------------------===//

#include "Buffers.h"
#include "ForwardWalk.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Which columns views share
//===----------------------------------------------------------------------===//

namespace {
/// Columns of a buffer whose place is not known, counted from its first.
struct TensorPart {
  Value root;
  int64_t begin, end;
};
} // namespace

/// Follows views at constant offsets.
static TensorPart getTensorPart(Value buffer) {
  FailureOr<int64_t> columns =
      getTensorColumns(cast<MemDescType>(buffer.getType()));
  int64_t begin = 0;
  while (true) {
    if (auto view = buffer.getDefiningOp<LocalReinterpretOp>()) {
      buffer = view.getSource();
      continue;
    }
    auto slice = buffer.getDefiningOp<LocalSliceOp>();
    APInt offset;
    if (!slice ||
        !matchPattern(slice.getOffsets()[1], m_ConstantInt(&offset))) {
      break;
    }
    Type element = slice.getSource().getType().getElementType();
    int64_t bits = element ? element.getIntOrFloatBitWidth() : kTensorCellBits;
    begin += offset.getSExtValue() * bits / kTensorCellBits;
    buffer = slice.getSource();
  }
  return {buffer, begin, begin + columns.value_or(kTensorColumns)};
}

static bool mayShareColumns(Value a, Value b) {
  TensorPart partA = getTensorPart(a), partB = getTensorPart(b);
  if (partA.root == partB.root) {
    return partA.begin < partB.end && partB.begin < partA.end;
  }
  return mayOverlap(getAllocation(a), getAllocation(b));
}

//===----------------------------------------------------------------------===//
// The analysis
//===----------------------------------------------------------------------===//

namespace {
struct TensorFenceAnalysis {
  /// Whether threads of different warpgroups share rows: then one may access
  /// what another one has.
  bool sharesRows;

  struct State {
    /// What this thread has read and written since its last fence before a
    /// synchronisation.
    llvm::SmallSetVector<Value, 4> read, written;
    /// Whether it has synchronised since its last fence after it.
    bool acquired = false;

    bool join(const State &other) {
      size_t before = read.size() + written.size();
      read.insert(other.read.begin(), other.read.end());
      written.insert(other.written.begin(), other.written.end());
      bool changed = read.size() + written.size() != before ||
                     (other.acquired && !acquired);
      acquired |= other.acquired;
      return changed;
    }
    bool hasAccesses() const { return !read.empty() || !written.empty(); }
  };

  void step(Operation *op, State &state, bool insert) {
    if (auto fence = dyn_cast<Tcgen05FenceOp>(op)) {
      apply(fence.getKind(), state);
      return;
    }
    SmallVector<BufferAccess> accesses = getAccesses(op);
    llvm::erase_if(accesses, [](const BufferAccess &access) {
      return access.proxy != Proxy::Tensor;
    });
    bool isProduct = isa<AsyncOpInterface>(op);
    if (needsOtherThreads(accesses, isProduct, state)) {
      addFence(op, Tcgen05FenceKind::Before, state, insert);
      if (insert) {
        OpBuilder builder(op);
        TaskBarrierOp::create(builder, op->getLoc());
      }
      state.acquired = true;
    } else if ((isRelease(op) && state.hasAccesses()) ||
               readsOwnWrites(accesses, state)) {
      addFence(op, Tcgen05FenceKind::Before, state, insert);
    }
    if (!accesses.empty() && state.acquired) {
      addFence(op, Tcgen05FenceKind::After, state, insert);
    }
    state.acquired |= isAcquire(op);
    for (const BufferAccess &access : accesses) {
      if (!isProduct) {
        (access.isWrite ? state.written : state.read)
            .insert(access.buffer->get());
      }
    }
  }

private:
  static bool meets(const BufferAccess &access,
                    const llvm::SmallSetVector<Value, 4> &buffers) {
    return llvm::any_of(buffers, [&](Value buffer) {
      return mayShareColumns(buffer, access.buffer->get());
    });
  }

  /// One thread starts a product, so all others have to have come this far.
  bool needsOtherThreads(ArrayRef<BufferAccess> accesses, bool isProduct,
                         const State &state) const {
    if (isProduct) {
      return !accesses.empty() && state.hasAccesses();
    }
    return sharesRows && llvm::any_of(accesses, [&](const BufferAccess &it) {
             return meets(it, state.written) ||
                    (it.isWrite && meets(it, state.read));
           });
  }

  /// A thread waits for its loads at once, for its stores with the fence.
  static bool readsOwnWrites(ArrayRef<BufferAccess> accesses,
                             const State &state) {
    return llvm::any_of(accesses, [&](const BufferAccess &it) {
      return !it.isWrite && meets(it, state.written);
    });
  }

  static void apply(Tcgen05FenceKind kind, State &state) {
    if (kind == Tcgen05FenceKind::After) {
      state.acquired = false;
      return;
    }
    state.read.clear();
    state.written.clear();
  }

  static void addFence(Operation *op, Tcgen05FenceKind kind, State &state,
                       bool insert) {
    if (insert) {
      OpBuilder builder(op);
      Tcgen05FenceOp::create(builder, op->getLoc(), kind);
    }
    apply(kind, state);
  }
};
} // namespace

void tlx::insertTensorFences(AsyncTaskOp task) {
  TensorFenceAnalysis analysis{task.getNumWarps() > 4};
  TensorFenceAnalysis::State state;
  ForwardWalk<TensorFenceAnalysis>(analysis).run(task.getBody(), state,
                                                 /*insert=*/true);
}
