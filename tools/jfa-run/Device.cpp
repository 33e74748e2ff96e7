//===- Device.cpp - Device memory and timing for jfa-run --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <algorithm>
#include <stdexcept>

using namespace jfa::run;
using jfa::runtime::Driver;
using jfa::runtime::Status;

static void throwIfFailed(const Status &status) {
  if (status.failed()) {
    throw std::runtime_error(status.message);
  }
}

/// Calls a function of the driver by its name, for those that the runtime has
/// no use for itself. The caller spells the parameters' exact types.
template <typename... Ts>
void Device::call(const char *symbol, Ts... arguments) const {
  using FunctionType = Driver::Result (*)(Ts...);
  auto function = reinterpret_cast<FunctionType>(driver.lookup(symbol));
  if (!function) {
    throw std::runtime_error(std::string("the driver has no ") + symbol);
  }
  throwIfFailed(driver.check(function(arguments...), symbol));
}

Device::Device(const Driver &driver, int ordinal)
    : driver(driver), ordinal(ordinal) {
  Driver::Device device;
  Driver::Context context;
  throwIfFailed(driver.check(driver.deviceGet(&device, ordinal), "open a GPU"));
  throwIfFailed(driver.check(driver.primaryContextRetain(&context, device),
                             "open a GPU"));
  throwIfFailed(driver.check(driver.contextPush(context), "open a GPU"));
}

Device::~Device() {
  auto release = reinterpret_cast<Driver::Result (*)(Driver::Pointer)>(
      driver.lookup("cuMemFree_v2"));
  for (Driver::Pointer pointer : allocations) {
    release(pointer);
  }
  Driver::Context ignored;
  driver.contextPop(&ignored);
}

std::string Device::getName() const {
  char name[256] = {};
  call("cuDeviceGetName", static_cast<char *>(name), 255, ordinal);
  return name;
}

void *Device::allocate(size_t bytes) {
  Driver::Pointer pointer = 0;
  call("cuMemAlloc_v2", &pointer, std::max<size_t>(bytes, 16));
  allocations.push_back(pointer);
  return reinterpret_cast<void *>(pointer);
}

void Device::upload(void *destination, const void *source, size_t bytes) {
  call("cuMemcpyHtoD_v2", reinterpret_cast<Driver::Pointer>(destination),
       source, bytes);
}

void Device::download(void *destination, const void *source, size_t bytes) {
  call("cuMemcpyDtoH_v2", destination,
       reinterpret_cast<Driver::Pointer>(source), bytes);
}

void Device::synchronize() { call("cuCtxSynchronize"); }

double Device::time(const std::function<void()> &action, int runs) {
  using Event = struct CUevent_st *;
  Event begin, end;
  call("cuEventCreate", &begin, 0u);
  call("cuEventCreate", &end, 0u);
  std::vector<float> times(static_cast<size_t>(runs));
  action();
  for (float &milliseconds : times) {
    call("cuEventRecord", begin, Driver::Stream(nullptr));
    action();
    call("cuEventRecord", end, Driver::Stream(nullptr));
    call("cuEventSynchronize", end);
    call("cuEventElapsedTime", &milliseconds, begin, end);
  }
  call("cuEventDestroy_v2", begin);
  call("cuEventDestroy_v2", end);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}
