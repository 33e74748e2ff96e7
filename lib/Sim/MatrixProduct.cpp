//===- MatrixProduct.cpp - Products of tiles -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

#include <Eigen/Core>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;

TileRef sim::multiply(const Tile &a, bool transposeA, const Tile &b,
                      bool transposeB, const Tile *c, int64_t rows,
                      int64_t inner, int64_t columns) {
  TileRef result(new Tile(ElementKind::F32, {rows, columns}));
  if (c) {
    result->reals = c->reals;
  }
  Eigen::Map<Matrix> sum(result->reals.data(), rows, columns);
  ConstMap left(a.reals.data(), transposeA ? inner : rows,
                transposeA ? rows : inner);
  ConstMap right(b.reals.data(), transposeB ? columns : inner,
                 transposeB ? inner : columns);
  if (transposeA && transposeB) {
    sum.noalias() += left.transpose() * right.transpose();
  } else if (transposeA) {
    sum.noalias() += left.transpose() * right;
  } else if (transposeB) {
    sum.noalias() += left * right.transpose();
  } else {
    sum.noalias() += left * right;
  }
  return result;
}
