//===- WgmmaProduct.h - A matrix product in flight -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_WGMMAPRODUCT_H
#define JFA_LIB_EMU_WGMMAPRODUCT_H

#include "Semantics.h"

namespace mlir::jfa::emu {

/// What an instruction says, apart from its operands' values.
struct ProductShape {
  unsigned n, k, elementBytes;
  Type a, b, d;
  bool isDescriptorA, transA, transB, negA, negB;
};

/// A product in flight.
struct Product {
  ProductShape shape;
  uint64_t descriptorA = 0, descriptorB = 0;
  bool accumulates = false;
  /// Rows of the warpgroup's tile.
  uint32_t firstRow = 0;
  std::vector<uint32_t> a;
  llvm::SmallVector<uint32_t, 0> accumulators;
};

/// Reads the operands, and writes the warp's 16 rows of D.
void multiply(Warp &warp, AsyncWork &work, const Product &product);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_WGMMAPRODUCT_H
