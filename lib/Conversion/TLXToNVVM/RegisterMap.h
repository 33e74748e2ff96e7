//===- RegisterMap.h - Which register holds which element -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inverse of a layout's register offsets.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_REGISTERMAP_H
#define JFA_LIB_CONVERSION_TLXTONVVM_REGISTERMAP_H

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include <map>

namespace mlir::jfa::tlx {

/// Finds a thread's register of a tile by the coordinate that it adds.
class RegisterMap {
public:
  explicit RegisterMap(RankedTensorType tile)
      : layout(getLayout(tile)), rank(tile.getRank()) {
    for (int64_t i = 0; i < size(); ++i) {
      registers.try_emplace(offset(i), i);
    }
  }

  int64_t size() const { return layout.getNumRegisters(); }
  SmallVector<int64_t> offset(int64_t reg) const {
    return getRegisterOffset(layout, rank, reg);
  }
  std::optional<int64_t> find(const SmallVector<int64_t> &offset) const {
    auto it = registers.find(offset);
    return it == registers.end() ? std::nullopt
                                 : std::optional<int64_t>(it->second);
  }

private:
  LayoutAttr layout;
  unsigned rank;
  std::map<SmallVector<int64_t>, int64_t> registers;
};

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_REGISTERMAP_H
