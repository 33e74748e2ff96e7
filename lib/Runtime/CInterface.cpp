//===- CInterface.cpp - The C interface of the runtime ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBackward.h"
#include "AttentionForward.h"
#include "BlockAttention.h"
#include "Kernels.h"

#include <cstring>
#include <new>

using namespace jfa::runtime;

struct jfaAttentionForwardPlan {
  AttentionForwardPlan plan;
};

struct jfaAttentionBackwardPlan {
  AttentionBackwardPlan plan;
};

struct jfaBlockAttentionForwardPlan {
  BlockAttentionForwardPlan plan;
};

struct jfaBlockAttentionBackwardPlan {
  BlockAttentionBackwardPlan plan;
};

static void copyText(char *destination, size_t size, const std::string &text) {
  size_t length = std::min(size - 1, text.size());
  std::memcpy(destination, text.data(), length);
  destination[length] = '\0';
}

template <size_t N>
static void copyText(char (&destination)[N], const std::string &text) {
  copyText(destination, N, text);
}

static jfaStatus report(const Status &status, jfaError *error) {
  if (error) {
    error->status = status.code;
    copyText(error->argument, status.argument);
    copyText(error->message, status.message);
  }
  return status.code;
}

/// Runs the body of an entry point. Nothing may be thrown into a caller in C;
/// what can be thrown here is a lack of host memory.
template <typename Body>
static jfaStatus guarded(jfaError *error, Body body) {
  try {
    return report(body(), error);
  } catch (const std::exception &exception) {
    return report(failure(JFA_STATUS_OUT_OF_MEMORY, exception.what()), error);
  }
}

static Status checkNotNull(const char *name, const void *pointer) {
  return pointer ? success() : invalid(name, "to be a pointer, but got null");
}

const char *jfaRuntimeGetVersion(void) { return JFA_VERSION; }

const char *jfaStatusGetName(jfaStatus status) {
  switch (status) {
  case JFA_STATUS_SUCCESS:
    return "success";
  case JFA_STATUS_INVALID_ARGUMENT:
    return "invalid argument";
  case JFA_STATUS_UNSUPPORTED:
    return "unsupported";
  case JFA_STATUS_NO_DRIVER:
    return "no driver";
  case JFA_STATUS_NO_DEVICE:
    return "no device";
  case JFA_STATUS_NO_KERNEL:
    return "no kernel";
  case JFA_STATUS_INVALID_BUNDLE:
    return "invalid bundle";
  case JFA_STATUS_OUT_OF_MEMORY:
    return "out of memory";
  case JFA_STATUS_DRIVER_ERROR:
    return "driver error";
  }
  return "unknown status";
}

jfaStatus jfaGetDeviceCount(int32_t *count, jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("count", count);
    if (status.failed()) {
      return status;
    }
    *count = 0;
    const Driver *driver = Driver::get(status);
    return driver ? driver->check(driver->deviceGetCount(count), "count GPUs")
                  : status;
  });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

jfaStatus jfaLoadKernels(const char *path, jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("path", path);
    if (status.failed()) {
      return status;
    }
    return KernelRegistry::get(status).addFile(path);
  });
}

jfaStatus jfaKernelGetCount(int64_t *count, jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("count", count);
    if (status.failed()) {
      return status;
    }
    *count = static_cast<int64_t>(KernelRegistry::get(status).getCount());
    return status;
  });
}

static Status checkFacts(const jfaKernelFacts *facts) {
  Status status = checkNotNull("facts", facts);
  if (!status.failed() && facts->struct_size != sizeof(*facts)) {
    return invalid("struct_size", "to be ", sizeof(*facts), ", but got ",
                   facts->struct_size);
  }
  return status;
}

