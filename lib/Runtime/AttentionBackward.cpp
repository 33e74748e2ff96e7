//===- AttentionBackward.cpp - Plans of the attention backward --*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBackward.h"
#include "Workspace.h"

#include <algorithm>

using namespace jfa::runtime;

/// Rows of o that the pre-kernel takes at a time, and of q the post-kernel.
static constexpr int64_t kRowTile = 128;
/// Queries that a CTA of attention_bwd_query can keep, and the keys of a step.
static constexpr int64_t kKeptQueries = 128, kKeyTile = 128;

//===----------------------------------------------------------------------===//
// Making a plan
//===----------------------------------------------------------------------===//

static void setParameter(KernelParameters &parameters, const char *name,
                         const char *value) {
  for (auto &parameter : parameters) {
    if (parameter.first == name) {
      parameter.second = value;
    }
  }
}

static void dropParameter(KernelParameters &parameters, const char *name) {
  parameters.erase(
      std::remove_if(parameters.begin(), parameters.end(),
                     [&](const auto &each) { return each.first == name; }),
      parameters.end());
}

Status AttentionBackwardPlan::loadMain(KernelParameters parameters) {
  const AttentionProblem &forward = problem.forward;
  AttentionKernel &kernel = launches[kMain].kernel;
  int64_t queries = forward.sequences.qLength;
  // Without queries there is nothing to keep, but dk and dv to write.
  bool mayKeep = forward.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY &&
                 forward.queryHeads == forward.kvHeads && queries > 0 &&
                 queries <= kKeptQueries && !problem.deterministic;
  if (mayKeep) {
    KernelParameters own = parameters;
    dropParameter(own, "JAGGED");
    dropParameter(own, "BROADCAST_QUERY");
    Status status = kernel.load(*driver, gpu, "attention_bwd_query", own);
    keepsQueries = !status.failed();
    if (status.code != JFA_STATUS_NO_KERNEL) {
      return status;
    }
  }
  parameters.emplace_back("DETERMINISTIC",
                          problem.deterministic ? "true" : "false");
  return kernel.load(*driver, gpu, "attention_bwd", parameters);
}

Status AttentionBackwardPlan::loadKernels() {
  KernelParameters main = getParameters(problem.forward);
  KernelParameters pre = main;
  dropParameter(pre, "CAUSAL");
  KernelParameters post = pre;
  // A shared block of queries is one sequence to the post-kernel.
  if (problem.forward.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY) {
    setParameter(post, "JAGGED", "false");
  }
  dropParameter(post, "BROADCAST_QUERY");
  Status status =
      launches[kPre].kernel.load(*driver, gpu, "attention_bwd_pre", pre);
  if (!status.failed()) {
    status = loadMain(main);
  }
  if (!status.failed()) {
    status =
        launches[kPost].kernel.load(*driver, gpu, "attention_bwd_post", post);
  }
  return status;
}

Status AttentionBackwardPlan::shapeMaps() {
  const AttentionProblem &forward = problem.forward;
  TensorLayouts tensors{};
  auto set = [&](Slot slot, const TensorLayout &layout) {
    tensors[size_t(slot)] = layout;
  };
  set(Slot::Q, forward.q);
  set(Slot::K, forward.k);
  set(Slot::V, forward.v);
  set(Slot::O, forward.o);
  set(Slot::DOut, problem.dOut);
  set(Slot::DQ, problem.dQ);
  set(Slot::DK, problem.dK);
  set(Slot::DV, problem.dV);
  constexpr auto kBytes = int64_t(sizeof(float));
  int64_t heads = forward.queryHeads, dim = forward.headDim;
  set(Slot::DQSums, {forward.q.rows, heads, dim, heads * dim, dim, kBytes});
  TensorLayout padded = {heads, paddedRows, 1, paddedRows, 1, kBytes};
  set(Slot::LseLog2, padded);
  set(Slot::Delta, padded);
  for (Launch &launch : launches) {
    Status status = launch.kernel.shapeMaps(forward.elementType, tensors);
    if (status.failed()) {
      return status;
    }
  }
  return success();
}

