//===- Memory.h - Shared and global memory with their history -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes, and for every range of them who wrote it last and who has read it
// since, so that accesses which nothing orders are found in any schedule.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_MEMORY_H
#define JFA_SIM_MEMORY_H

#include "jfa/Sim/Clock.h"
#include "jfa/Sim/Report.h"
#include "jfa/Sim/Value.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <string>

namespace mlir::jfa::sim {

/// One access to a range of bytes.
struct Access {
  Epoch epoch;
  Site site = 0;
  /// The task that did it or started it.
  uint32_t task = 0;
  /// Clusters do not wait for each other. A CTA without one is its own.
  uint32_t cluster = 0;
  /// Of the CTA in the cluster that did it or started it.
  uint32_t rank = 0;
  bool isWrite = false;
  /// Through the async proxy.
  bool isAsync = false;
  /// An atomic addition, which may meet others.
  bool isReduction = false;
  /// To tensor memory.
  bool isTensor = false;
  /// An addition whose order among others has to be the same in every schedule.
  bool isOrdered = false;
  /// A generic read that needs a proxy fence before an asynchronous write.
  bool isFencedRead = false;
};

/// What is wrong between an access and an earlier one.
struct Conflict {
  Access earlier;
  Fault fault;
};

/// The history of a range of addresses.
class History {
public:
  /// Whether a generic read too needs a proxy fence before an asynchronous
  /// write.
  bool isStrict = false;

  /// Records `access` to [begin, end) by someone who knows `knowledge`. Calls
  /// `conflict` for earlier accesses that are not ordered before it, and
  /// `unwritten` if bytes are read that nobody has written.
  void record(int64_t begin, int64_t end, const Access &access,
              const Knowledge &knowledge,
              llvm::function_ref<void(const Conflict &)> conflict,
              llvm::function_ref<void()> unwritten);
  /// As if [begin, end) had been written before the kernel started.
  void initialise(int64_t begin, int64_t end);

private:
  struct Segment {
    int64_t end = 0;
    bool written = false;
    /// Of time 0 if it was before the kernel.
    Access lastWrite;
    llvm::SmallVector<Access, 4> reads;
  };
  using Segments = std::map<int64_t, Segment>;

  /// Makes segments begin and end at `at`.
  void split(int64_t at);
  /// Fills gaps so that segments cover [begin, end).
  void cover(int64_t begin, int64_t end);

  Segments segments;
};

/// A tile or a part of one in shared memory: panels of whole rows, one after
/// the other (SharedLayout.h). Swizzles permute bytes within eight rows of a
/// panel, which no view cuts, so they are left out.
struct Geometry {
  ElementKind kind = ElementKind::F32;
  /// Of the view, as it is stored.
  int64_t rows = 0, columns = 0;
  int64_t panelColumns = 0, panelStride = 0, rowPitch = 0;
  bool transposed = false;
};

/// Where a view lies.
struct View {
  Geometry geometry;
  int64_t base = 0;
  int64_t row = 0, column = 0;

  int64_t getOffset(int64_t r, int64_t c) const;
  /// Calls `visit` with the byte ranges of the view, merged where they meet.
  void forEachRange(
      llvm::function_ref<void(int64_t begin, int64_t end)> visit) const;
};

/// The shared memory of a CTA.
class SharedMemory {
public:
  explicit SharedMemory(int64_t size) : bytes(size, 0) {}

  int64_t getSize() const { return int64_t(bytes.size()); }
  uint8_t *at(int64_t offset) { return bytes.data() + offset; }
  /// Whether all of `view` is inside.
  bool contains(const View &view) const;
  TileRef load(const View &view, Shape shape);
  void store(const View &view, const Tile &tile);

  History history;

private:
  std::vector<uint8_t> bytes;
};

/// An array in global memory, row-major.
struct GlobalArray {
  /// More is refused, before it is allocated.
  static constexpr int64_t kMaxElements = int64_t(1) << 31;

  /// Where only the order of accesses matters an array needs no bytes.
  GlobalArray(std::string name, ElementKind kind, Shape shape,
              bool hasBytes = true);

  int64_t getNumElements() const { return int64_t(written.size()); }
  uint8_t *at(int64_t element) {
    return bytes.data() + element * getBytes(kind);
  }
  void setAllWritten();

  std::string name;
  ElementKind kind;
  Shape shape;
  std::vector<uint8_t> bytes;
  /// For each element, whether it has a value.
  std::vector<bool> written;
  /// Whether every element has one.
  bool isComplete = false;
  /// Whether the kernel writes it; if not, reads leave no trace.
  bool isOutput = false;
  /// Whether nothing is known of it: accesses to it are not checked.
  bool isBoundless = false;
  History history;
};

} // namespace mlir::jfa::sim

#endif // JFA_SIM_MEMORY_H