static void fillFacts(const Kernel &kernel, jfaKernelFacts &facts) {
  const Manifest &manifest = kernel.getManifest();
  facts = {};
  facts.struct_size = sizeof(facts);
  copyText(facts.entry, manifest.entry);
  copyText(facts.arch, manifest.arch);
  copyText(facts.source, kernel.getSource());
  std::string parameters;
  for (const auto &[name, value] : manifest.parameters) {
    parameters += concat(parameters.empty() ? "" : " ", name, "=", value);
  }
  copyText(facts.parameters, parameters);
  copyText(facts.llvm_version, manifest.llvmVersion);
  copyText(facts.ptxas_version, manifest.ptxasVersion);
  facts.block_m = static_cast<int32_t>(manifest.getInteger("BLOCK_M", 0));
  facts.block_n = static_cast<int32_t>(manifest.getInteger("BLOCK_N", 0));
  for (size_t i = 0; i < 3; ++i) {
    facts.block[i] = manifest.block[i];
    facts.cluster[i] = manifest.cluster[i];
  }
  facts.shared_memory_bytes = manifest.sharedMemoryBytes;
  facts.registers = manifest.registers;
  facts.spill_store_bytes = manifest.spillStoreBytes;
  facts.spill_load_bytes = manifest.spillLoadBytes;
  facts.stack_bytes = manifest.stackBytes;
}

jfaStatus jfaKernelGetFacts(int64_t index, jfaKernelFacts *facts,
                            jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkFacts(facts);
    if (status.failed()) {
      return status;
    }
    KernelRegistry &registry = KernelRegistry::get(status);
    if (status.failed()) {
      return status;
    }
    Kernel *kernel = registry.getKernel(static_cast<size_t>(index));
    if (!kernel) {
      return invalid("index", "to be below ", registry.getCount(), ", but got ",
                     index);
    }
    fillFacts(*kernel, *facts);
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Makes a plan of either kind.
template <typename Plan, typename Description>
static jfaStatus createPlan(const Description *description, int32_t device,
                            Plan **plan, jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("plan", plan);
    if (status.failed()) {
      return status;
    }
    *plan = nullptr;
    status = checkNotNull("description", description);
    if (status.failed()) {
      return status;
    }
    auto result = std::make_unique<Plan>();
    status = decltype(result->plan)::create(*description, device, result->plan);
    if (!status.failed()) {
      *plan = result.release();
    }
    return status;
  });
}

template <typename Plan>
static jfaStatus getWorkspaceSize(const Plan *plan, size_t *bytes,
                                  jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("plan", plan);
    if (!status.failed()) {
      status = checkNotNull("bytes", bytes);
    }
    if (!status.failed()) {
      *bytes = plan->plan.getWorkspaceSize();
    }
    return status;
  });
}

template <typename Plan>
static jfaStatus initializeWorkspace(const Plan *plan, void *workspace,
                                     size_t bytes, void *stream,
                                     jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("plan", plan);
    return status.failed()
               ? status
               : plan->plan.initializeWorkspace(
                     workspace, bytes, static_cast<Driver::Stream>(stream));
  });
}

template <typename Plan, typename Buffers, typename Workspace>
static jfaStatus execute(const Plan *plan, const Buffers *buffers,
                         Workspace *workspace, size_t bytes, void *stream,
                         jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("plan", plan);
    if (!status.failed()) {
      status = checkNotNull("buffers", buffers);
    }
    return status.failed()
               ? status
               : plan->plan.execute(*buffers, workspace, bytes,
                                    static_cast<Driver::Stream>(stream));
  });
}

static void fillFacts(const Kernel &kernel, int64_t grid, size_t numItems,
                      jfaKernelFacts &facts) {
  fillFacts(kernel, facts);
  facts.grid[0] = static_cast<int32_t>(grid);
  facts.grid[1] = facts.grid[2] = 1;
  facts.num_items = static_cast<int64_t>(numItems);
}

