//===- ClusterSemantics.cpp - Cluster family in the simulator ---*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include <cstring>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

static LogicalResult buildRank(tlx::ClusterRankOp op, ProgramBuilder &builder) {
  Slot rank = builder.getSlot(op.getRank());
  builder.append(
      op, [rank](Machine &, Task &task) { task[rank].integer = task.rank; });
  return success();
}

static LogicalResult buildArrive(tlx::ClusterArriveOp op,
                                 ProgramBuilder &builder) {
  builder.getProgram().clusterSignallers.push_back(
      {builder.getTask(), builder.getSite(op), true});
  builder.appendVisible(
      op, [](Machine &machine, Task &task) { machine.arriveAtCluster(task); });
  return success();
}

static LogicalResult buildWait(tlx::ClusterWaitOp op, ProgramBuilder &builder) {
  builder.appendVisible(
      op, [](Machine &machine, Task &task) { machine.waitForCluster(task); });
  return success();
}

Targets sim::getTargets(Operation *op, mlir::Value mask,
                        ProgramBuilder &builder) {
  if (!mask) {
    return {};
  }
  builder.noteDependence(op, mask);
  return {builder.getSlot(mask)};
}

llvm::SmallVector<uint32_t, 8> Targets::get(Machine &machine,
                                            Task &task) const {
  if (!mask) {
    return {task.rank};
  }
  return machine.getRanks(task, task[*mask].integer);
}

static LogicalResult buildRemoteArrive(tlx::RemoteBarrierArriveOp op,
                                       ProgramBuilder &builder) {
  BarrierElement element = getBarrierElement(op, op.getBarrier(), op.getIndex(),
                                             Signals::Any, builder);
  Targets targets = getTargets(op, op.getMask(), builder);
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    std::optional<int64_t> barrier = element.get(machine, task);
    if (!barrier) {
      return;
    }
    for (uint32_t rank : targets.get(machine, task)) {
      int64_t number = machine.getRemoteBarrier(task, *barrier, rank);
      machine.reach(task, number, {task.index, task.time});
      machine.arrive(task, number, 0);
    }
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Launch control
//===----------------------------------------------------------------------===//

namespace {
/// What one request gets, for all CTAs that hear of it.
struct Response {
  /// Whether there is a cluster, and its first CTA.
  TileRef words{new Tile(ElementKind::I32, {4})};
  bool isMade = false;

  void make(Machine &machine) {
    if (!isMade) {
      std::optional<uint32_t> cta = machine.cancelCluster();
      words->integers = {cta.has_value(), int64_t(cta.value_or(0)), 0, 0};
      isMade = true;
    }
  }
};
} // namespace

static LogicalResult buildTryCancel(tlx::ClcTryCancelOp op,
                                    ProgramBuilder &builder) {
  FailureOr<Geometry> geometry = getGeometry(op, op.getResponse().getType());
  if (failed(geometry)) {
    return failure();
  }
  bool isForAll = op.getMulticast();
  BarrierElement element =
      getBarrierElement(op, op.getBarrier(), op.getIndex(),
                        isForAll ? Signals::Any : Signals::Own, builder);
  Slot buffer = builder.getSlot(op.getResponse());
  uint32_t size = builder.getProgram().clusterSize;
  builder.getProgram().asksForClusters = true;
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    std::optional<int64_t> barrier = element.get(machine, task);
    if (!barrier) {
      return;
    }
    machine.checkRequest(task);
    View view = getView(*geometry, task[buffer]);
    auto response = std::make_shared<Response>();
    auto write = [=](Machine &on, AsyncOp &self) {
      response->make(on);
      if (on.access(self, view, /*isWrite=*/true)) {
        on.getShared(self).store(view, *response->words);
      }
    };
    for (uint32_t rank = 0; rank < size; ++rank) {
      if (!isForAll && rank != task.rank) {
        continue;
      }
      int64_t number = machine.getRemoteBarrier(task, *barrier, rank);
      auto signal = [=](Machine &on, AsyncOp &self) {
        on.deliver(self, number, /*bytes=*/16);
      };
      AsyncRef copy = machine.issue(task, Queue::None, {write, signal});
      copy->rank = rank;
      copy->barrier = number;
      machine.reach(task, number, copy->epoch);
    }
  });
  return success();
}

