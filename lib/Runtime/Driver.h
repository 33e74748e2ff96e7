//===- Driver.h - The GPU driver, opened at run time ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few functions of the driver that the runtime calls. The library is opened
// when first needed, so that everything else works on machines without it, and
// its types are declared here, so that building needs no CUDA installation.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_DRIVER_H
#define JFA_LIB_RUNTIME_DRIVER_H

#include "Status.h"

#include <cstddef>
#include <cstdint>

namespace jfa::runtime {

/// A CUtensorMap: 128 opaque bytes, which the driver wants aligned to 64.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

/// A CUlaunchAttribute.
struct alignas(8) LaunchAttribute {
  int id;
  unsigned padding = 0;
  /// A union of 64 bytes.
  unsigned value[16];
};

/// A CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  struct CUstream_st *stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

struct Driver {
  using Result = int;
  using Device = int;
  using Context = struct CUctx_st *;
  using Module = struct CUmod_st *;
  using Function = struct CUfunc_st *;
  using Stream = struct CUstream_st *;
  using Pointer = unsigned long long;

  // Values of the driver's enumerations.
  static constexpr Result kOutOfMemory = 2;
  static constexpr Result kInvalidDevice = 101;
  static constexpr Result kNoDevice = 100;
  static constexpr int kDeviceMultiprocessorCount = 16;
  static constexpr int kDeviceComputeMajor = 75;
  static constexpr int kDeviceComputeMinor = 76;
  static constexpr int kDeviceClusterLaunch = 120;
  static constexpr int kLaunchCooperative = 2;
  static constexpr int kLaunchClusterDimension = 4;
  static constexpr int kLaunchProgrammaticDependent = 6;
  static constexpr int kFunctionMaxDynamicShared = 8;
  static constexpr int kFunctionRegisters = 4;

  Result (*init)(unsigned flags);
  Result (*getErrorName)(Result, const char **);
  Result (*getErrorString)(Result, const char **);
  Result (*deviceGetCount)(int *);
  Result (*deviceGet)(Device *, int ordinal);
  Result (*deviceGetAttribute)(int *, int attribute, Device);
  Result (*primaryContextRetain)(Context *, Device);
  Result (*contextPush)(Context);
  Result (*contextPop)(Context *);
  Result (*moduleLoadData)(Module *, const void *image);
  Result (*moduleGetFunction)(Function *, Module, const char *name);
  Result (*functionSetAttribute)(Function, int attribute, int value);
  Result (*launchKernel)(const LaunchConfig *, Function, void **arguments,
                         void **extra);
  Result (*occupancyMaxActiveBlocks)(int *, Function, int threads,
                                     size_t sharedBytes);
  Result (*setMemoryAsync)(Pointer, unsigned char, size_t, Stream);
  /// How many clusters can run at the same time.
  Result (*maxActiveClusters)(int *count, Function, const LaunchConfig *);
  Result (*copyToDeviceAsync)(Pointer, const void *, size_t, Stream);
  Result (*tensorMapEncodeTiled)(TensorMap *, int dataType, uint32_t rank,
                                 void *base, const uint64_t *sizes,
                                 const uint64_t *strides, const uint32_t *box,
                                 const uint32_t *elementStrides, int interleave,
                                 int swizzle, int l2Promotion, int fill);
  /// Null before CUDA 12.4.
  Result (*functionGetParameter)(Function, size_t index, size_t *offset,
                                 size_t *size);

  /// The driver, opened and initialised once; null with a status if it is
  /// missing or finds no GPU.
  static const Driver *get(Status &status);

  /// Another of the library's functions, or null. For tools.
  void *lookup(const char *symbol) const;

  /// Turns a result into a status that says what was attempted.
  Status check(Result result, const char *attempt) const;

private:
  void *library = nullptr;

  Status open();
};

/// Makes a device's primary context current for the extent of a scope, and
/// restores what was current before.
class ContextGuard {
public:
  ContextGuard(const Driver &driver, Driver::Context context, Status &status)
      : driver(driver) {
    status = driver.check(driver.contextPush(context), "make a GPU current");
    pushed = !status.failed();
  }
  ~ContextGuard() {
    Driver::Context ignored;
    if (pushed) {
      driver.contextPop(&ignored);
    }
  }
  ContextGuard(const ContextGuard &) = delete;
  ContextGuard &operator=(const ContextGuard &) = delete;

private:
  const Driver &driver;
  bool pushed;
};

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_DRIVER_H
