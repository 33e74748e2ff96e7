//===- AttentionForward.cpp - Plans of the attention forward ----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionForward.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace jfa::runtime;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
struct SlotDescription {
  const char *name;
  ArgumentKind kind;
  /// Of scalars and pointers; q, k, v and o have the problem's own type.
  ElementType element;
};
} // namespace

/// In the order of Slot.
static constexpr SlotDescription kSlots[kNumSlots] = {
    {"q", ArgumentKind::TensorMap, ElementType::BF16},
    {"k", ArgumentKind::TensorMap, ElementType::BF16},
    {"v", ArgumentKind::TensorMap, ElementType::BF16},
    {"o", ArgumentKind::TensorMap, ElementType::BF16},
    {"lse", ArgumentKind::Pointer, ElementType::F32},
    {"q_offsets", ArgumentKind::Pointer, ElementType::I32},
    {"k_offsets", ArgumentKind::Pointer, ElementType::I32},
    {"items", ArgumentKind::Pointer, ElementType::I32},
    {"item_starts", ArgumentKind::Pointer, ElementType::I32},
    {"heads_per_group", ArgumentKind::Scalar, ElementType::I32},
    {"q_length", ArgumentKind::Scalar, ElementType::I32},
    {"k_length", ArgumentKind::Scalar, ElementType::I32},
    {"lse_stride", ArgumentKind::Scalar, ElementType::I64},
    {"scale_log2", ArgumentKind::Scalar, ElementType::F32},
};

