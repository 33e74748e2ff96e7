//===- Kernels.cpp - Kernels that are embedded or loaded --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include <cerrno>
#include <cstring>
#include <fstream>

using namespace jfa::runtime;

//===----------------------------------------------------------------------===//
// Gpu
//===----------------------------------------------------------------------===//

Status jfa::runtime::getGpu(const Driver &driver, int32_t ordinal, Gpu &gpu) {
  int count = 0;
  Status status = driver.check(driver.deviceGetCount(&count), "count GPUs");
  if (status.failed()) {
    return status;
  }
  if (ordinal < 0 || ordinal >= count) {
    return {JFA_STATUS_NO_DEVICE, "device",
            concat("expected 'device' to be in 0 .. ", count - 1, ", but got ",
                   ordinal)};
  }
  static std::mutex mutex;
  static std::map<int, Gpu> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto it = known.find(ordinal);
  if (it != known.end()) {
    gpu = it->second;
    return success();
  }
  gpu.ordinal = ordinal;
  Driver::Device device = 0;
  Driver::Result result = driver.deviceGet(&device, ordinal);
  auto attribute = [&](int which, int &value) {
    if (result == 0) {
      result = driver.deviceGetAttribute(&value, which, device);
    }
  };
  attribute(Driver::kDeviceMultiprocessorCount, gpu.multiprocessors);
  attribute(Driver::kDeviceComputeMajor, gpu.computeMajor);
  attribute(Driver::kDeviceComputeMinor, gpu.computeMinor);
  attribute(Driver::kDeviceClusterLaunch, gpu.hasClusters);
  if (result == 0) {
    result = driver.primaryContextRetain(&gpu.context, device);
  }
  status = driver.check(result, "open a GPU");
  if (!status.failed()) {
    known[ordinal] = gpu;
  }
  return status;
}

bool jfa::runtime::runsOn(const std::string &arch, const Gpu &gpu) {
  std::string exact = concat("sm_", gpu.computeMajor, gpu.computeMinor);
  // Architecture-specific code ("a") runs on that very one only. Other code
  // runs on later minor versions too, but the runtime has no use for it.
  return arch == exact + "a" || arch == exact;
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// Compares the manifest with what the driver knows of the loaded code: a wrong
/// offset would otherwise show as a wrong result. Only distances between
/// offsets are compared, since ptxas shifts all of them alike to align a tensor
/// map in the constant bank (by 112 bytes on sm_90a).
static Status checkParameters(const Driver &driver, const Manifest &manifest,
                              Driver::Function function) {
  if (!driver.functionGetParameter) {
    return success();
  }
  size_t shift = 0;
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const Argument &argument = manifest.arguments[i];
    size_t offset = 0;
    size_t size = 0;
    Status status =
        driver.check(driver.functionGetParameter(function, i, &offset, &size),
                     "describe a kernel's parameter");
    if (status.failed()) {
      return status;
    }
    shift = i == 0 ? offset - argument.offset : shift;
    offset -= shift;
    if (offset != argument.offset || size != argument.size) {
      return failure(JFA_STATUS_INVALID_BUNDLE, "expected the argument '",
                     argument.name, "' of ", manifest.entry, " to have ",
                     argument.size, " bytes at ", argument.offset,
                     ", but the code has ", size, " at ", offset);
    }
  }
  return success();
}

Status Kernel::load(const Driver &driver, const Gpu &gpu,
                    Driver::Function &function) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = functions.find(gpu.ordinal);
  if (it != functions.end()) {
    function = it->second;
    return success();
  }
  Status status;
  ContextGuard guard(driver, gpu.context, status);
  if (status.failed()) {
    return status;
  }
  Driver::Module module = nullptr;
  status = driver.check(driver.moduleLoadData(&module, manifest.cubin),
                        "load a kernel");
  if (status.failed()) {
    return status;
  }
  status = driver.check(
      driver.moduleGetFunction(&function, module, manifest.entry.c_str()),
      "find a kernel's entry");
  if (status.failed()) {
    return status;
  }
  status = driver.check(
      driver.functionSetAttribute(function, Driver::kFunctionMaxDynamicShared,
                                  manifest.sharedMemoryBytes),
      "reserve a kernel's shared memory");
  if (status.failed()) {
    return status;
  }
  status = checkParameters(driver, manifest, function);
  if (!status.failed()) {
    functions[gpu.ordinal] = function;
  }
  return status;
}

//===----------------------------------------------------------------------===//
// KernelRegistry
//===----------------------------------------------------------------------===//

KernelRegistry &KernelRegistry::get(Status &status) {
  // Never destroyed: a plan may outlive the other statics of a process.
  static auto *registry = new KernelRegistry;
  static const Status embedded = registry->addEmbedded();
  status = embedded;
  return *registry;
}

Status KernelRegistry::addEmbedded() {
  for (const JFAEmbeddedBundle *bundle = jfaEmbeddedBundles; bundle->begin;
       ++bundle) {
    Status status =
        add(bundle->begin, static_cast<size_t>(bundle->end - bundle->begin),
            "embedded", nullptr);
    if (status.failed()) {
      return status;
    }
  }
  return success();
}

Status KernelRegistry::add(const uint8_t *data, size_t size,
                           const std::string &source,
                           std::shared_ptr<const std::vector<uint8_t>> bytes) {
  std::vector<Manifest> manifests;
  Status status = readBundle(data, size, manifests);
  if (status.failed()) {
    status.message = source + ": " + status.message;
    return status;
  }
  std::lock_guard<std::mutex> lock(mutex);
  bundleStarts.push_back(kernels.size());
  for (Manifest &manifest : manifests) {
    kernels.push_back(
        std::make_unique<Kernel>(std::move(manifest), source, bytes));
  }
  return success();
}

Status KernelRegistry::addFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::streamoff size = file ? std::streamoff(file.tellg()) : -1;
  // A directory opens, and claims a size that no file has.
  constexpr std::streamoff kMaxBytes = std::streamoff(1) << 32;
  if (size < 0 || size > kMaxBytes) {
    return invalid("path", "to name a readable file, but got '", path, "'");
  }
  auto bytes = std::make_shared<std::vector<uint8_t>>(size_t(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char *>(bytes->data()), size)) {
    return invalid("path", "to name a readable file, but got '", path, "'");
  }
  return add(bytes->data(), bytes->size(), path, bytes);
}

size_t KernelRegistry::getCount() {
  std::lock_guard<std::mutex> lock(mutex);
  return kernels.size();
}

Kernel *KernelRegistry::getKernel(size_t index) {
  std::lock_guard<std::mutex> lock(mutex);
  return index < kernels.size() ? kernels[index].get() : nullptr;
}

Kernel *
KernelRegistry::find(const std::function<bool(const Manifest &)> &matches) {
  std::lock_guard<std::mutex> lock(mutex);
  size_t end = kernels.size();
  for (auto start = bundleStarts.rbegin(); start != bundleStarts.rend();
       ++start) {
    for (size_t i = *start; i < end; ++i) {
      if (matches(kernels[i]->getManifest())) {
        return kernels[i].get();
      }
    }
    end = *start;
  }
  return nullptr;
}
