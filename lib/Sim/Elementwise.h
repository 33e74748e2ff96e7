//===- Elementwise.h - Instructions that map elements -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the instructions of ops on scalars or, element by element, on tiles.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_SIM_ELEMENTWISE_H
#define JFA_LIB_SIM_ELEMENTWISE_H

#include "Semantics.h"

#include "mlir/IR/DialectRegistry.h"

namespace mlir::jfa::sim {

/// What an elementwise op works on.
struct Elementwise {
  std::vector<Slot> operands;
  Slot result;
  ElementKind from, to;
  bool isTile;
};

/// Fails after a diagnostic; null where there is nothing to do, because only
/// the order is wanted.
FailureOr<std::optional<Elementwise>> getElementwise(Operation *op,
                                                     ProgramBuilder &builder);

namespace detail {
template <typename T>
T &scalar(sim::Value &value);
template <>
inline float &scalar<float>(sim::Value &value) {
  return value.real;
}
template <>
inline int64_t &scalar<int64_t>(sim::Value &value) {
  return value.integer;
}
template <typename T>
std::vector<T> &elements(Tile &tile);
template <>
inline std::vector<float> &elements<float>(Tile &tile) {
  return tile.reals;
}
template <>
inline std::vector<int64_t> &elements<int64_t>(Tile &tile) {
  return tile.integers;
}
inline float finish(ElementKind kind, float value) {
  return roundTo(kind, value);
}
inline int64_t finish(ElementKind kind, int64_t value) {
  return wrapTo(kind, value);
}
} // namespace detail

/// Appends `result = map(operands...)` with `In` and `Out` being float or
/// int64_t. The result is rounded, or wrapped, to its type.
template <typename Out, typename In, unsigned count, typename Map>
LogicalResult appendMap(Operation *op, ProgramBuilder &builder, Map map) {
  FailureOr<std::optional<Elementwise>> shape = getElementwise(op, builder);
  if (failed(shape) || !*shape) {
    return LogicalResult(shape);
  }
  Elementwise e = **shape;
  Slot a = e.operands[0], b = e.operands[count > 1 ? 1 : 0];
  auto apply = [map](In x, In y) -> Out {
    if constexpr (count == 1) {
      return map(x);
    } else {
      return map(x, y);
    }
  };
  if (!e.isTile) {
    builder.append(op, [=](Machine &, Task &task) {
      detail::scalar<Out>(task[e.result]) =
          detail::finish(e.to, apply(detail::scalar<In>(task[a]),
                                     detail::scalar<In>(task[b])));
    });
    return success();
  }
  builder.append(op, [=](Machine &, Task &task) {
    const auto &x = detail::elements<In>(*task[a].tile);
    const auto &y = detail::elements<In>(*task[b].tile);
    TileRef tile(new Tile(e.to, task[a].tile->shape));
    auto &out = detail::elements<Out>(*tile);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = apply(x[i], y[i]);
    }
    if (e.to != ElementKind::F32 && e.to != ElementKind::I64) {
      for (Out &value : out) {
        value = detail::finish(e.to, value);
      }
    }
    task[e.result].tile = std::move(tile);
  });
  return success();
}

} // namespace mlir::jfa::sim

#endif // JFA_LIB_SIM_ELEMENTWISE_H
