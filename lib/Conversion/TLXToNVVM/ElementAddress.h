//===- ElementAddress.h - Where a thread's elements lie -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses in shared memory of the elements of a tile that a thread holds.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_ELEMENTADDRESS_H
#define JFA_LIB_CONVERSION_TLXTONVVM_ELEMENTADDRESS_H

#include "LoweringBuilder.h"

#include "jfa/Dialect/TLX/IR/SharedLayout.h"

namespace mlir::jfa::tlx {

/// Where a thread's elements of a tile lie in a buffer.
class ElementAddress {
public:
  /// `thread` is the coordinate of the thread's first element in the view;
  /// `withinPanel` the largest column of a panel that any thread begins at,
  /// `threadBits` has every bit of a thread's first address in the view.
  /// `layout` has to outlive this.
  ElementAddress(LoweringBuilder &b, MemDescType type,
                 const SharedLayout &layout, Value base, ValueRange thread,
                 int64_t withinPanel, int64_t threadBits = -1);

  /// The pointer to the element `offset` after the thread's first.
  Value get(ArrayRef<int64_t> offset);

private:
  /// The address `bytes` after the thread's first, within the pattern.
  Value getNear(int64_t bytes);
  Value getBytes(Value atRow, Value atColumn);
  /// The swizzle looks at address bits, so it is applied to the address.
  Value swizzled(Value address);

  /// The row and the column as they are stored.
  template <typename T>
  std::pair<T, T> getStored(SmallVector<T> at, T none) const {
    T inner = at.back(), outer = at.size() > 1 ? at[at.size() - 2] : none;
    return type.getTransposed() ? std::pair(inner, outer)
                                : std::pair(outer, inner);
  }

  LoweringBuilder &b;
  MemDescType type;
  const SharedLayout &layout;
  int64_t withinPanel;
  /// Bits of an address that may be set within a pattern.
  int64_t usedBits;
  Value row, column, start;
  llvm::SmallDenseMap<int64_t, Value> swizzledStarts;
};

/// The addresses of a thread's elements of `tile` in a buffer of `type`.
ElementAddress makeAddress(LoweringBuilder &b, MemDescType type,
                           const SharedLayout &layout, Value base,
                           RankedTensorType tile, const TaskThreads &task);

/// How many registers one after the other hold elements side by side in the
/// buffer, for every thread, so that one access of up to 16 bytes moves them.
int64_t getVectorLength(MemDescType type, RankedTensorType tile,
                        const SharedLayout &layout);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_ELEMENTADDRESS_H
