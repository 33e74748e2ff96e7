//===- ForwardWalk.h - What has happened before an op -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward analysis of structured control flow, and what ops mean to it.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_DIALECT_TLX_TRANSFORMS_FORWARDWALK_H
#define JFA_LIB_DIALECT_TLX_TRANSFORMS_FORWARDWALK_H

#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::jfa::tlx {

/// The buffers that `op` touches.
SmallVector<BufferAccess> getAccesses(Operation *op);

/// Whether the threads of the task wait for each other.
bool letsThreadsMeet(Operation *op);

/// Whether other threads may learn from `op` that this one has come this far.
bool isRelease(Operation *op);

/// Whether this thread may learn from `op` how far others have come.
bool isAcquire(Operation *op);

/// Orders what the threads of a task do in tensor memory
/// (`tlx.tcgen05_fence`).
void insertTensorFences(AsyncTaskOp task);

/// Runs `Analysis::step(op, state, insert)` along every path. Steps insert only
/// when told to: in a loop once what its end leaves behind is known.
template <typename Analysis>
class ForwardWalk {
public:
  using State = typename Analysis::State;
  explicit ForwardWalk(Analysis &analysis) : analysis(analysis) {}

  void run(Region &region, State &state, bool insert) {
    for (Block &block : region) {
      for (Operation &op : llvm::make_early_inc_range(block)) {
        if (op.getNumRegions() == 0) {
          analysis.step(&op, state, insert);
        } else if (isa<LoopLikeOpInterface>(op)) {
          runLoop(&op, state, insert);
        } else {
          runBranches(&op, state, insert);
        }
      }
    }
  }

private:
  /// The body may follow itself, and may not run at all.
  void runLoop(Operation *op, State &state, bool insert) {
    bool changed = true;
    while (changed) {
      State end = state;
      runInOrder(op, end, /*insert=*/false);
      changed = state.join(end);
    }
    State end = state;
    runInOrder(op, end, insert);
  }

  void runInOrder(Operation *op, State &state, bool insert) {
    for (Region &region : op->getRegions()) {
      run(region, state, insert);
    }
  }

  /// One of the regions runs; one without blocks means that none may.
  void runBranches(Operation *op, State &state, bool insert) {
    State after;
    for (Region &region : op->getRegions()) {
      State branch = state;
      run(region, branch, insert);
      after.join(branch);
    }
    state = after;
  }

  Analysis &analysis;
};

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_DIALECT_TLX_TRANSFORMS_FORWARDWALK_H