/// Of a plan that launches one kernel.
template <typename Plan>
static jfaStatus getFacts(const Plan *plan, jfaKernelFacts *facts,
                          jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("plan", plan);
    if (!status.failed()) {
      status = checkFacts(facts);
    }
    if (!status.failed()) {
      fillFacts(plan->plan.getKernel(), plan->plan.getGrid(),
                plan->plan.getNumItems(), *facts);
    }
    return status;
  });
}

//===----------------------------------------------------------------------===//
// Attention, forward
//===----------------------------------------------------------------------===//

jfaStatus
jfaAttentionForwardPlanCreate(const jfaAttentionForwardDescription *description,
                              int32_t device, jfaAttentionForwardPlan **plan,
                              jfaError *error) {
  return createPlan(description, device, plan, error);
}

jfaStatus jfaAttentionForwardPlanDestroy(jfaAttentionForwardPlan *plan,
                                         jfaError *error) {
  delete plan;
  return report(success(), error);
}

jfaStatus
jfaAttentionForwardPlanGetWorkspaceSize(const jfaAttentionForwardPlan *plan,
                                        size_t *bytes, jfaError *error) {
  return getWorkspaceSize(plan, bytes, error);
}

jfaStatus jfaAttentionForwardPlanGetFacts(const jfaAttentionForwardPlan *plan,
                                          jfaKernelFacts *facts,
                                          jfaError *error) {
  return getFacts(plan, facts, error);
}

jfaStatus jfaAttentionForwardPlanInitializeWorkspace(
    const jfaAttentionForwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error) {
  return initializeWorkspace(plan, workspace, workspace_bytes, stream, error);
}

jfaStatus jfaAttentionForwardExecute(const jfaAttentionForwardPlan *plan,
                                     const jfaAttentionForwardBuffers *buffers,
                                     const void *workspace,
                                     size_t workspace_bytes, void *stream,
                                     jfaError *error) {
  return execute(plan, buffers, workspace, workspace_bytes, stream, error);
}

//===----------------------------------------------------------------------===//
// Attention, backward
//===----------------------------------------------------------------------===//

jfaStatus jfaAttentionBackwardPlanCreate(
    const jfaAttentionBackwardDescription *description, int32_t device,
    jfaAttentionBackwardPlan **plan, jfaError *error) {
  return createPlan(description, device, plan, error);
}

jfaStatus jfaAttentionBackwardPlanDestroy(jfaAttentionBackwardPlan *plan,
                                          jfaError *error) {
  delete plan;
  return report(success(), error);
}

jfaStatus
jfaAttentionBackwardPlanGetWorkspaceSize(const jfaAttentionBackwardPlan *plan,
                                         size_t *bytes, jfaError *error) {
  return getWorkspaceSize(plan, bytes, error);
}

jfaStatus
jfaAttentionBackwardPlanGetLaunchCount(const jfaAttentionBackwardPlan *plan,
                                       int32_t *count, jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("plan", plan);
    if (!status.failed()) {
      status = checkNotNull("count", count);
    }
    if (!status.failed()) {
      *count = AttentionBackwardPlan::kNumLaunches;
    }
    return status;
  });
}

jfaStatus jfaAttentionBackwardPlanGetFacts(const jfaAttentionBackwardPlan *plan,
                                           int32_t launch,
                                           jfaKernelFacts *facts,
                                           jfaError *error) {
  return guarded(error, [&]() -> Status {
    Status status = checkNotNull("plan", plan);
    if (!status.failed()) {
      status = checkFacts(facts);
    }
    if (status.failed()) {
      return status;
    }
    constexpr int32_t kCount = AttentionBackwardPlan::kNumLaunches;
    if (launch < 0 || launch >= kCount) {
      return invalid("launch", "to be in 0 .. ", kCount - 1, ", but got ",
                     launch);
    }
    const auto &which = plan->plan.getLaunch(size_t(launch));
    fillFacts(which.kernel.getKernel(), which.grid, which.getNumItems(),
              *facts);
    return success();
  });
}

