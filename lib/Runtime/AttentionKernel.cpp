//===- AttentionKernel.cpp - An attention kernel and its arguments -*- C++ -*-//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include <algorithm>

using namespace jfa::runtime;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
struct SlotDescription {
  const char *name;
  ArgumentKind kind;
  /// BF16 stands for the problem's own type. What a kernel may take as a tensor
  /// map of another type, it may take as a pointer as well.
  ElementType element;
};
} // namespace

/// In the order of Slot.
static constexpr SlotDescription kSlots[kNumSlots] = {
    {"q", ArgumentKind::TensorMap, ElementType::BF16},
    {"k", ArgumentKind::TensorMap, ElementType::BF16},
    {"v", ArgumentKind::TensorMap, ElementType::BF16},
    {"o", ArgumentKind::TensorMap, ElementType::BF16},
    {"do", ArgumentKind::TensorMap, ElementType::BF16},
    {"dq", ArgumentKind::TensorMap, ElementType::BF16},
    {"dk", ArgumentKind::TensorMap, ElementType::BF16},
    {"dv", ArgumentKind::TensorMap, ElementType::BF16},
    {"dq_acc", ArgumentKind::TensorMap, ElementType::F32},
    {"lse_log2", ArgumentKind::TensorMap, ElementType::F32},
    {"delta", ArgumentKind::TensorMap, ElementType::F32},
    {"sincos", ArgumentKind::TensorMap, ElementType::BF16},
    {"lse", ArgumentKind::Pointer, ElementType::F32},
    {"q_offsets", ArgumentKind::Pointer, ElementType::I32},
    {"k_offsets", ArgumentKind::Pointer, ElementType::I32},
    {"items", ArgumentKind::Pointer, ElementType::I32},
    {"item_starts", ArgumentKind::Pointer, ElementType::I32},
    {"tile_counts", ArgumentKind::Pointer, ElementType::I32},
    {"heads_per_group", ArgumentKind::Scalar, ElementType::I32},
    {"q_length", ArgumentKind::Scalar, ElementType::I32},
    {"k_length", ArgumentKind::Scalar, ElementType::I32},
    {"lse_stride", ArgumentKind::Scalar, ElementType::I64},
    {"rows_stride", ArgumentKind::Scalar, ElementType::I64},
    {"scale", ArgumentKind::Scalar, ElementType::F32},
    {"scale_log2", ArgumentKind::Scalar, ElementType::F32},
    {"block_starts", ArgumentKind::Pointer, ElementType::I32},
    {"num_sequences", ArgumentKind::Scalar, ElementType::I32},
    {"num_items", ArgumentKind::Scalar, ElementType::I32},
    {"heads", ArgumentKind::Scalar, ElementType::I32},
    {"turns", ArgumentKind::Pointer, ElementType::I32},
    {"dq_copies", ArgumentKind::Scalar, ElementType::I32},
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
    bool own = slot->element == ElementType::BF16;
    bool sameKind = argument.kind == slot->kind ||
                    (slot->kind == ArgumentKind::TensorMap && !own &&
                     argument.kind == ArgumentKind::Pointer);
    bool sameType = sameKind && (own ? argument.element <= ElementType::F16
                                     : argument.element == slot->element);
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

void jfa::runtime::setArguments(const AttentionProblem &problem,
                                const jfaAttentionForwardBuffers &buffers,
                                const void *elsewhere,
                                AttentionArguments &arguments) {
  arguments.set(Slot::Q, buffers.q ? buffers.q : elsewhere);
  arguments.set(Slot::K, buffers.k ? buffers.k : elsewhere);
  arguments.set(Slot::V, buffers.v ? buffers.v : elsewhere);
  arguments.set(Slot::O, buffers.o ? buffers.o : elsewhere);
  arguments.set(Slot::Lse, buffers.lse);
  arguments.set(Slot::QOffsets, buffers.q_offsets);
  arguments.set(Slot::KOffsets, buffers.k_offsets);
  arguments.set(Slot::HeadsPerGroup, problem.queryHeads / problem.kvHeads);
  arguments.set(Slot::QLength, int32_t(problem.sequences.qLength));
  arguments.set(Slot::KLength, int32_t(problem.sequences.kLength));
  arguments.set(Slot::LseStride, problem.lseHeadStride);
  arguments.set(Slot::Scale, float(problem.scale));
  arguments.set(Slot::ScaleLog2, float(problem.scale * 1.4426950408889634));
}

//===----------------------------------------------------------------------===//
// Finding a kernel
//===----------------------------------------------------------------------===//

static const char *getElementName(jfaElementType type) {
  return type == JFA_ELEMENT_TYPE_BF16 ? "bf16" : "f16";
}

static const char *getBoolName(bool value) { return value ? "true" : "false"; }

KernelParameters jfa::runtime::getParameters(const AttentionProblem &problem) {
  return {{"HEAD_DIM", std::to_string(problem.headDim)},
          {"ELEMENT", getElementName(problem.elementType)},
          {"CAUSAL", getBoolName(problem.causal)},
          {"JAGGED", getBoolName(problem.mode != JFA_ATTENTION_MODE_DENSE)},
          {"BROADCAST_QUERY",
           getBoolName(problem.mode == JFA_ATTENTION_MODE_BROADCAST_QUERY)}};
}

bool jfa::runtime::suitsLengths(const Manifest &manifest,
                                const Lengths &lengths) {
  auto isAtMost = [&](const char *limit, int64_t length) {
    int64_t most = manifest.getInteger(limit, 0);
    return most == 0 || length <= most;
  };
  return lengths.fewestQueries >= manifest.getInteger("MIN_QUERIES", 0) &&
         isAtMost("MAX_QUERIES", lengths.mostQueries) &&
         isAtMost("MAX_KEYS", lengths.mostKeys);
}

Kernel *jfa::runtime::findKernel(KernelRegistry &registry, const Gpu &gpu,
                                 const std::string &entry,
                                 const KernelParameters &parameters,
                                 const Lengths &lengths) {
  return registry.find([&](const Manifest &manifest) {
    return manifest.entry == entry && runsOn(manifest.arch, gpu) &&
           suitsLengths(manifest, lengths) &&
           std::all_of(parameters.begin(), parameters.end(),
                       [&](const auto &parameter) {
                         return manifest.getParameter(parameter.first,
                                                      "false") ==
                                parameter.second;
                       });
  });
}

Status AttentionKernel::load(const Driver &driver, const Gpu &gpu,
                             const std::string &entry,
                             const KernelParameters &parameters,
                             const Lengths &lengths) {
  Status status;
  KernelRegistry &registry = KernelRegistry::get(status);
  if (status.failed()) {
    return status;
  }
  kernel = findKernel(registry, gpu, entry, parameters, lengths);
  if (!kernel) {
    std::string wanted;
    for (const auto &[name, value] : parameters) {
      wanted += concat(" ", name, "=", value);
    }
    return failure(
        JFA_STATUS_NO_KERNEL, "expected a kernel ", entry, " for sm_",
        gpu.computeMajor, gpu.computeMinor, " with", wanted,
        " to be embedded or loaded, but ",
        registry.getCount() == 0
            ? std::string("this library was built without kernels, "
                          "and none was loaded")
            : concat("none of the ", registry.getCount(), " kernels is"));
  }
  status = checkCluster(gpu);
  if (status.failed()) {
    return status;
  }
  status = bindArguments(getManifest(), slots);
  if (status.failed()) {
    return status;
  }
  auto has = [&](const char *parameter) {
    return getManifest().getParameter(parameter, "false") == "true";
  };
  isCooperative = takes(Slot::Turns) && has("DETERMINISTIC");
  mayBeDependent = has("DEPENDENT_LAUNCH");
  return kernel->load(driver, gpu, function);
}

Status AttentionKernel::checkCluster(const Gpu &gpu) const {
  const std::array<int32_t, 3> &cluster = getManifest().cluster;
  if (cluster[0] < 1 || cluster[1] != 1 || cluster[2] != 1) {
    return failure(JFA_STATUS_INVALID_BUNDLE, "expected the clusters of ",
                   getManifest().entry, " to lie along x, but got ", cluster[0],
                   " x ", cluster[1], " x ", cluster[2]);
  }
  if (cluster[0] > 1 && !gpu.hasClusters) {
    return failure(JFA_STATUS_UNSUPPORTED, "expected GPU ", gpu.ordinal,
                   " to launch clusters, which ", getManifest().entry,
                   " has of ", cluster[0], " CTAs");
  }
  return success();
}

Status AttentionKernel::getRows(const char *name, int64_t &rows) const {
  rows = getManifest().getInteger(name, 0);
  if (rows < 1 || rows > kSegmentBound) {
    return failure(JFA_STATUS_INVALID_BUNDLE, "expected the parameter '", name,
                   "' of ", getManifest().entry, " to be positive");
  }
  return success();
}

Status AttentionKernel::countResident(const Driver &driver, const Gpu &gpu,
                                      int64_t &ctas) const {
  Status status;
  ContextGuard guard(driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  const Manifest &manifest = getManifest();
  int threads = manifest.block[0] * manifest.block[1] * manifest.block[2];
  int count = 0;
  status = driver.check(
      driver.occupancyMaxActiveBlocks(&count, function, threads,
                                      size_t(manifest.sharedMemoryBytes)),
      "tell how many CTAs fit a multiprocessor");
  ctas = std::max(1, count);
  return status;
}

Status AttentionKernel::shapeMaps(jfaElementType elementType,
                                  const TensorLayouts &tensors) {
  ElementType own = elementType == JFA_ELEMENT_TYPE_BF16 ? ElementType::BF16
                                                         : ElementType::F16;
  for (size_t i = 0; i < slots.size(); ++i) {
    const Argument &argument = getManifest().arguments[i];
    if (argument.kind != ArgumentKind::TensorMap) {
      continue;
    }
    if (argument.element != ElementType::F32 && argument.element != own) {
      return failure(JFA_STATUS_INVALID_BUNDLE, "expected the tensor map '",
                     argument.name,
                     "' to agree with ELEMENT=", getElementName(elementType));
    }
    auto which = static_cast<size_t>(slots[i]);
    Status status = getTensorMapShape(argument.recipe, tensors[which],
                                      argument.name, maps[which]);
    if (status.failed()) {
      return status;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Launching it
//===----------------------------------------------------------------------===//

LaunchConfig AttentionKernel::makeConfig(int64_t grid,
                                         LaunchAttributes &attributes,
                                         Driver::Stream stream,
                                         bool isDependent) const {
  const Manifest &manifest = getManifest();
  LaunchConfig config = {};
  config.grid[0] = unsigned(grid * getClusterSize());
  config.grid[1] = config.grid[2] = 1;
  for (size_t i = 0; i < 3; ++i) {
    config.block[i] = unsigned(manifest.block[i]);
  }
  config.sharedBytes = unsigned(manifest.sharedMemoryBytes);
  config.stream = stream;
  config.attributes = attributes.data();
  if (getClusterSize() > 1) {
    LaunchAttribute &cluster = attributes[config.numAttributes++];
    cluster.id = Driver::kLaunchClusterDimension;
    std::copy(manifest.cluster.begin(), manifest.cluster.end(), cluster.value);
  }
  if (isCooperative) {
    LaunchAttribute &cooperative = attributes[config.numAttributes++];
    cooperative.id = Driver::kLaunchCooperative;
    cooperative.value[0] = 1;
  } else if (isDependent && mayBeDependent) {
    LaunchAttribute &dependent = attributes[config.numAttributes++];
    dependent.id = Driver::kLaunchProgrammaticDependent;
    dependent.value[0] = 1;
  }
  return config;
}

Status AttentionKernel::countWorkers(const Driver &driver, const Gpu &gpu,
                                     int64_t &workers) const {
  workers = gpu.multiprocessors *
            std::max<int64_t>(1, getManifest().getInteger("CTAS_PER_SM", 1));
  if (getClusterSize() == 1) {
    return success();
  }
  Status status;
  ContextGuard guard(driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  int count = 0;
  LaunchAttributes attributes = {};
  LaunchConfig config = makeConfig(1, attributes, nullptr);
  status = driver.check(driver.maxActiveClusters(&count, function, &config),
                        "count the clusters that run at once");
  if (!status.failed() && count < 1) {
    return failure(JFA_STATUS_UNSUPPORTED, "expected GPU ", gpu.ordinal,
                   " to have room for a cluster of ", getClusterSize(),
                   " CTAs of ", getManifest().entry);
  }
  workers = std::min<int64_t>(workers / getClusterSize(), count);
  return status;
}

Status AttentionKernel::prepare(const Driver &driver,
                                const AttentionArguments &arguments,
                                Prepared &prepared) const {
  const Manifest &manifest = getManifest();
  for (size_t i = 0; i < slots.size(); ++i) {
    prepared.values[i] = const_cast<void *>(arguments.getValue(slots[i]));
    if (manifest.arguments[i].kind != ArgumentKind::TensorMap) {
      continue;
    }
    auto which = static_cast<size_t>(slots[i]);
    Status status =
        encodeTensorMap(driver, maps[which], manifest.arguments[i],
                        arguments.getAddress(slots[i]), prepared.maps[which]);
    if (status.failed()) {
      return status;
    }
    prepared.values[i] = &prepared.maps[which];
  }
  return success();
}

Status AttentionKernel::launch(const Driver &driver, int64_t grid,
                               Prepared &prepared, Driver::Stream stream,
                               bool isDependent) const {
  LaunchAttributes attributes = {};
  LaunchConfig config = makeConfig(grid, attributes, stream, isDependent);
  return driver.check(
      driver.launchKernel(&config, function, prepared.values, nullptr),
      "launch a kernel");
}
