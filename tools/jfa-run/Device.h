//===- Device.h - Device memory and timing for jfa-run ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_RUN_DEVICE_H
#define JFA_TOOLS_JFA_RUN_DEVICE_H

#include "Driver.h"

#include <functional>
#include <string>
#include <vector>

namespace jfa::run {

/// A GPU whose primary context is current for as long as this lives. Failures
/// of the driver are thrown as std::runtime_error.
class Device {
public:
  Device(const runtime::Driver &driver, int ordinal);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  std::string getName() const;
  /// Memory that lives as long as the device.
  void *allocate(size_t bytes);
  void upload(void *destination, const void *source, size_t bytes);
  void download(void *destination, const void *source, size_t bytes);
  void synchronize();
  /// The median milliseconds of some runs of an asynchronous action, after one
  /// that warms up.
  double time(const std::function<void()> &action, int runs);

private:
  const runtime::Driver &driver;
  int ordinal;
  std::vector<runtime::Driver::Pointer> allocations;

  template <typename... Ts>
  void call(const char *symbol, Ts... arguments) const;
};

} // namespace jfa::run

#endif // JFA_TOOLS_JFA_RUN_DEVICE_H