jfaStatus jfaAttentionBackwardPlanInitializeWorkspace(
    const jfaAttentionBackwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error) {
  return initializeWorkspace(plan, workspace, workspace_bytes, stream, error);
}

jfaStatus
jfaAttentionBackwardExecute(const jfaAttentionBackwardPlan *plan,
                            const jfaAttentionBackwardBuffers *buffers,
                            void *workspace, size_t workspace_bytes,
                            void *stream, jfaError *error) {
  return execute(plan, buffers, workspace, workspace_bytes, stream, error);
}

//===----------------------------------------------------------------------===//
// Block attention, forward
//===----------------------------------------------------------------------===//

jfaStatus jfaBlockAttentionForwardPlanCreate(
    const jfaBlockAttentionForwardDescription *description, int32_t device,
    jfaBlockAttentionForwardPlan **plan, jfaError *error) {
  return createPlan(description, device, plan, error);
}

jfaStatus
jfaBlockAttentionForwardPlanDestroy(jfaBlockAttentionForwardPlan *plan,
                                    jfaError *error) {
  delete plan;
  return report(success(), error);
}

jfaStatus jfaBlockAttentionForwardPlanGetWorkspaceSize(
    const jfaBlockAttentionForwardPlan *plan, size_t *bytes, jfaError *error) {
  return getWorkspaceSize(plan, bytes, error);
}

jfaStatus
jfaBlockAttentionForwardPlanGetFacts(const jfaBlockAttentionForwardPlan *plan,
                                     jfaKernelFacts *facts, jfaError *error) {
  return getFacts(plan, facts, error);
}

jfaStatus jfaBlockAttentionForwardPlanInitializeWorkspace(
    const jfaBlockAttentionForwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error) {
  return initializeWorkspace(plan, workspace, workspace_bytes, stream, error);
}

jfaStatus
jfaBlockAttentionForwardExecute(const jfaBlockAttentionForwardPlan *plan,
                                const jfaBlockAttentionForwardBuffers *buffers,
                                const void *workspace, size_t workspace_bytes,
                                void *stream, jfaError *error) {
  return execute(plan, buffers, workspace, workspace_bytes, stream, error);
}

//===----------------------------------------------------------------------===//
// Block attention, backward
//===----------------------------------------------------------------------===//

jfaStatus jfaBlockAttentionBackwardPlanCreate(
    const jfaBlockAttentionBackwardDescription *description, int32_t device,
    jfaBlockAttentionBackwardPlan **plan, jfaError *error) {
  return createPlan(description, device, plan, error);
}

jfaStatus
jfaBlockAttentionBackwardPlanDestroy(jfaBlockAttentionBackwardPlan *plan,
                                     jfaError *error) {
  delete plan;
  return report(success(), error);
}

jfaStatus jfaBlockAttentionBackwardPlanGetWorkspaceSize(
    const jfaBlockAttentionBackwardPlan *plan, size_t *bytes, jfaError *error) {
  return getWorkspaceSize(plan, bytes, error);
}

jfaStatus
jfaBlockAttentionBackwardPlanGetFacts(const jfaBlockAttentionBackwardPlan *plan,
                                      jfaKernelFacts *facts, jfaError *error) {
  return getFacts(plan, facts, error);
}

jfaStatus jfaBlockAttentionBackwardPlanInitializeWorkspace(
    const jfaBlockAttentionBackwardPlan *plan, void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error) {
  return initializeWorkspace(plan, workspace, workspace_bytes, stream, error);
}

jfaStatus jfaBlockAttentionBackwardExecute(
    const jfaBlockAttentionBackwardPlan *plan,
    const jfaBlockAttentionBackwardBuffers *buffers, const void *workspace,
    size_t workspace_bytes, void *stream, jfaError *error) {
  return execute(plan, buffers, workspace, workspace_bytes, stream, error);
}
