//===- BlockAttention.cpp - Plans of block attention ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockAttention.h"
#include "Workspace.h"

#include <algorithm>

using namespace jfa::runtime;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// The same heads, sequences and tensors as a jagged attention.
static jfaAttentionForwardDescription
getJagged(const jfaBlockAttentionForwardDescription &description) {
  jfaAttentionForwardDescription jagged = {};
  jagged.struct_size = sizeof(jagged);
  jagged.element_type = description.element_type;
  jagged.mode = JFA_ATTENTION_MODE_JAGGED;
  jagged.head_dim = description.head_dim;
  jagged.num_query_heads = description.num_query_heads;
  jagged.num_kv_heads = description.num_kv_heads;
  jagged.scale = description.scale;
  jagged.batch_size = description.batch_size;
  jagged.q_offsets = jagged.k_offsets = description.offsets;
  jagged.q_row_stride = description.q_row_stride;
  jagged.q_head_stride = description.q_head_stride;
  jagged.k_row_stride = description.k_row_stride;
  jagged.k_head_stride = description.k_head_stride;
  jagged.v_row_stride = description.v_row_stride;
  jagged.v_head_stride = description.v_head_stride;
  jagged.o_row_stride = description.o_row_stride;
  jagged.o_head_stride = description.o_head_stride;
  return jagged;
}

/// A jagged attention has offsets of queries and of keys, here they are one.
static Status renameOffsets(Status status) {
  const std::string from = "q_offsets", to = "offsets";
  if (status.argument != from) {
    return status;
  }
  status.argument = to;
  for (size_t at = 0;
       (at = status.message.find(from, at)) != std::string::npos;) {
    status.message.replace(at, from.size(), to);
  }
  return status;
}

Status jfa::runtime::checkBlockAttention(
    const jfaBlockAttentionForwardDescription &description,
    AttentionProblem &problem, BlockList &blocks) {
  if (description.struct_size != sizeof(description)) {
    return invalid("struct_size", "to be ", sizeof(description), ", but got ",
                   description.struct_size);
  }
  if (!description.offsets) {
    return invalid("offsets", "to be a pointer, but got null");
  }
  Status status = checkAttention(getJagged(description), problem);
  if (status.failed()) {
    return renameOffsets(std::move(status));
  }
  if (problem.kvHeads != problem.queryHeads) {
    status = invalid("num_kv_heads",
                     "to be 'num_query_heads' = ", problem.queryHeads,
                     " in block attention, but got ", problem.kvHeads);
    status.code = JFA_STATUS_UNSUPPORTED;
    return status;
  }
  // The heads of a block are read one after the other.
  for (TensorLayout *tensor : {&problem.q, &problem.k, &problem.v}) {
    tensor->fetchBytes = tensor->dim == 64 ? 256 : 128;
  }
  return makeBlockList(description.offsets, description.batch_size,
                       problem.queryHeads, blocks);
}

Status jfa::runtime::checkBlockBuffers(
    const AttentionProblem &problem,
    const jfaBlockAttentionForwardBuffers &buffers) {
  if (buffers.struct_size != sizeof(buffers)) {
    return invalid("struct_size", "to be ", sizeof(buffers), ", but got ",
                   buffers.struct_size);
  }
  const std::pair<const char *, const void *> pointers[] = {
      {"q", buffers.q}, {"k", buffers.k}, {"v", buffers.v}, {"o", buffers.o}};
  for (auto [name, pointer] : pointers) {
    if (!pointer && problem.o.rows > 0) {
      return invalid(name, "to be a device pointer, but got null");
    }
    if (reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
      return invalid(name, "to be aligned to 16 bytes, but got ", pointer);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

Status BlockAttentionForwardPlan::create(
    const jfaBlockAttentionForwardDescription &description, int32_t device,
    BlockAttentionForwardPlan &plan) {
  AttentionProblem &problem = plan.problem;
  Status status = checkBlockAttention(description, problem, plan.blocks);
  if (status.failed()) {
    return status;
  }
  // The caller's array may be gone when the plan is used.
  problem.sequences.qOffsets = nullptr;
  problem.sequences.kOffsets = nullptr;
  plan.driver = Driver::get(status);
  if (!plan.driver) {
    return status;
  }
  status = getGpu(*plan.driver, device, plan.gpu);
  if (status.failed()) {
    return status;
  }
  KernelParameters parameters = getParameters(problem);
  // What computes and in which type; masks and modes are the other kernels'.
  parameters.resize(2);
  status = plan.kernel.load(*plan.driver, plan.gpu, "block_attention_fwd",
                            parameters);
  if (status.failed()) {
    return status;
  }
  // A kernel without idle CTAs: each has at least one item.
  plan.grid = std::min<int64_t>(plan.getNumItems(), plan.gpu.multiprocessors);
  return plan.kernel.shapeMaps(problem.elementType,
                               {problem.q, problem.k, problem.v, problem.o});
}

size_t BlockAttentionForwardPlan::getWorkspaceSize() const {
  return alignWorkspace(blocks.starts.size() * sizeof(int32_t));
}

Status
BlockAttentionForwardPlan::initializeWorkspace(void *workspace, size_t bytes,
                                               Driver::Stream stream) const {
  Status status = checkWorkspace(workspace, bytes, getWorkspaceSize());
  if (status.failed() || grid == 0) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  return driver->check(
      driver->copyToDeviceAsync(reinterpret_cast<Driver::Pointer>(workspace),
                                blocks.starts.data(),
                                blocks.starts.size() * sizeof(int32_t), stream),
      "copy where sequences begin");
}

Status BlockAttentionForwardPlan::execute(
    const jfaBlockAttentionForwardBuffers &buffers, const void *workspace,
    size_t bytes, Driver::Stream stream) const {
  Status status = checkBlockBuffers(problem, buffers);
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
  jfaAttentionForwardBuffers tensors = {};
  tensors.q = buffers.q;
  tensors.k = buffers.k;
  tensors.v = buffers.v;
  tensors.o = buffers.o;
  AttentionArguments arguments;
  setArguments(problem, tensors, /*elsewhere=*/nullptr, arguments);
  arguments.set(Slot::BlockStarts, workspace);
  arguments.set(Slot::NumSequences, int32_t(blocks.numSequences));
  arguments.set(Slot::NumItems, int32_t(getNumItems()));
  arguments.set(Slot::Heads, problem.queryHeads);
  AttentionKernel::Prepared prepared;
  status = kernel.prepare(*driver, arguments, prepared);
  return status.failed() ? status
                         : kernel.launch(*driver, grid, prepared, stream);
}