/// Deals tiles that all cost the same.
Status AttentionBackwardPlan::listRows(const Sequences &sequences,
                                       Launch &launch) {
  int64_t resident = 1;
  Status status = launch.kernel.countResident(*driver, gpu, resident);
  if (status.failed()) {
    return status;
  }
  WorkShape shape;
  shape.blockM = kRowTile;
  shape.blockN = 1;
  shape.causal = false;
  shape.heads = shape.sharedHeads = problem.forward.queryHeads;
  shape.bytesPerRow = 0;
  shape.workers = gpu.multiprocessors * resident;
  launch.qLength = int32_t(sequences.qLength);
  return makeWorkList(sequences, shape, launch.work);
}

Status AttentionBackwardPlan::listKeys(Launch &launch) {
  const AttentionProblem &forward = problem.forward;
  const Manifest &manifest = launch.kernel.getManifest();
  WorkShape shape;
  shape.rows = TileRows::Keys;
  shape.causal = forward.causal;
  shape.heads = shape.sharedHeads = forward.kvHeads;
  // Of q, do and the sums of dq, for each query head of the group; and as much
  // again, since a section's tiles have as many rows of k, v, dk and dv.
  constexpr auto kBytesPerElement =
      int64_t(2 * sizeof(uint16_t) + sizeof(float));
  shape.bytesPerRow = 2 * kBytesPerElement * forward.headDim *
                      (forward.queryHeads / forward.kvHeads);
  shape.workers = gpu.multiprocessors *
                  std::max<int64_t>(1, manifest.getInteger("CTAS_PER_SM", 1));
  shape.order = forward.workOrder;
  shape.overhead = 2;
  launch.qLength = int32_t(forward.sequences.qLength);
  if (keepsQueries) {
    shape.blockM = kKeyTile;
    return makeRunList(forward.sequences, shape, launch.work);
  }
  Status status = launch.kernel.getRows("BLOCK_N", shape.blockM);
  if (!status.failed()) {
    status = launch.kernel.getRows("BLOCK_M", shape.blockN);
  }
  return status.failed() ? status
                         : makeWorkList(forward.sequences, shape, launch.work);
}

Status AttentionBackwardPlan::listWork() {
  const AttentionProblem &forward = problem.forward;
  // Without keys all tiles of rows cost the same.
  Sequences rows = forward.sequences;
  rows.kOffsets = nullptr;
  rows.kLength = 0;
  Status status = listRows(rows, launches[kPre]);
  if (!status.failed()) {
    status = listKeys(launches[kMain]);
  }
  if (forward.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY) {
    rows.count = 1;
  }
  if (!status.failed()) {
    status = listRows(rows, launches[kPost]);
  }
  for (Launch &launch : launches) {
    launch.grid = std::max<int64_t>(0, int64_t(launch.work.starts.size()) - 1);
    // The kernels read one item ahead.
    launch.work.items.push_back({0, 0, 0, 0});
  }
  return status;
}

size_t AttentionBackwardPlan::getSumsBytes() const {
  const AttentionProblem &forward = problem.forward;
  return size_t(forward.q.rows) * size_t(forward.queryHeads) *
         size_t(forward.headDim) * sizeof(float);
}

void AttentionBackwardPlan::layOutWorkspace() {
  size_t size = 0;
  for (Launch &launch : launches) {
    launch.listOffset = size;
    size += getWorkListBytes(launch.work);
  }
  size_t perRow = sizeof(float) * size_t(problem.forward.queryHeads);
  sumsOffset = size;
  lseOffset = sumsOffset + alignWorkspace(getSumsBytes());
  deltaOffset = lseOffset + size_t(paddedRows) * perRow;
  workspaceSize = deltaOffset + size_t(paddedRows) * perRow;
}

