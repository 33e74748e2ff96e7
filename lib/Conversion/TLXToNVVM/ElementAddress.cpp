//===- ElementAddress.cpp - Where a thread's elements lie -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementAddress.h"

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Bytes after which every swizzle repeats (PTX ISA 5.5.7).
static constexpr int64_t kPatternBytes = 1024;

/// Whether `address` is known to be a multiple of the swizzle's pattern, as it
/// is if it was made from a buffer's and whole patterns.
static bool isAtPattern(Value address) {
  if (auto add = address.getDefiningOp<arith::AddIOp>()) {
    return isAtPattern(add.getLhs()) && isAtPattern(add.getRhs());
  }
  if (auto product = address.getDefiningOp<arith::MulIOp>()) {
    return isAtPattern(product.getRhs());
  }
  std::optional<int64_t> constant = getConstantIntValue(address);
  return constant ? *constant % kPatternBytes == 0
                  : bool(address.getDefiningOp<LLVM::PtrToIntOp>());
}

ElementAddress::ElementAddress(LoweringBuilder &b, MemDescType type,
                               const SharedLayout &layout, Value base,
                               ValueRange thread, int64_t withinPanel,
                               int64_t threadBits)
    : b(b), type(type), layout(layout), withinPanel(withinPanel),
      usedBits(isAtPattern(base) ? threadBits : -1) {
  std::tie(row, column) = getStored(llvm::to_vector(thread), Value());
  start = b.add(base, getBytes(row, column));
}

Value ElementAddress::get(ArrayRef<int64_t> offset) {
  auto [rows, columns] = getStored(llvm::to_vector(offset), int64_t(0));
  int64_t panel = columns / layout.panelColumns;
  int64_t within = columns % layout.panelColumns;
  int64_t bytes = panel * layout.panelStrideBytes +
                  rows * layout.rowPitchBytes + within * layout.elementBytes;
  if (within + withinPanel >= layout.panelColumns) {
    // Some threads are in the next panel, others are not.
    Value there = b.addConstant(column, columns);
    Value distance = b.create<arith::SubIOp>(getBytes(Value(), there),
                                             getBytes(Value(), column));
    bytes = rows * layout.rowPitchBytes;
    Value address = b.addConstant(b.add(start, distance), bytes);
    return b.sharedPointer(swizzled(address));
  }
  // The swizzle looks at bits below this, so that what is added above them
  // may be added afterwards, where the instruction holds it.
  int64_t far =
      layout.swizzleBytes ? bytes / kPatternBytes * kPatternBytes : bytes;
  return b.sharedPointer(b.addConstant(getNear(bytes - far), far));
}

Value ElementAddress::getNear(int64_t bytes) {
  Value near = swizzledStarts.lookup(bytes);
  if (near) {
    return near;
  }
  if (bytes == 0 || layout.swizzleBytes == 0 || (bytes & usedBits) != 0) {
    near = swizzled(b.addConstant(start, bytes));
  } else {
    // Nothing carries, so that the swizzle of the sum is that of its parts.
    int64_t flips = bytes ^ (bytes >> 3 & (layout.swizzleBytes - 16));
    near = b.create<arith::XOrIOp>(getNear(0), b.i32(flips));
  }
  swizzledStarts[bytes] = near;
  return near;
}

Value ElementAddress::getBytes(Value atRow, Value atColumn) {
  Value bytes = b.mulConstant(b.remConstant(atColumn, layout.panelColumns),
                              layout.elementBytes);
  if (layout.numPanels > 1) {
    Value panel = b.divConstant(atColumn, layout.panelColumns);
    bytes = b.add(bytes, b.mulConstant(panel, layout.panelStrideBytes));
  }
  return atRow ? b.add(bytes, b.mulConstant(atRow, layout.rowPitchBytes))
               : bytes;
}

Value ElementAddress::swizzled(Value address) {
  if (layout.swizzleBytes == 0) {
    return address;
  }
  Value bits = b.create<arith::ShRUIOp>(address, b.i32(3));
  int64_t mask = layout.swizzleBytes - 16;
  Value flip = b.create<arith::AndIOp>(bits, b.i32(mask));
  return b.create<arith::XOrIOp>(address, flip);
}

static unsigned getContiguousDim(MemDescType type) {
  return type.getTransposed() ? type.getRank() - 2 : type.getRank() - 1;
}

ElementAddress tlx::makeAddress(LoweringBuilder &b, MemDescType type,
                                const SharedLayout &layout, Value base,
                                RankedTensorType tile,
                                const TaskThreads &task) {
  LayoutAttr registers = getLayout(tile);
  SmallVector<Value> thread;
  for (int64_t dim = 0; dim < tile.getRank(); ++dim) {
    thread.push_back(threadCoordinate(b, registers, task, dim));
  }
  int64_t withinPanel = 0, threadBits = 0;
  unsigned contiguous = getContiguousDim(type);
  for (int64_t i = 0; i < registers.getNumThreads(); ++i) {
    SmallVector<int64_t> at = getThreadOffset(registers, tile.getRank(), i);
    int64_t column = at[contiguous] % layout.panelColumns;
    withinPanel = std::max(withinPanel, column);
    int64_t row =
        tile.getRank() > 1 ? at[tile.getRank() * 2 - 3 - contiguous] : 0;
    threadBits |= column * layout.elementBytes | row * layout.rowPitchBytes;
  }
  return ElementAddress(b, type, layout, base, thread, withinPanel, threadBits);
}

int64_t tlx::getVectorLength(MemDescType type, RankedTensorType tile,
                             const SharedLayout &layout) {
  unsigned dim = getContiguousDim(type);
  LayoutAttr registers = getLayout(tile);
  if (registers.getRegisters().empty()) {
    return 1;
  }
  LayoutMode first = registers.getRegisters().front();
  if (first.dim != dim || first.stride != 1) {
    return 1;
  }
  int64_t length = std::gcd(first.count, 16 / layout.elementBytes);
  for (ArrayRef<LayoutMode> modes :
       {registers.getThreads(), registers.getRegisters().drop_front()}) {
    for (const LayoutMode &mode : modes) {
      if (mode.dim == dim && mode.count > 1) {
        length = std::gcd(length, mode.stride);
      }
    }
  }
  return length;
}
