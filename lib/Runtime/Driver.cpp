//===- Driver.cpp - The GPU driver, opened at run time ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <dlfcn.h>

using namespace jfa::runtime;

static constexpr const char *kLibraryName = "libcuda.so.1";

void *Driver::lookup(const char *symbol) const {
  return dlsym(library, symbol);
}

Status Driver::check(Result result, const char *attempt) const {
  if (result == 0) {
    return success();
  }
  const char *name = nullptr;
  const char *text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  jfaStatus code = JFA_STATUS_DRIVER_ERROR;
  if (result == kOutOfMemory) {
    code = JFA_STATUS_OUT_OF_MEMORY;
  } else if (result == kNoDevice || result == kInvalidDevice) {
    code = JFA_STATUS_NO_DEVICE;
  }
  return failure(code, "the driver could not ", attempt, ": ",
                 name ? name : "unknown error", " (", text ? text : "", ")");
}

Status Driver::open() {
  library = dlopen(kLibraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    return failure(JFA_STATUS_NO_DRIVER, "expected the GPU driver's library ",
                   kLibraryName, " to be installed, but got: ", dlerror());
  }
  const char *missing = nullptr;
  auto load = [&](auto &function, const char *symbol) {
    // POSIX guarantees that a data pointer from dlsym converts back.
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function && !missing) {
      missing = symbol;
    }
  };
  load(init, "cuInit");
  load(getErrorName, "cuGetErrorName");
  load(getErrorString, "cuGetErrorString");
  load(deviceGetCount, "cuDeviceGetCount");
  load(deviceGet, "cuDeviceGet");
  load(deviceGetAttribute, "cuDeviceGetAttribute");
  load(primaryContextRetain, "cuDevicePrimaryCtxRetain");
  load(contextPush, "cuCtxPushCurrent_v2");
  load(contextPop, "cuCtxPopCurrent_v2");
  load(moduleLoadData, "cuModuleLoadData");
  load(moduleGetFunction, "cuModuleGetFunction");
  load(functionSetAttribute, "cuFuncSetAttribute");
  load(launchKernel, "cuLaunchKernelEx");
  load(occupancyMaxActiveBlocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  load(setMemoryAsync, "cuMemsetD8Async");
  load(maxActiveClusters, "cuOccupancyMaxActiveClusters");
  load(copyToDeviceAsync, "cuMemcpyHtoDAsync_v2");
  load(tensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  if (missing) {
    return failure(JFA_STATUS_NO_DRIVER, "expected ", kLibraryName,
                   " to be of CUDA 12.0 or later, but it has no ", missing);
  }
  load(functionGetParameter, "cuFuncGetParamInfo");
  return check(init(0), "start");
}

const Driver *Driver::get(Status &status) {
  // Opened once and never closed: other libraries of the process use it too.
  static Status opened;
  static const Driver driver = [] {
    Driver result{};
    opened = result.open();
    return result;
  }();
  status = opened;
  return status.failed() ? nullptr : &driver;
}
