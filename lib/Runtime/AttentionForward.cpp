//===- AttentionForward.cpp - Plans of the attention forward ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionForward.h"
#include "Workspace.h"

#include <algorithm>

using namespace jfa::runtime;

//===----------------------------------------------------------------------===//
// Making a plan
//===----------------------------------------------------------------------===//

Status AttentionForwardPlan::chooseGrid() {
  WorkShape shape;
  Status status = kernel.getRows("BLOCK_M", shape.blockM);
  if (status.failed()) {
    return status;
  }
  // A cluster takes the tiles of its CTAs as one.
  shape.blockM *= kernel.getClusterSize();
  const Manifest &manifest = kernel.getManifest();
  shape.blockN = std::max<int64_t>(1, manifest.getInteger("BLOCK_N", 1));
  shape.causal = problem.causal;
  shape.heads = problem.queryHeads;
  shape.sharedHeads = problem.kvHeads;
  shape.bytesPerRow = 2 * problem.headDim * int64_t(sizeof(uint16_t));
  shape.order = problem.workOrder;
  if (kernel.takes(Slot::TileCounts)) {
    shape.groupAbove = kLongList;
  }
  status = kernel.countWorkers(*driver, gpu, shape.workers);
  if (status.failed()) {
    return status;
  }
  status = makeWorkList(problem.sequences, shape, work);
  if (status.failed()) {
    return status;
  }
  if (manifest.getParameter("DYNAMIC", "false") == "true") {
    splitTails(work);
  }
  grid = int64_t(work.starts.size()) - 1;
  // The kernel reads one item ahead.
  work.items.push_back({0, 0, 0, 0});
  return success();
}

Status
AttentionForwardPlan::create(const jfaAttentionForwardDescription &description,
                             int32_t device, AttentionForwardPlan &plan) {
  AttentionProblem &problem = plan.problem;
  Status status = checkAttention(description, problem);
  if (status.failed()) {
    return status;
  }
  const Driver *driver = Driver::get(status);
  if (!driver) {
    return status;
  }
  Gpu gpu;
  status = getGpu(*driver, device, gpu);
  return status.failed() ? status : create(*driver, gpu, plan);
}

Status AttentionForwardPlan::create(const Driver &driver, const Gpu &gpu,
                                    AttentionForwardPlan &plan) {
  AttentionProblem &problem = plan.problem;
  plan.driver = &driver;
  plan.gpu = gpu;
  Status status =
      plan.kernel.load(driver, gpu, "attention_fwd", getParameters(problem),
                       findLengths(problem.sequences));
  if (status.failed()) {
    return status;
  }
  status = plan.kernel.shapeMaps(problem.elementType,
                                 {problem.q, problem.k, problem.v, problem.o});
  if (status.failed()) {
    return status;
  }
  status = plan.chooseGrid();
  // The caller's arrays may be gone when the plan is used.
  problem.sequences.qOffsets = nullptr;
  problem.sequences.kOffsets = nullptr;
  return status;
}

//===----------------------------------------------------------------------===//
// Using a plan
//===----------------------------------------------------------------------===//

size_t AttentionForwardPlan::getWorkspaceSize() const {
  return getWorkListBytes(work);
}

Status AttentionForwardPlan::initializeWorkspace(void *workspace, size_t bytes,
                                                 Driver::Stream stream) const {
  Status status = checkWorkspace(workspace, bytes, getWorkspaceSize());
  if (status.failed() || grid == 0) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  return status.failed() ? status
                         : copyWorkList(*driver, work, workspace, stream);
}

Status AttentionForwardPlan::execute(const jfaAttentionForwardBuffers &buffers,
                                     const void *workspace, size_t bytes,
                                     Driver::Stream stream) const {
  Status status = checkBuffers(problem, buffers);
  if (status.failed()) {
    return status;
  }
  status = checkWorkspace(workspace, bytes, getWorkspaceSize());
  if (status.failed() || grid == 0) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  AttentionArguments arguments;
  setArguments(problem, buffers, buffers.q, arguments);
  const auto *items = static_cast<const char *>(workspace);
  arguments.set(Slot::Items, items);
  arguments.set(Slot::ItemStarts, items + getItemBytes(work));
  arguments.set(Slot::TileCounts,
                items + getItemBytes(work) + getStartBytes(work));
  AttentionKernel::Prepared prepared;
  status = kernel.prepare(*driver, arguments, prepared);
  return status.failed() ? status
                         : kernel.launch(*driver, grid, prepared, stream);
}
