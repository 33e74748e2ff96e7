//===- Ptxas.h - Running NVIDIA's assembler ---------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finding ptxas, running it on PTX under a time limit, and reading what it
// says. Nothing here knows MLIR except checkAssembly(), which turns
// complaints into diagnostics.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TARGET_PTX_PTXAS_H
#define JFA_TARGET_PTX_PTXAS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir::jfa {

struct PtxasOptions {
  /// Path of ptxas; see findPtxas().
  std::string path;
  /// Seconds after which one run of ptxas is ended.
  unsigned timeoutSeconds = 300;
  bool lineInfo = false;
  /// How many runs may go on at a time; 0 means one per processor.
  unsigned parallelism = 0;
};

/// Complaints of ptxas that are errors unless allowed here.
struct PtxasPolicy {
  /// Register spills and stack frames.
  bool allowSpills = false;
  /// Serialised or repaired wgmma, and ignored setmaxnreg.
  bool allowPerformanceLoss = false;
};

/// What ptxas says about one kernel.
struct KernelResources {
  std::string entry;
  unsigned registers = 0;
  unsigned barriers = 0;
  uint64_t stackBytes = 0;
  uint64_t spillStoreBytes = 0;
  uint64_t spillLoadBytes = 0;
  uint64_t staticSharedBytes = 0;
};

/// A numbered message, such as C7510.
struct PtxasMessage {
  unsigned code = 0;
  /// The kernel that the message names, or empty.
  std::string function;
  std::string text;
};

/// An error with the line of the PTX it refers to, 0 for none.
struct PtxasError {
  unsigned line = 0;
  std::string text;
};

/// Everything that JFA reads from the output of `ptxas -v`.
struct PtxasLog {
  std::vector<KernelResources> kernels;
  std::vector<PtxasMessage> messages;
  std::vector<PtxasError> errors;
};

PtxasLog parsePtxasLog(StringRef text);

/// Returns "13.0.88" for the output of `ptxas --version`, empty if there is no
/// version in it.
std::string parsePtxasVersion(StringRef text);

/// Finds ptxas: `option` if not empty, else the environment variable JFA_PTXAS,
/// else PATH, else `bin` below CUDA_HOME and CUDA_PATH. What is named
/// explicitly has to exist. On failure `message` says where it looked.
std::string findPtxas(StringRef option, std::string &message);

struct PtxasJob {
  // In.
  std::string ptx;
  std::string arch;
  // Out.
  bool succeeded = false;
  std::string cubin;
  PtxasLog log;
  /// Why there is no cubin, if `log` does not say it.
  std::string failure;
};

/// Assembles every job, several at a time, and asks ptxas for its version.
/// Returns the version, empty if it could not be had.
std::string runPtxas(MutableArrayRef<PtxasJob> jobs,
                     const PtxasOptions &options);

/// Reports what went wrong in `job`, which assembled the kernels of `module`,
/// at the kernels' locations.
LogicalResult checkAssembly(ModuleOp module, const PtxasJob &job,
                            const PtxasPolicy &policy);

} // namespace mlir::jfa

#endif // JFA_TARGET_PTX_PTXAS_H
