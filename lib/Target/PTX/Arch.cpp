//===- Arch.cpp - The GPU architectures that JFA knows ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row per architecture. Only the architecture-specific ('a') variants are
// here: wgmma, setmaxnreg and tcgen05 exist in no other.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Arch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::jfa;

static constexpr ArchInfo knownArchs[] = {
    {"sm_90a", 86},  {"sm_100a", 86}, {"sm_103a", 88},
    {"sm_110a", 90}, {"sm_120a", 87}, {"sm_121a", 88},
};

llvm::ArrayRef<ArchInfo> mlir::jfa::getKnownArchs() { return knownArchs; }

const ArchInfo *mlir::jfa::findArch(llvm::StringRef name) {
  const ArchInfo *it = llvm::find_if(
      knownArchs, [&](const ArchInfo &arch) { return arch.name == name; });
  return it == std::end(knownArchs) ? nullptr : it;
}

std::string mlir::jfa::listKnownArchs() {
  return llvm::join(
      llvm::map_range(knownArchs,
                      [](const ArchInfo &arch) { return arch.name; }),
      ", ");
}
