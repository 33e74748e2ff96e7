//===- RegisterLayout.cpp - Arithmetic on register layouts -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

LayoutAttr tlx::getAccumulatorLayout(MLIRContext *context,
                                     ArrayRef<int64_t> shape, int64_t threads) {
  assert(shape.size() == 2 && threads % 128 == 0);
  SmallVector<LayoutMode> threadModes = {{4, 1, 2}, {8, 0, 1}, {4, 0, 16}};
  int64_t rowsPerStep = threads / 128 * 64;
  if (threads > 128) {
    threadModes.push_back({threads / 128, 0, 64});
  }
  SmallVector<LayoutMode> registerModes = {{2, 1, 1}, {2, 0, 8}};
  if (shape[1] > 8) {
    registerModes.push_back({shape[1] / 8, 1, 8});
  }
  if (shape[0] > rowsPerStep) {
    registerModes.push_back({shape[0] / rowsPerStep, 0, rowsPerStep});
  }
  return LayoutAttr::get(context, threadModes, registerModes);
}

LayoutAttr tlx::getDefaultLayout(RankedTensorType tile, int64_t threads) {
  SmallVector<LayoutMode> threadModes, registerModes;
  int64_t remaining = threads;
  Type element = tile.getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  for (int64_t dim = tile.getRank() - 1; dim >= 0; --dim) {
    int64_t extent = tile.getDimSize(dim);
    // One 16-byte vector of the contiguous dimension for each thread.
    int64_t vector = 1;
    if (dim == tile.getRank() - 1) {
      vector = std::gcd(std::max<int64_t>(1, 128 / bits), extent);
      while (vector > 1 && extent / vector < remaining && tile.getRank() == 1) {
        vector /= 2;
      }
    }
    int64_t along = std::gcd(extent / vector, remaining);
    remaining /= along;
    if (vector > 1) {
      registerModes.push_back({vector, dim, 1});
    }
    if (along > 1) {
      threadModes.push_back({along, dim, vector});
    }
    if (extent > vector * along) {
      registerModes.push_back({extent / (vector * along), dim, vector * along});
    }
  }
  if (remaining > 1) {
    threadModes.push_back({remaining, LayoutMode::kReplicated, 0});
  }
  return LayoutAttr::get(tile.getContext(), threadModes, registerModes);
}

/// Removes the modes of `dim` and renumbers the others by `renumber`.
template <typename Fn>
static LayoutAttr rebuild(LayoutAttr layout, std::optional<unsigned> removed,
                          Fn renumber) {
  SmallVector<LayoutMode> threads, registers;
  for (LayoutMode mode : layout.getThreads()) {
    if (!mode.isReplicated() && removed && mode.dim == *removed) {
      mode = {mode.count, LayoutMode::kReplicated, 0};
    } else if (!mode.isReplicated()) {
      mode.dim = renumber(mode.dim);
    }
    threads.push_back(mode);
  }
  for (LayoutMode mode : layout.getRegisters()) {
    if (!removed || mode.dim != *removed) {
      mode.dim = renumber(mode.dim);
      registers.push_back(mode);
    }
  }
  return LayoutAttr::get(layout.getContext(), threads, registers);
}

LayoutAttr tlx::collapseDim(LayoutAttr layout, unsigned dim) {
  return rebuild(layout, dim, [](int64_t d) { return d; });
}

LayoutAttr tlx::dropDim(LayoutAttr layout, unsigned dim) {
  return rebuild(layout, dim, [dim](int64_t d) { return d > dim ? d - 1 : d; });
}

LayoutAttr tlx::insertDim(LayoutAttr layout, unsigned dim) {
  return rebuild(layout, std::nullopt,
                 [dim](int64_t d) { return d >= dim ? d + 1 : d; });
}

LayoutAttr tlx::getPartialLayout(LayoutAttr layout, unsigned dim,
                                 int64_t groups, int64_t run) {
  SmallVector<LayoutMode> threads, registers;
  bool found = false;
  for (LayoutMode mode : layout.getThreads()) {
    if (mode.dim == dim) {
      // The threads along the dimension have to be the groups.
      if (found || mode.count != groups || mode.stride != run) {
        return {};
      }
      found = true;
      mode.stride = 1;
    }
    threads.push_back(mode);
  }
  for (LayoutMode mode : layout.getRegisters()) {
    if (mode.dim != dim) {
      registers.push_back(mode);
      continue;
    }
    // Elements of one thread have to belong to its group: within a run, or
    // whole periods apart.
    bool withinRun = mode.count * mode.stride <= run;
    bool wholePeriods = mode.stride % (groups * run) == 0;
    if (!withinRun && !wholePeriods) {
      return {};
    }
  }
  return found ? LayoutAttr::get(layout.getContext(), threads, registers)
               : LayoutAttr();
}

