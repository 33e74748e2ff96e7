//===- Fragments.h - Tiles in memory as threads hold them -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer may hold a tile of sums as a product leaves it in registers, thread
// after thread, instead of by rows: accesses of 16 bytes without conflicts, for
// what is copied out whole and read back alike, perhaps by another kernel.
//
// `tlx.local_store` and `tlx.local_load` do that with `fragments`. The tile is
// of f32 and has the layout of accumulators (PTX ISA 9.7.15.5.1), 64 rows for
// each warpgroup of the task. Registers 4 i to 4 i + 3 of thread t of T take
// the 16 bytes from (i T + t) 16 on.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_FRAGMENTS_H
#define JFA_DIALECT_TLX_IR_FRAGMENTS_H

namespace mlir::jfa::tlx {

/// Of four registers, which one access moves.
inline constexpr unsigned kFragmentBytes = 16;

} // namespace mlir::jfa::tlx

#endif // JFA_DIALECT_TLX_IR_FRAGMENTS_H
