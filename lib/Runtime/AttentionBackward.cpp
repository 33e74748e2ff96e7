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
static constexpr int64_t kPreRows = 128, kPostRows = 64;
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

bool AttentionBackwardPlan::mayHaveCopies() const {
  return problem.deterministic &&
         problem.forward.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY;
}

Status AttentionBackwardPlan::loadMain(KernelParameters parameters) {
  const AttentionProblem &forward = problem.forward;
  AttentionKernel &kernel = launches[kMain].kernel;
  int64_t queries = forward.sequences.qLength;
  // Without queries there is nothing to keep, but dk and dv to write.
  bool mayKeep = forward.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY &&
                 forward.queryHeads == forward.kvHeads && queries > 0 &&
                 queries <= kKeptQueries;
  parameters.emplace_back("DETERMINISTIC",
                          problem.deterministic ? "true" : "false");
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
  post.emplace_back("COPIES", mayHaveCopies() ? "true" : "false");
  Status status =
      launches[kPre].kernel.load(*driver, gpu, "attention_bwd_pre", pre);
  if (!status.failed()) {
    status = loadMain(main);
  }
  if (!status.failed()) {
    // As the main kernel leaves the sums of dq.
    post.emplace_back("FRAGMENTS",
                      launches[kMain].kernel.getManifest().getParameter(
                          "FRAGMENTS", "false"));
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
  int64_t rows = copies * forward.q.rows;
  // Of sequences of their own rows the pieces of a head lie together: additions
  // to many short ones are a little faster so, and nothing else reads the sums.
  bool isByHeads = forward.sequences.qOffsets != nullptr;
  set(Slot::DQSums, {rows, heads, dim, isByHeads ? dim : heads * dim,
                     isByHeads ? rows * dim : dim, kBytes});
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
                                       int64_t rowsOfTile, Launch &launch) {
  int64_t resident = 1;
  Status status = launch.kernel.countResident(*driver, gpu, resident);
  if (status.failed()) {
    return status;
  }
  WorkShape shape;
  shape.blockM = rowsOfTile;
  shape.blockN = 1;
  shape.causal = false;
  shape.heads = shape.sharedHeads = problem.forward.queryHeads;
  shape.bytesPerRow = 0;
  shape.workers = gpu.multiprocessors * resident;
  launch.qLength = int32_t(sequences.qLength);
  return makeWorkList(sequences, shape, launch.work);
}

/// So many that tiles that add to the same sums of shared queries, kStepsApart
/// steps one after the other, need not wait for each other.
int64_t AttentionBackwardPlan::chooseCopies(int64_t workers) const {
  constexpr int64_t kStepsApart = 3, kOverhead = 2;
  const AttentionProblem &forward = problem.forward;
  int64_t group = forward.queryHeads / forward.kvHeads;
  int64_t steps = (forward.sequences.qLength + blockM - 1) / blockM * group;
  int64_t ofHead = (workers + forward.kvHeads - 1) / forward.kvHeads;
  int64_t perTile = steps + kOverhead;
  int64_t wanted = (ofHead * kStepsApart + perTile - 1) / perTile;
  return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, ofHead));
}

Status AttentionBackwardPlan::listKeys(Launch &launch) {
  const AttentionProblem &forward = problem.forward;
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
  Status status = launch.kernel.countWorkers(*driver, gpu, shape.workers);
  if (status.failed()) {
    return status;
  }
  shape.order = forward.workOrder;
  shape.overhead = 2;
  shape.inOrder = problem.deterministic;
  launch.qLength = int32_t(forward.sequences.qLength);
  if (keepsQueries) {
    shape.blockM = kKeyTile;
    status = makeRunList(forward.sequences, shape, launch.work);
    if (mayHaveCopies() && !launch.work.tiles.empty()) {
      // CTAs keep to one head, and have sums of their own.
      copies = int64_t(launch.work.tiles.size()) / forward.kvHeads;
    }
    return status;
  }
  status = launch.kernel.getRows("BLOCK_N", shape.blockM);
  // A cluster takes the tiles of its CTAs as one.
  shape.blockM *= launch.kernel.getClusterSize();
  if (!status.failed()) {
    status = launch.kernel.getRows("BLOCK_M", shape.blockN);
  }
  if (status.failed()) {
    return status;
  }
  blockM = shape.blockN;
  shape.inOrder &= !mayHaveCopies();
  status = makeWorkList(forward.sequences, shape, launch.work);
  if (!status.failed() && mayHaveCopies()) {
    numberTiles(forward.kvHeads, launch.work);
    copies = chooseCopies(int64_t(launch.work.tiles.size()));
  }
  return status;
}

Status AttentionBackwardPlan::listWork() {
  const AttentionProblem &forward = problem.forward;
  // Without keys all tiles of rows cost the same.
  Sequences rows = forward.sequences;
  rows.kOffsets = nullptr;
  rows.kLength = 0;
  Status status = listRows(rows, kPreRows, launches[kPre]);
  if (!status.failed()) {
    status = listKeys(launches[kMain]);
  }
  if (forward.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY) {
    rows.count = 1;
  }
  if (!status.failed()) {
    status = listRows(rows, kPostRows, launches[kPost]);
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
  return size_t(copies) * size_t(forward.q.rows) * size_t(forward.queryHeads) *
         size_t(forward.headDim) * sizeof(float);
}

size_t AttentionBackwardPlan::getTurnsBytes() const {
  if (!launches[kMain].kernel.takes(Slot::Turns) || !problem.deterministic) {
    return 0;
  }
  int64_t queries = problem.forward.sequences.qLength;
  int64_t blocks = mayHaveCopies() ? copies * ((queries + blockM - 1) / blockM)
                                   : paddedRows / blockM;
  // Two pieces for each block of queries.
  return 2 * sizeof(int32_t) * size_t(blocks) *
         size_t(problem.forward.queryHeads);
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
  turnsOffset = deltaOffset + size_t(paddedRows) * perRow;
  workspaceSize = turnsOffset + alignWorkspace(getTurnsBytes());
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
    status = plan.listWork();
  }
  if (!status.failed()) {
    status = plan.shapeMaps();
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

/// Clears what no kernel does before it is added to.
Status AttentionBackwardPlan::clearWorkspace(char *base,
                                             Driver::Stream stream) const {
  auto clear = [&](size_t offset, size_t size) {
    auto begin = reinterpret_cast<Driver::Pointer>(base + offset);
    return size == 0
               ? success()
               : driver->check(driver->setMemoryAsync(begin, 0, size, stream),
                               "set memory");
  };
  // A shared block of queries and no sequence: its gradient is 0. Of several
  // sums attention_bwd_pre clears the first; attention_bwd_query stores them.
  bool isAlone = launches[kPre].grid == 0 && launches[kPost].grid > 0;
  if (isAlone || (copies > 1 && !keepsQueries)) {
    Status status = clear(sumsOffset, getSumsBytes());
    if (status.failed()) {
      return status;
    }
  }
  return clear(turnsOffset, launches[kMain].grid > 0 ? getTurnsBytes() : 0);
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
  common.set(Slot::Heads, problem.forward.queryHeads);
  common.set(Slot::Turns, base + turnsOffset);
  common.set(Slot::DQCopies, int32_t(copies));
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
  status = clearWorkspace(base, stream);
  bool isDependent = false;
  for (size_t i = 0; i < kNumLaunches && !status.failed(); ++i) {
    if (launches[i].grid > 0) {
      status = launches[i].kernel.launch(*driver, launches[i].grid, prepared[i],
                                         stream, isDependent);
      isDependent = true;
    }
  }
  return status;
}