Status AttentionBackwardPlan::create(const Driver &driver, const Gpu &gpu,
                                     AttentionBackwardPlan &plan) {
  AttentionProblem &forward = plan.problem.forward;
  plan.driver = &driver;
  plan.gpu = gpu;
  plan.paddedRows =
      (forward.o.rows / kPaddedRows + forward.sequences.count) * kPaddedRows;
  Status status = plan.loadKernels();
  if (!status.failed()) {
    status = plan.shapeMaps();
  }
  if (!status.failed()) {
    status = plan.listWork();
  }
  plan.layOutWorkspace();
  // The caller's arrays may be gone when the plan is used.
  forward.sequences.qOffsets = nullptr;
  forward.sequences.kOffsets = nullptr;
  return status;
}

Status AttentionBackwardPlan::create(
    const jfaAttentionBackwardDescription &description, int32_t device,
    AttentionBackwardPlan &plan) {
  Status status = checkGradients(description, plan.problem);
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

//===----------------------------------------------------------------------===//
// Using a plan
//===----------------------------------------------------------------------===//

size_t AttentionBackwardPlan::getWorkspaceSize() const { return workspaceSize; }

Status AttentionBackwardPlan::initializeWorkspace(void *workspace, size_t bytes,
                                                  Driver::Stream stream) const {
  Status status = checkWorkspace(workspace, bytes, workspaceSize);
  if (status.failed()) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  for (const Launch &launch : launches) {
    if (!status.failed() && launch.grid > 0) {
      status = copyWorkList(*driver, launch.work,
                            static_cast<char *>(workspace) + launch.listOffset,
                            stream);
    }
  }
  return status;
}

Status
AttentionBackwardPlan::execute(const jfaAttentionBackwardBuffers &buffers,
                               void *workspace, size_t bytes,
                               Driver::Stream stream) const {
  Status status = checkBuffers(problem, buffers);
  if (!status.failed()) {
    status = checkWorkspace(workspace, bytes, workspaceSize);
  }
  if (status.failed()) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  auto *base = static_cast<char *>(workspace);
  auto orElsewhere = [&](const void *tensor) {
    return tensor ? tensor : workspace;
  };
  AttentionArguments common;
  setArguments(problem.forward, buffers.forward, workspace, common);
  common.set(Slot::DOut, orElsewhere(buffers.dout));
  common.set(Slot::DQ, orElsewhere(buffers.dq));
  common.set(Slot::DK, orElsewhere(buffers.dk));
  common.set(Slot::DV, orElsewhere(buffers.dv));
  common.set(Slot::DQSums, base + sumsOffset);
  common.set(Slot::LseLog2, base + lseOffset);
  common.set(Slot::Delta, base + deltaOffset);
  common.set(Slot::RowsStride, paddedRows);
  // All that can be refused comes before the first launch.
  std::array<AttentionArguments, kNumLaunches> arguments;
  std::array<AttentionKernel::Prepared, kNumLaunches> prepared;
  for (size_t i = 0; i < kNumLaunches; ++i) {
    const Launch &launch = launches[i];
    arguments[i] = common;
    arguments[i].set(Slot::QLength, launch.qLength);
    arguments[i].set(Slot::Items, base + launch.listOffset);
    arguments[i].set(Slot::ItemStarts,
                     base + launch.listOffset + getItemBytes(launch.work));
    status = launch.grid > 0
                 ? launch.kernel.prepare(*driver, arguments[i], prepared[i])
                 : success();
    if (status.failed()) {
      return status;
    }
  }
  if (launches[kPre].grid == 0 && launches[kPost].grid > 0) {
    // A shared block of queries and no sequence: its gradient is 0.
    auto sums = reinterpret_cast<Driver::Pointer>(base + sumsOffset);
    status = driver->check(
        driver->setMemoryAsync(sums, 0, getSumsBytes(), stream), "set memory");
  }
  for (size_t i = 0; i < kNumLaunches && !status.failed(); ++i) {
    if (launches[i].grid > 0) {
      status = launches[i].kernel.launch(*driver, launches[i].grid, prepared[i],
                                         stream);
    }
  }
  return status;
}