Status jfa::runtime::bindArguments(const Manifest &manifest,
                                   std::vector<Slot> &slots) {
  slots.clear();
  for (const Argument &argument : manifest.arguments) {
    const SlotDescription *slot =
        std::find_if(std::begin(kSlots), std::end(kSlots),
                     [&](const auto &s) { return argument.name == s.name; });
    if (slot == std::end(kSlots)) {
      return failure(JFA_STATUS_INVALID_BUNDLE, "expected the arguments of ",
                     manifest.entry, " to be known to this runtime, but got '",
                     argument.name, "'");
    }
    bool sameType =
        argument.kind == slot->kind && (slot->kind == ArgumentKind::TensorMap ||
                                        argument.element == slot->element);
    if (!sameType) {
      return failure(JFA_STATUS_INVALID_BUNDLE, "expected the argument '",
                     argument.name, "' of ", manifest.entry,
                     " to have the kind and type that this runtime passes");
    }
    slots.push_back(static_cast<Slot>(slot - kSlots));
  }
  // The launch passes one pointer for each, from an array of this size.
  if (slots.size() > kNumSlots) {
    return failure(JFA_STATUS_INVALID_BUNDLE, "expected ", manifest.entry,
                   " to have at most ", kNumSlots, " arguments, but got ",
                   slots.size());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Making a plan
//===----------------------------------------------------------------------===//

static const char *getElementName(jfaElementType type) {
  return type == JFA_ELEMENT_TYPE_BF16 ? "bf16" : "f16";
}

static const char *getBoolName(bool value) { return value ? "true" : "false"; }

Status AttentionForwardPlan::chooseKernel() {
  Status status;
  KernelRegistry &registry = KernelRegistry::get(status);
  if (status.failed()) {
    return status;
  }
  std::string headDim = std::to_string(problem.headDim);
  std::string element = getElementName(problem.elementType);
  std::string causal = getBoolName(problem.causal);
  std::string jagged = getBoolName(problem.mode != JFA_ATTENTION_MODE_DENSE);
  std::string broadcast =
      getBoolName(problem.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY);
  kernel = registry.find([&](const Manifest &manifest) {
    return manifest.entry == "attention_fwd" && runsOn(manifest.arch, gpu) &&
           manifest.getParameter("HEAD_DIM", "") == headDim &&
           manifest.getParameter("ELEMENT", "") == element &&
           manifest.getParameter("CAUSAL", "") == causal &&
           manifest.getParameter("JAGGED", "false") == jagged &&
           manifest.getParameter("BROADCAST_QUERY", "false") == broadcast;
  });
  if (!kernel) {
    return failure(
        JFA_STATUS_NO_KERNEL, "expected a kernel attention_fwd for sm_",
        gpu.computeMajor, gpu.computeMinor, " with HEAD_DIM=", headDim,
        " ELEMENT=", element, " CAUSAL=", causal, " JAGGED=", jagged,
        " BROADCAST_QUERY=", broadcast, " to be embedded or loaded, but ",
        registry.getCount() == 0
            ? std::string("this library was built without kernels, "
                          "and none was loaded")
            : concat("none of the ", registry.getCount(), " kernels is"));
  }
  const Manifest &manifest = kernel->getManifest();
  if (manifest.cluster != std::array<int32_t, 3>{1, 1, 1}) {
    return failure(JFA_STATUS_UNSUPPORTED, "expected ", manifest.entry,
                   " to launch without a cluster");
  }
  status = bindArguments(manifest, slots);
  return status.failed() ? status : kernel->load(*driver, gpu, function);
}

Status AttentionForwardPlan::shapeMaps() {
  const TensorLayout *tensors[4] = {&problem.q, &problem.k, &problem.v,
                                    &problem.o};
  const Manifest &manifest = kernel->getManifest();
  ElementType element = problem.elementType == JFA_ELEMENT_TYPE_BF16
                            ? ElementType::BF16
                            : ElementType::F16;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Argument &argument = manifest.arguments[i];
    if (argument.kind != ArgumentKind::TensorMap) {
      continue;
    }
    if (argument.element != element) {
      return failure(
          JFA_STATUS_INVALID_BUNDLE, "expected the tensor map '", argument.name,
          "' to agree with ELEMENT=", getElementName(problem.elementType));
    }
    auto which = static_cast<size_t>(slots[i]);
    Status status = getTensorMapShape(argument.recipe, *tensors[which],
                                      argument.name, maps[which]);
    if (status.failed()) {
      return status;
    }
  }
  return success();
}

Status AttentionForwardPlan::chooseGrid(int64_t blockM) {
  const Manifest &manifest = kernel->getManifest();
  int64_t perMultiprocessor = manifest.getInteger("CTAS_PER_SM", 1);
  WorkShape shape;
  shape.blockM = blockM;
  shape.blockN = std::max<int64_t>(1, manifest.getInteger("BLOCK_N", 1));
  shape.causal = problem.causal;
  shape.queryHeads = problem.queryHeads;
  shape.kvHeads = problem.kvHeads;
  shape.bytesPerKey = 2 * problem.headDim * int64_t(sizeof(uint16_t));
  shape.workers = gpu.multiprocessors * std::max<int64_t>(1, perMultiprocessor);
  shape.order = problem.workOrder;
  Status status = makeWorkList(problem.sequences, shape, work);
  if (status.failed()) {
    return status;
  }
  grid = int64_t(work.starts.size()) - 1;
  // The kernel reads one item ahead.
  work.items.push_back({0, 0, 0, 0});
  return success();
}

Status
AttentionForwardPlan::create(const jfaAttentionForwardDescription &description,
                             int32_t device, AttentionForwardPlan &plan) {
  Status status = checkAttention(description, plan.problem);
  if (status.failed()) {
    return status;
  }
  plan.driver = Driver::get(status);
  if (!plan.driver) {
    return status;
  }
  status = getGpu(*plan.driver, device, plan.gpu);
  if (status.failed()) {
    return status;
  }
  status = plan.chooseKernel();
  if (status.failed()) {
    return status;
  }
  int64_t blockM = plan.kernel->getManifest().getInteger("BLOCK_M", 0);
  if (blockM < 1 || blockM > kSegmentBound) {
    return failure(JFA_STATUS_INVALID_BUNDLE,
                   "expected the kernel's parameter 'BLOCK_M' to be positive");
  }
  status = plan.shapeMaps();
  if (status.failed()) {
    return status;
  }
  status = plan.chooseGrid(blockM);
  // The caller's arrays may be gone when the plan is used.
  plan.problem.sequences.qOffsets = nullptr;
  plan.problem.sequences.kOffsets = nullptr;
  return status;
}

//===----------------------------------------------------------------------===//
// Using a plan
//===----------------------------------------------------------------------===//

size_t AttentionForwardPlan::getItemBytes() const {
  return work.items.size() * sizeof(WorkItem);
}

size_t AttentionForwardPlan::getWorkspaceSize() const {
  return getItemBytes() + (work.starts.size() * sizeof(int32_t) + 15) / 16 * 16;
}

Status AttentionForwardPlan::checkWorkspace(const void *workspace,
                                            size_t bytes) const {
  if (bytes < getWorkspaceSize()) {
    return invalid("workspace_bytes", "to be at least ", getWorkspaceSize(),
                   ", but got ", bytes);
  }
  if (!workspace && getWorkspaceSize() > 0) {
    return invalid("workspace", "to be a device pointer, but got null");
  }
  if (reinterpret_cast<uintptr_t>(workspace) % 16 != 0) {
    return invalid("workspace", "to be aligned to 16 bytes, but got ",
                   workspace);
  }
  return success();
}

Status AttentionForwardPlan::initializeWorkspace(void *workspace, size_t bytes,
                                                 Driver::Stream stream) const {
  Status status = checkWorkspace(workspace, bytes);
  if (status.failed() || grid == 0) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  auto address = reinterpret_cast<Driver::Pointer>(workspace);
  status = driver->check(driver->copyToDeviceAsync(address, work.items.data(),
                                                   getItemBytes(), stream),
                         "copy the work list");
  if (status.failed()) {
    return status;
  }
  return driver->check(
      driver->copyToDeviceAsync(address + getItemBytes(), work.starts.data(),
                                work.starts.size() * sizeof(int32_t), stream),
      "copy the work list");
}

Status AttentionForwardPlan::execute(const jfaAttentionForwardBuffers &buffers,
                                     const void *workspace, size_t bytes,
                                     Driver::Stream stream) const {
  Status status = checkBuffers(problem, buffers);
  if (status.failed()) {
    return status;
  }
  status = checkWorkspace(workspace, bytes);
  if (status.failed() || grid == 0) {
    return status;
  }
  ContextGuard guard(*driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  const Manifest &manifest = kernel->getManifest();
  // A tensor without rows may have no address, but its map needs one; no box of
  // it is ever inside.
  const void *bases[4] = {buffers.q, buffers.k ? buffers.k : buffers.q,
                          buffers.v ? buffers.v : buffers.q, buffers.o};
  TensorMap tensorMaps[4];
  for (size_t i = 0; i < slots.size(); ++i) {
    auto which = static_cast<size_t>(slots[i]);
    if (which >= 4) {
      continue;
    }
    status = encodeTensorMap(*driver, maps[which], manifest.arguments[i],
                             bases[which], tensorMaps[which]);
    if (status.failed()) {
      return status;
    }
  }
  const void *starts = static_cast<const char *>(workspace) + getItemBytes();
  const void *pointers[5] = {buffers.lse, buffers.q_offsets, buffers.k_offsets,
                             workspace, starts};
  int32_t headsPerGroup = problem.queryHeads / problem.kvHeads;
  auto qLength = static_cast<int32_t>(problem.sequences.qLength);
  auto kLength = static_cast<int32_t>(problem.sequences.kLength);
  int64_t lseStride = problem.lseHeadStride;
  auto scaleLog2 = static_cast<float>(problem.scale * 1.4426950408889634);
  // In the order of Slot.
  const void *values[kNumSlots] = {
      &tensorMaps[0], &tensorMaps[1], &tensorMaps[2], &tensorMaps[3],
      &pointers[0],   &pointers[1],   &pointers[2],   &pointers[3],
      &pointers[4],   &headsPerGroup, &qLength,       &kLength,
      &lseStride,     &scaleLog2};
  void *arguments[kNumSlots];
  for (size_t i = 0; i < slots.size(); ++i) {
    arguments[i] = const_cast<void *>(values[static_cast<size_t>(slots[i])]);
  }
  auto block = [&](size_t i) { return unsigned(manifest.block[i]); };
  return driver->check(
      driver->launchKernel(function, unsigned(grid), 1, 1, block(0), block(1),
                           block(2), unsigned(manifest.sharedMemoryBytes),
                           stream, arguments, nullptr),
      "launch attention_fwd");
}
