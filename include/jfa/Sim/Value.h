//===- Value.h - What slots of a program hold -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalars, tiles, views of buffers and products in flight.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_VALUE_H
#define JFA_SIM_VALUE_H

#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace mlir::jfa::sim {

enum class ElementKind { F32, BF16, F16, E4M3, E5M2, I1, I8, I16, I32, I64 };

inline bool isReal(ElementKind kind) { return kind <= ElementKind::E5M2; }
int64_t getBytes(ElementKind kind);

/// Rounds to nearest even, as stores and conversions do. What is too large for
/// a type of eight bits becomes its largest number, as `cvt.rn.satfinite` makes
/// it (PTX ISA 9.7.9.22).
float roundTo(ElementKind kind, float value);
/// The value that the low bits of `value` stand for: signed, except of i1.
int64_t wrapTo(ElementKind kind, int64_t value);

/// An element as it lies in memory.
void encode(ElementKind kind, float value, uint8_t *bytes);
void encode(ElementKind kind, int64_t value, uint8_t *bytes);
float decodeReal(ElementKind kind, const uint8_t *bytes);
int64_t decodeInteger(ElementKind kind, const uint8_t *bytes);
void decodeReals(ElementKind kind, const uint8_t *bytes, int64_t count,
                 float *values);

using Shape = llvm::SmallVector<int64_t, 3>;
int64_t getNumElements(const Shape &shape);

/// A tile in registers, row-major. Values of narrow types are kept as fp32
/// numbers that the type can represent.
struct Tile : llvm::RefCountedBase<Tile> {
  Tile(ElementKind kind, Shape shape) : kind(kind), shape(std::move(shape)) {
    size_t count = getNumElements(this->shape);
    isReal(kind) ? reals.resize(count) : integers.resize(count);
  }

  ElementKind kind;
  Shape shape;
  std::vector<float> reals;
  std::vector<int64_t> integers;
};
using TileRef = llvm::IntrusiveRefCntPtr<Tile>;

struct AsyncOp;
using AsyncRef = llvm::IntrusiveRefCntPtr<AsyncOp>;

struct Value {
  Value();
  Value(const Value &);
  Value(Value &&) noexcept;
  Value &operator=(const Value &);
  Value &operator=(Value &&) noexcept;
  ~Value();

  /// An integer; the first byte of a view; the first mbarrier of an array; the
  /// number of an array in global memory.
  int64_t integer = 0;
  /// Where a view begins in the tile that it is cut from.
  int64_t row = 0, column = 0;
  float real = 0;
  TileRef tile;
  AsyncRef product;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_VALUE_H
