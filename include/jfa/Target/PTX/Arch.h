//===- Arch.h - The GPU architectures that JFA knows ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of architectures with the PTX version each is compiled with.
// Everything that takes an architecture by name looks it up here, so that an
// unknown one is refused in the same words everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TARGET_PTX_ARCH_H
#define JFA_TARGET_PTX_ARCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::jfa {

struct ArchInfo {
  /// As `ptxas -arch` and LLVM's NVPTX backend spell it.
  llvm::StringRef name;
  /// PTX ISA version, 10 * major + minor: the oldest one that has everything
  /// the lowering uses on this architecture, so that older assemblers work.
  unsigned ptxVersion;
};

llvm::ArrayRef<ArchInfo> getKnownArchs();

/// Returns null if there is no such architecture.
const ArchInfo *findArch(llvm::StringRef name);

/// "sm_90a, sm_100a, ..." for messages.
std::string listKnownArchs();

} // namespace mlir::jfa

#endif // JFA_TARGET_PTX_ARCH_H
