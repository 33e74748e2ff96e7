//===- Workspace.cpp - Work lists in a caller's memory ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"

using namespace jfa::runtime;

Status jfa::runtime::checkWorkspace(const void *workspace, size_t bytes,
                                    size_t needed) {
  if (bytes < needed) {
    return invalid("workspace_bytes", "to be at least ", needed, ", but got ",
                   bytes);
  }
  if (!workspace && needed > 0) {
    return invalid("workspace", "to be a device pointer, but got null");
  }
  if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0) {
    return invalid("workspace", "to be aligned to ", kWorkspaceAlignment,
                   " bytes, but got ", workspace);
  }
  return success();
}

Status jfa::runtime::copyWorkList(const Driver &driver, const WorkList &work,
                                  const void *address, Driver::Stream stream) {
  auto copy = [&](size_t offset, const void *from, size_t bytes) {
    return driver.check(driver.copyToDeviceAsync(
                            reinterpret_cast<Driver::Pointer>(address) + offset,
                            from, bytes, stream),
                        "copy the work list");
  };
  size_t starts = getItemBytes(work), tiles = starts + getStartBytes(work);
  Status status = copy(0, work.items.data(), starts);
  if (!status.failed()) {
    status = copy(starts, work.starts.data(), getStartBytes(work));
  }
  return status.failed() || work.tiles.empty()
             ? status
             : copy(tiles, work.tiles.data(),
                    work.tiles.size() * sizeof(int32_t));
}
