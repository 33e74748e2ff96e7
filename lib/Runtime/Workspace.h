//===- Workspace.h - Work lists in a caller's memory ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_WORKSPACE_H
#define JFA_LIB_RUNTIME_WORKSPACE_H

#include "Driver.h"
#include "WorkList.h"

namespace jfa::runtime {

/// Every part of a workspace starts at a multiple of so many bytes.
constexpr size_t kWorkspaceAlignment = 16;

inline size_t alignWorkspace(size_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment *
         kWorkspaceAlignment;
}

/// Checks a workspace of `bytes` bytes, of which `needed` are needed.
Status checkWorkspace(const void *workspace, size_t bytes, size_t needed);

/// What a list's items and starts take, which come first, then its tile counts,
/// and what all take.
inline size_t getItemBytes(const WorkList &work) {
  return work.items.size() * sizeof(WorkItem);
}
inline size_t getStartBytes(const WorkList &work) {
  return work.starts.size() * sizeof(int32_t);
}
inline size_t getWorkListBytes(const WorkList &work) {
  return getItemBytes(work) +
         alignWorkspace(getStartBytes(work) +
                        work.tiles.size() * sizeof(int32_t));
}

/// Copies a list to `address` on the device.
Status copyWorkList(const Driver &driver, const WorkList &work,
                    const void *address, Driver::Stream stream);

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_WORKSPACE_H