static SmallVector<int64_t> offsetOf(ArrayRef<LayoutMode> modes, unsigned rank,
                                     int64_t number) {
  SmallVector<int64_t> offset(rank, 0);
  for (const LayoutMode &mode : modes) {
    int64_t digit = number % mode.count;
    number /= mode.count;
    if (!mode.isReplicated()) {
      offset[mode.dim] += digit * mode.stride;
    }
  }
  return offset;
}

SmallVector<int64_t> tlx::getRegisterOffset(LayoutAttr layout, unsigned rank,
                                            int64_t reg) {
  return offsetOf(layout.getRegisters(), rank, reg);
}

SmallVector<int64_t> tlx::getThreadOffset(LayoutAttr layout, unsigned rank,
                                          int64_t thread) {
  return offsetOf(layout.getThreads(), rank, thread);
}

/// Whether sums of the modes' steps hit each of 0 .. extent-1 exactly once.
static bool coversExactly(SmallVector<LayoutMode> modes, int64_t extent) {
  llvm::sort(modes, [](const LayoutMode &a, const LayoutMode &b) {
    return a.stride < b.stride;
  });
  int64_t covered = 1;
  for (const LayoutMode &mode : modes) {
    if (mode.count == 1) {
      continue;
    }
    if (mode.stride != covered) {
      return false;
    }
    covered *= mode.count;
  }
  return covered == extent;
}

LogicalResult
tlx::verifyLayoutCovers(LayoutAttr layout, ArrayRef<int64_t> shape,
                        function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<SmallVector<LayoutMode>> perDim(shape.size());
  for (ArrayRef<LayoutMode> modes :
       {layout.getThreads(), layout.getRegisters()}) {
    for (const LayoutMode &mode : modes) {
      if (mode.isReplicated()) {
        continue;
      }
      if (mode.dim >= static_cast<int64_t>(shape.size())) {
        return emitError() << "expected modes of dimensions below "
                           << shape.size() << ", but got dimension "
                           << mode.dim;
      }
      perDim[mode.dim].push_back(mode);
    }
  }
  for (auto [dim, modes] : llvm::enumerate(perDim)) {
    if (!coversExactly(modes, shape[dim])) {
      return emitError() << "expected the layout to hold every element of "
                            "dimension "
                         << dim << ", of extent " << shape[dim]
                         << ", exactly once";
    }
  }
  return success();
}

RankedTensorType tlx::getTileType(Type type) {
  if (auto pending = dyn_cast<PendingType>(type)) {
    return pending.getTile();
  }
  return dyn_cast<RankedTensorType>(type);
}

Type tlx::withLayout(Type type, LayoutAttr layout) {
  RankedTensorType tile = getTileType(type).cloneWithEncoding(layout);
  return isa<PendingType>(type)
             ? Type(PendingType::get(type.getContext(), tile))
             : Type(tile);
}

LayoutAttr tlx::getLayout(Type type) {
  RankedTensorType tile = getTileType(type);
  return tile ? dyn_cast_or_null<LayoutAttr>(tile.getEncoding()) : LayoutAttr();
}

/// The numbers, in row-major order, of the elements that threads `begin` to
/// `begin + count - 1` hold.
static llvm::DenseSet<int64_t> elementsOf(LayoutAttr layout,
                                          ArrayRef<int64_t> shape,
                                          int64_t begin, int64_t count) {
  auto linearize = [&](ArrayRef<int64_t> coordinate) {
    int64_t number = 0;
    for (auto [extent, at] : llvm::zip_equal(shape, coordinate)) {
      number = number * extent + at;
    }
    return number;
  };
  unsigned rank = shape.size();
  llvm::DenseSet<int64_t> elements;
  for (int64_t thread = begin; thread < begin + count; ++thread) {
    // Offsets add up, also as numbers: no sum carries into another dimension.
    int64_t base = linearize(getThreadOffset(layout, rank, thread));
    for (int64_t reg = 0, end = layout.getNumRegisters(); reg < end; ++reg) {
      elements.insert(base + linearize(getRegisterOffset(layout, rank, reg)));
    }
  }
  return elements;
}

ElementMovement tlx::getElementMovement(LayoutAttr from, LayoutAttr to,
                                        ArrayRef<int64_t> shape) {
  constexpr int64_t kWarp = 32;
  int64_t threads = std::min(from.getNumThreads(), to.getNumThreads());
  auto staysWithin = [&](int64_t group) {
    for (int64_t begin = 0; begin < threads; begin += group) {
      if (!llvm::set_is_subset(elementsOf(to, shape, begin, group),
                               elementsOf(from, shape, begin, group))) {
        return false;
      }
    }
    return true;
  };
  if (staysWithin(1)) {
    return ElementMovement::WithinThreads;
  }
  return staysWithin(kWarp) ? ElementMovement::WithinWarps
                            : ElementMovement::BetweenWarps;
}