static LogicalResult buildQuery(tlx::ClcQueryOp op, ProgramBuilder &builder) {
  FailureOr<Geometry> geometry = getGeometry(op, op.getResponse().getType());
  if (failed(geometry)) {
    return failure();
  }
  Slot buffer = builder.getSlot(op.getResponse());
  Slot isCanceled = builder.getSlot(op.getIsCanceled());
  Slot cta = builder.getSlot(op.getCta());
  builder.appendVisible(op, [=](Machine &machine, Task &task) {
    View view = getView(*geometry, task[buffer]);
    bool isInside = machine.accessResponse(task, view);
    TileRef words = isInside ? machine.getShared(task).load(view, {4})
                             : TileRef(new Tile(ElementKind::I32, {4}));
    task[isCanceled].integer = words->integers[0] & 1;
    task[cta].integer = words->integers[1];
    if (isInside && !task[isCanceled].integer) {
      machine.noteFailure(task);
    }
  });
  return success();
}

/// Reads its buffer, becomes visible to the other CTA, then signals there.
static LogicalResult buildRemoteCopy(tlx::AsyncRemoteCopyOp op,
                                     ProgramBuilder &builder) {
  FailureOr<Geometry> geometry = getGeometry(op, op.getSource().getType());
  FailureOr<int64_t> size = op.getSource().getType().getSizeInBytes();
  if (failed(geometry) || failed(size)) {
    return failure();
  }
  BarrierElement element = getBarrierElement(op, op.getBarrier(), op.getIndex(),
                                             Signals::Any, builder);
  builder.noteDependence(op, op.getRank());
  Slot source = builder.getSlot(op.getSource());
  Slot destination = builder.getSlot(op.getDestination());
  Slot rankSlot = builder.getSlot(op.getRank());
  builder.appendVisible(op, [=, bytes = size_t(*size),
                             shape = *geometry](Machine &machine, Task &task) {
    std::optional<int64_t> barrier = element.get(machine, task);
    std::optional<uint32_t> rank =
        machine.getRank(task, task[rankSlot].integer);
    if (!barrier || !rank) {
      return;
    }
    View from = getView(shape, task[source]);
    View to = getView(shape, task[destination]);
    auto copied = std::make_shared<std::vector<uint8_t>>();
    auto read = [=](Machine &on, AsyncOp &self) {
      if (on.access(self, from, /*isWrite=*/false) && on.computesValues()) {
        const uint8_t *begin = on.getShared(self).at(from.base);
        copied->assign(begin, begin + bytes);
      }
      self.rank = *rank;
    };
    auto write = [=](Machine &on, AsyncOp &self) {
      if (on.access(self, to, /*isWrite=*/true) && !copied->empty()) {
        std::memcpy(on.getShared(self).at(to.base), copied->data(), bytes);
      }
    };
    int64_t number = machine.getRemoteBarrier(task, *barrier, *rank);
    auto signal = [=](Machine &on, AsyncOp &self) {
      on.deliver(self, number, int64_t(bytes));
    };
    AsyncRef copy = machine.issue(task, Queue::None, {read, write, signal});
    copy->barrier = number;
    copy->readsOwn = true;
    machine.reach(task, number, copy->epoch);
  });
  return success();
}

void sim::registerClusterSemantics(MLIRContext *context) {
  attach<tlx::ClusterRankOp, buildRank>(context);
  attach<tlx::ClusterArriveOp, buildArrive>(context);
  attach<tlx::ClusterWaitOp, buildWait>(context);
  attach<tlx::RemoteBarrierArriveOp, buildRemoteArrive>(context);
  attach<tlx::AsyncRemoteCopyOp, buildRemoteCopy>(context);
  attach<tlx::ClcTryCancelOp, buildTryCancel>(context);
  attach<tlx::ClcQueryOp, buildQuery>(context);
}
