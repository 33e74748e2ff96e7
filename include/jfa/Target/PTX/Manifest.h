//===- Manifest.h - What a launcher has to know -----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest of a kernel and the bundle of several. Both are documented in
// docs/Manifest.md, which is the contract with the runtime.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TARGET_PTX_MANIFEST_H
#define JFA_TARGET_PTX_MANIFEST_H

#include "jfa/Target/PTX/Ptxas.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/Support/JSON.h"

namespace mlir::jfa {

/// The version of the manifest and of the bundle's header.
constexpr int64_t manifestSchema = 1;

/// The version of the bundle's layout in bytes.
constexpr uint32_t bundleVersion = 1;

/// Builds the manifest of `kernel`, without its member "cubin", from the
/// attributes that the lowering leaves. Fails after a diagnostic.
FailureOr<llvm::json::Object> buildManifest(LLVM::LLVMFuncOp kernel,
                                            StringRef arch,
                                            const KernelResources &resources,
                                            StringRef ptxasVersion);

/// Collects kernels and the cubins that hold them.
class BundleBuilder {
public:
  /// Adds a cubin and returns its number.
  unsigned addCubin(std::string cubin);

  /// Adds a kernel that is in the cubin with that number.
  void addKernel(llvm::json::Object manifest, unsigned cubin);

  /// {"schema": 1, "kernels": [...]}, for people and tools to read.
  std::string getManifest() const;

  /// The whole bundle.
  std::string getBundle() const;

private:
  /// Offset of every cubin in the blob area, then the size of that area.
  SmallVector<uint64_t> layOut() const;
  llvm::json::Value getHeader() const;

  std::vector<std::string> cubins;
  std::vector<std::pair<llvm::json::Object, unsigned>> kernels;
};

} // namespace mlir::jfa

#endif // JFA_TARGET_PTX_MANIFEST_H
