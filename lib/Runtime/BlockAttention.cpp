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
// Checks of descriptions
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

static jfaAttentionBackwardDescription
getJagged(const jfaBlockAttentionBackwardDescription &description) {
  jfaAttentionBackwardDescription jagged = {};
  jagged.struct_size = sizeof(jagged);
  jagged.forward = getJagged(description.forward);
  jagged.forward.o_row_stride = jagged.forward.o_head_stride = 0;
  jagged.dout_row_stride = description.dout_row_stride;
  jagged.dout_head_stride = description.dout_head_stride;
  jagged.dq_row_stride = description.dq_row_stride;
  jagged.dq_head_stride = description.dq_head_stride;
  jagged.dk_row_stride = description.dk_row_stride;
  jagged.dk_head_stride = description.dk_head_stride;
  jagged.dv_row_stride = description.dv_row_stride;
  jagged.dv_head_stride = description.dv_head_stride;
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

/// Checks what `check` does not know of, around it.
template <typename Description, typename Check>
static Status checkBlocks(const Description &description,
                          const jfaBlockAttentionForwardDescription &forward,
                          AttentionProblem &problem, BlockList &blocks,
                          Check check) {
  if (description.struct_size != sizeof(description)) {
    return invalid("struct_size", "to be ", sizeof(description), ", but got ",
                   description.struct_size);
  }
  if (!forward.offsets) {
    return invalid("offsets", "to be a pointer, but got null");
  }
  Status status = check(getJagged(description));
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
  status = makeBlockList(forward.offsets, forward.batch_size,
                         problem.queryHeads, blocks);
  // The caller's array may be gone when the plan is used.
  problem.sequences.qOffsets = nullptr;
  problem.sequences.kOffsets = nullptr;
  return status;
}

/// The heads of a block are read one after the other.
static void fetchHeadsTogether(TensorLayout &tensor) {
  tensor.fetchBytes = tensor.dim == 64 ? 256 : 128;
}

/// Checks which of the tensors like `q` are rotated by what.
static Status checkRotary(int32_t rotary, int64_t stride, const TensorLayout &q,
                          Rotation &rotation) {
  if (rotary < JFA_ROTARY_NONE || rotary > JFA_ROTARY_QKV) {
    return invalid("rotary",
                   "to be none (0), q and k (1) or q, k and v (2), but got ",
                   rotary);
  }
  rotation.rotary = static_cast<jfaRotary>(rotary);
  if (stride == 0) {
    stride = q.dim;
  }
  constexpr int64_t kMaxStride = int64_t(1) << 39;
  if (stride < q.dim || stride >= kMaxStride || stride % 8 != 0) {
    return invalid("sincos_row_stride", "to be 0 or a multiple of 8 in ", q.dim,
                   " .. ", kMaxStride - 1, " elements, but got ", stride);
  }
  rotation.sinCos = {q.rows, q.dim, 1, stride, 1};
  return success();
}

Status jfa::runtime::checkBlockAttention(
    const jfaBlockAttentionForwardDescription &description,
    AttentionProblem &problem, BlockList &blocks, Rotation &rotation) {
  Status status =
      checkBlocks(description, description, problem, blocks,
                  [&](const jfaAttentionForwardDescription &jagged) {
                    return checkAttention(jagged, problem);
                  });
  if (status.failed()) {
    return status;
  }
  for (TensorLayout *tensor : {&problem.q, &problem.k, &problem.v}) {
    fetchHeadsTogether(*tensor);
  }
  return checkRotary(description.rotary, description.sincos_row_stride,
                     problem.q, rotation);
}

Status jfa::runtime::checkBlockGradients(
    const jfaBlockAttentionBackwardDescription &description,
    BlockGradients &gradients, BlockList &blocks) {
  if (description.forward.struct_size != sizeof(description.forward)) {
    return invalid("forward.struct_size", "to be ", sizeof(description.forward),
                   ", but got ", description.forward.struct_size);
  }
  AttentionGradients &tensors = gradients.tensors;
  AttentionProblem &forward = tensors.forward;
  Status status =
      checkBlocks(description, description.forward, forward, blocks,
                  [&](const jfaAttentionBackwardDescription &jagged) {
                    return checkGradients(jagged, tensors);
                  });
  if (status.failed()) {
    return status;
  }
  for (TensorLayout *tensor :
       {&forward.q, &forward.k, &forward.v, &tensors.dOut}) {
    fetchHeadsTogether(*tensor);
  }
  const jfaBlockAttentionForwardDescription &rotates = description.forward;
  gradients.rotatesInputs = rotates.rotary != JFA_ROTARY_NONE;
  if (gradients.rotatesInputs && description.rotary != JFA_ROTARY_NONE) {
    return invalid("rotary",
                   "to be none (0) where the forward rotates, but got ",
                   description.rotary);
  }
  return checkRotary(gradients.rotatesInputs ? rotates.rotary
                                             : description.rotary,
                     rotates.sincos_row_stride, forward.q, gradients.rotation);
}

//===----------------------------------------------------------------------===//
// Checks of buffers
//===----------------------------------------------------------------------===//

/// A pointer by its name.
using NamedPointer = std::pair<const char *, const void *>;

template <size_t N>
static Status checkPointers(const NamedPointer (&pointers)[N], bool wanted) {
  for (auto [name, pointer] : pointers) {
    if (!pointer && wanted) {
      return invalid(name, "to be a device pointer, but got null");
    }
    if (reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
      return invalid(name, "to be aligned to 16 bytes, but got ", pointer);
    }
  }
  return success();
}

/// `sincos` is there just if something is rotated, in any rows.
static Status checkAngles(const Rotation &rotation, const void *sincos,
                          bool any) {
  bool isRotated = rotation.rotary != JFA_ROTARY_NONE;
  if (!isRotated && sincos) {
    return invalid("sincos", "to be null where nothing is rotated, but got ",
                   sincos);
  }
  const NamedPointer angles[] = {{"sincos", sincos}};
  return checkPointers(angles, any && isRotated);
}

Status jfa::runtime::checkBlockBuffers(
    const AttentionProblem &problem, const Rotation &rotation,
    const jfaBlockAttentionForwardBuffers &buffers) {
  if (buffers.struct_size != sizeof(buffers)) {
    return invalid("struct_size", "to be ", sizeof(buffers), ", but got ",
                   buffers.struct_size);
  }
  const NamedPointer pointers[] = {
      {"q", buffers.q}, {"k", buffers.k}, {"v", buffers.v}, {"o", buffers.o}};
  bool any = problem.q.rows > 0;
  Status status = checkPointers(pointers, any);
  return status.failed() ? status : checkAngles(rotation, buffers.sincos, any);
}

Status jfa::runtime::checkBlockBuffers(
    const BlockGradients &gradients,
    const jfaBlockAttentionBackwardBuffers &buffers) {
  if (buffers.struct_size != sizeof(buffers)) {
    return invalid("struct_size", "to be ", sizeof(buffers), ", but got ",
                   buffers.struct_size);
  }
  bool any = gradients.tensors.forward.q.rows > 0;
  const NamedPointer pointers[] = {{"q", buffers.q},   {"k", buffers.k},
                                   {"v", buffers.v},   {"dout", buffers.dout},
                                   {"dq", buffers.dq}, {"dk", buffers.dk},
                                   {"dv", buffers.dv}};
  Status status = checkPointers(pointers, any);
  return status.failed() ? status
                         : checkAngles(gradients.rotation, buffers.sincos, any);
}

//===----------------------------------------------------------------------===//
// What plans share
//===----------------------------------------------------------------------===//

/// A kernel may take several blocks of a sequence for one: BLOCK_M rows.
static Status checkBlockRows(const Manifest &manifest, int64_t rows) {
  if (rows >= kBlockRows && rows <= 256 && rows % kBlockRows == 0) {
    return success();
  }
  return failure(JFA_STATUS_INVALID_BUNDLE, "expected BLOCK_M of ",
                 manifest.entry, " to be a multiple of ", kBlockRows,
                 " up to 256, but got ", rows);
}

Status BlockPlan::load(int32_t device, const char *entry,
                       const jfaBlockAttentionForwardDescription &description,
                       const AttentionProblem &problem,
                       const KernelParameters &parameters,
                       const TensorLayouts &tensors) {
  Status status;
  driver = Driver::get(status);
  if (!driver) {
    return status;
  }
  status = getGpu(*driver, device, gpu);
  if (status.failed()) {
    return status;
  }
  status = kernel.load(*driver, gpu, entry, parameters);
  if (status.failed()) {
    return status;
  }
  const Manifest &manifest = kernel.getManifest();
  int64_t rows = manifest.getInteger("BLOCK_M", kBlockRows);
  status = checkBlockRows(manifest, rows);
  if (!status.failed() && rows != kBlockRows) {
    status = makeBlockList(description.offsets, description.batch_size,
                           problem.queryHeads, blocks, rows);
  }
  if (status.failed()) {
    return status;
  }
  heads = problem.queryHeads;
  // No CTA is without an item.
  grid = std::min<int64_t>(getNumItems(), gpu.multiprocessors);
  return kernel.shapeMaps(problem.elementType, tensors);
}

size_t BlockPlan::getWorkspaceSize() const {
  return alignWorkspace(blocks.starts.size() * sizeof(int32_t));
}

Status BlockPlan::initializeWorkspace(void *workspace, size_t bytes,
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

Status BlockPlan::launch(AttentionArguments &arguments, const void *workspace,
                         size_t bytes, Driver::Stream stream) const {
  Status status = checkWorkspace(workspace, bytes, getWorkspaceSize());
  if (status.failed() || grid == 0) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  arguments.set(Slot::BlockStarts, workspace);
  arguments.set(Slot::NumSequences, int32_t(blocks.numSequences));
  arguments.set(Slot::NumItems, int32_t(getNumItems()));
  arguments.set(Slot::Heads, heads);
  AttentionKernel::Prepared prepared;
  status = kernel.prepare(*driver, arguments, prepared);
  return status.failed() ? status
                         : kernel.launch(*driver, grid, prepared, stream);
}

/// Which parameters tell block attention's kernels for one problem from those
/// for others: masks and modes are not among them.
static KernelParameters getBlockParameters(const AttentionProblem &problem,
                                           const Rotation &rotation) {
  KernelParameters parameters = getParameters(problem);
  parameters.erase(std::remove_if(parameters.begin(), parameters.end(),
                                  [](const auto &parameter) {
                                    return parameter.first != "HEAD_DIM" &&
                                           parameter.first != "ELEMENT";
                                  }),
                   parameters.end());
  parameters.emplace_back("ROTARY", std::to_string(rotation.rotary));
  return parameters;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

Status BlockAttentionForwardPlan::create(
    const jfaBlockAttentionForwardDescription &description, int32_t device,
    BlockAttentionForwardPlan &plan) {
  AttentionProblem &problem = plan.problem;
  Status status =
      checkBlockAttention(description, problem, plan.blocks, plan.rotation);
  if (status.failed()) {
    return status;
  }
  TensorLayouts tensors{problem.q, problem.k, problem.v, problem.o};
  tensors[size_t(Slot::SinCos)] = plan.rotation.sinCos;
  return plan.load(device, "block_attention_fwd", description, problem,
                   getBlockParameters(problem, plan.rotation), tensors);
}

Status BlockAttentionForwardPlan::execute(
    const jfaBlockAttentionForwardBuffers &buffers, const void *workspace,
    size_t bytes, Driver::Stream stream) const {
  Status status = checkBlockBuffers(problem, rotation, buffers);
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
  // A kernel that rotates nothing has a map of it all the same.
  arguments.set(Slot::SinCos, buffers.sincos ? buffers.sincos : buffers.q);
  return launch(arguments, workspace, bytes, stream);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

Status BlockAttentionBackwardPlan::create(
    const jfaBlockAttentionBackwardDescription &description, int32_t device,
    BlockAttentionBackwardPlan &plan) {
  BlockGradients &problem = plan.problem;
  Status status = checkBlockGradients(description, problem, plan.blocks);
  if (status.failed()) {
    return status;
  }
  const AttentionProblem &forward = problem.tensors.forward;
  KernelParameters parameters = getBlockParameters(forward, problem.rotation);
  parameters.emplace_back("ROTATE_INPUTS",
                          problem.rotatesInputs ? "true" : "false");
  TensorLayouts tensors{};
  auto set = [&](Slot slot, const TensorLayout &layout) {
    tensors[size_t(slot)] = layout;
  };
  set(Slot::Q, forward.q);
  set(Slot::K, forward.k);
  set(Slot::V, forward.v);
  set(Slot::DOut, problem.tensors.dOut);
  set(Slot::DQ, problem.tensors.dQ);
  set(Slot::DK, problem.tensors.dK);
  set(Slot::DV, problem.tensors.dV);
  set(Slot::SinCos, problem.rotation.sinCos);
  return plan.load(device, "block_attention_bwd", description.forward, forward,
                   parameters, tensors);
}

Status BlockAttentionBackwardPlan::execute(
    const jfaBlockAttentionBackwardBuffers &buffers, const void *workspace,
    size_t bytes, Driver::Stream stream) const {
  Status status = checkBlockBuffers(problem, buffers);
  if (status.failed()) {
    return status;
  }
  jfaAttentionForwardBuffers tensors = {};
  tensors.q = buffers.q;
  tensors.k = buffers.k;
  tensors.v = buffers.v;
  AttentionArguments arguments;
  setArguments(problem.tensors.forward, tensors, /*elsewhere=*/nullptr,
               arguments);
  arguments.set(Slot::DOut, buffers.dout);
  arguments.set(Slot::DQ, buffers.dq);
  arguments.set(Slot::DK, buffers.dk);
  arguments.set(Slot::DV, buffers.dv);
  // A kernel that rotates nothing has a map of it all the same.
  arguments.set(Slot::SinCos, buffers.sincos ? buffers.sincos : buffers.q);
  return launch(arguments, workspace, bytes, stream);
}
