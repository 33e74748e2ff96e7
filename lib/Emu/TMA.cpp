//===- TMA.cpp - Bulk copies -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.25 to 9.7.9.28. A load becomes visible, then signals; a store
// reads shared memory, then writes global memory.
//
//===----------------------------------------------------------------------===//

#include "TMA.h"
#include "Numerics.h"

#include "jfa/Emu/TensorMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

namespace {
enum class Reduction : uint8_t { None, Add, Min, Max, And, Or, Xor };

/// A tensor map and where its box lies.
struct Box {
  TensorMap map;
  std::array<int64_t, 5> start = {};

  uint64_t getRowBytes() const {
    return uint64_t(map.box[0]) * map.elementBytes;
  }
  uint64_t getBytes() const { return getRowBytes() * map.getRows(); }
};

/// Bytes of a row that lie in the tensor: from `first`, at an address.
struct Segment {
  uint64_t first = 0, bytes = 0, address = 0;
};
} // namespace

/// Which part of row `row` of a box is in bounds.
static Segment getSegment(const Box &box, uint32_t row) {
  const TensorMap &map = box.map;
  Segment segment;
  uint64_t address = map.base;
  for (unsigned d = 1; d < map.rank; ++d) {
    int64_t at = box.start[d] + row % map.box[d];
    row /= map.box[d];
    if (at < 0 || uint64_t(at) >= map.extents[d]) {
      return segment;
    }
    address += uint64_t(at) * map.strides[d - 1];
  }
  int64_t first = std::max<int64_t>(0, -box.start[0]);
  int64_t end =
      std::min<int64_t>(map.box[0], int64_t(map.extents[0]) - box.start[0]);
  if (first < end) {
    segment.first = uint64_t(first) * map.elementBytes;
    segment.bytes = uint64_t(end - first) * map.elementBytes;
    segment.address =
        address + uint64_t(box.start[0] + first) * map.elementBytes;
  }
  return segment;
}

/// Calls `visit(global, shared offset, bytes)` for pieces of at most 16 bytes.
template <typename Visit>
static void forEachPiece(const Box &box, uint32_t row, uint32_t shared,
                         Visit visit) {
  for (uint64_t at = 0; at < box.getRowBytes(); at += 16) {
    auto linear = uint32_t(shared + row * box.map.getPitch() + at);
    visit(at, swizzleAddress(linear, box.map.swizzle),
          std::min<uint64_t>(16, box.getRowBytes() - at));
  }
}

/// The bytes of shared memory that a box touches, as few ranges as possible.
static bool accessShared(Machine &machine, AsyncWork &work, const Box &box,
                         uint64_t generic, bool isWrite) {
  uint64_t bytes = uint64_t(box.map.getPitch()) * box.map.getRows();
  Place all = machine.locate(generic, bytes);
  if (all.kind != Place::Shared) {
    machine.fault(Fault::OutOfBounds, work.line,
                  "expects a tile of " + std::to_string(bytes) +
                      " bytes inside of shared memory, but it begins at " +
                      toHex(generic));
    return false;
  }
  if (box.getRowBytes() == box.map.getPitch()) {
    return machine.access(work, all, int64_t(bytes), isWrite);
  }
  for (uint32_t row = 0; row < box.map.getRows(); ++row) {
    forEachPiece(box, row, uint32_t(all.offset),
                 [&](uint64_t, uint32_t offset, uint64_t size) {
                   uint64_t at = generic + offset - uint64_t(all.offset);
                   machine.access(work, machine.locate(at, size), int64_t(size),
                                  isWrite);
                 });
  }
  return true;
}

static Place locateSegment(Machine &machine, AsyncWork &work,
                           const Segment &segment) {
  Place place = machine.locate(segment.address, segment.bytes);
  if (place.kind != Place::Global) {
    machine.fault(Fault::OutOfBounds, work.line,
                  "the tensor map leads to " + toHex(segment.address) +
                      ", where there is no global memory");
    return {};
  }
  return place;
}

static void loadTile(Machine &machine, AsyncWork &work, const Box &box,
                     uint64_t generic) {
  if (!accessShared(machine, work, box, generic, true)) {
    return;
  }
  Place tile = machine.locate(generic, 1);
  uint8_t *shared = tile.bytes - tile.offset;
  std::vector<uint8_t> row(box.getRowBytes());
  bool touches = false;
  for (uint32_t r = 0; r < box.map.getRows(); ++r) {
    std::fill(row.begin(), row.end(), 0);
    Segment segment = getSegment(box, r);
    if (segment.bytes) {
      touches = true;
      Place from = locateSegment(machine, work, segment);
      if (!from.bytes) {
        return;
      }
      machine.access(work, from, int64_t(segment.bytes), false);
      std::memcpy(row.data() + segment.first, from.bytes, segment.bytes);
    }
    forEachPiece(box, r, uint32_t(tile.offset),
                 [&](uint64_t at, uint32_t offset, uint64_t size) {
                   std::memcpy(shared + offset, row.data() + at, size);
                 });
  }
  // The unit touches the base of a map of which a box has nothing.
  if (!touches && machine.locate(box.map.base, 1).kind == Place::Nowhere) {
    machine.fault(Fault::OutOfBounds, work.line,
                  "no element of the box lies inside of the tensor, whose map "
                  "begins at " +
                      toHex(box.map.base) + ", where there is no memory");
  }
}

static void reduceElement(const TensorMap &map, Reduction reduction,
                          uint8_t *to, const uint8_t *from) {
  auto kind = sim::ElementKind(map.element);
  if (sim::isReal(kind)) {
    float a = sim::decodeReal(kind, to), b = sim::decodeReal(kind, from);
    float result = reduction == Reduction::Add   ? a + b
                   : reduction == Reduction::Min ? std::fmin(a, b)
                                                 : std::fmax(a, b);
    sim::encode(kind, result, to);
    return;
  }
  int64_t a = sim::decodeInteger(kind, to), b = sim::decodeInteger(kind, from);
  int64_t result = a;
  switch (reduction) {
  case Reduction::Min:
    result = std::min(a, b);
    break;
  case Reduction::Max:
    result = std::max(a, b);
    break;
  case Reduction::And:
    result = a & b;
    break;
  case Reduction::Or:
    result = a | b;
    break;
  case Reduction::Xor:
    result = a ^ b;
    break;
  default:
    result = a + b;
  }
  sim::encode(kind, result, to);
}

static void storeTile(Machine &machine, AsyncWork &work, const Box &box,
                      const std::vector<uint8_t> &tile, Reduction reduction) {
  for (uint32_t r = 0; r < box.map.getRows(); ++r) {
    Segment segment = getSegment(box, r);
    if (!segment.bytes) {
      continue;
    }
    // Measured on an H200: of a row that ends within 16 bytes all 16 are
    // written.
    segment.bytes = std::min(llvm::alignTo(segment.bytes, uint64_t(16)),
                             box.getRowBytes() - segment.first);
    Place to = locateSegment(machine, work, segment);
    if (!to.bytes) {
      return;
    }
    machine.access(work, to, int64_t(segment.bytes), true,
                   reduction != Reduction::None);
    machine.markWritten(to, int64_t(segment.bytes));
    const uint8_t *from = tile.data() + r * box.getRowBytes() + segment.first;
    if (reduction == Reduction::None) {
      std::memcpy(to.bytes, from, segment.bytes);
      continue;
    }
    for (uint64_t at = 0; at < segment.bytes; at += box.map.elementBytes) {
      reduceElement(box.map, reduction, to.bytes + at, from + at);
    }
  }
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

/// Reads a tensor map and checks what the hardware checks.
static bool makeBox(Warp &warp, const Argument &address, unsigned lane,
                    uint64_t shared, bool isStore, Box &box) {
  uint64_t generic = warp.getAddress(address, lane);
  Place place = warp.machine.locate(generic, 128);
  if (place.kind != Place::Parameter && place.kind != Place::Global) {
    warp.fault(Fault::Illegal, "expects a tensor map at " + toHex(generic) +
                                   ", where there is none");
    return false;
  }
  std::memcpy(&box.map, place.bytes, sizeof(TensorMap));
  if (box.map.magic != kTensorMapMagic) {
    warp.fault(Fault::Illegal, "expects a tensor map at " + toHex(generic) +
                                   ", but there is something else");
    return false;
  }
  if (address.parts.size() != box.map.rank) {
    warp.fault(Fault::Illegal, "gives " + std::to_string(address.parts.size()) +
                                   " coordinates for a tensor map of rank " +
                                   std::to_string(box.map.rank));
    return false;
  }
  bool isNegative = false;
  for (unsigned d = 0; d < box.map.rank; ++d) {
    box.start[d] = int32_t(warp.get(address.parts[d], lane));
    isNegative |= box.start[d] < 0;
  }
  // Measured on an H200: these are illegal instructions.
  if (isStore && isNegative) {
    warp.fault(Fault::Illegal,
               "expects coordinates that are not negative in a store");
    return false;
  }
  if (box.start[0] * box.map.elementBytes % 16 != 0) {
    warp.fault(Fault::Misaligned,
               "expects the first coordinate to be a multiple of 16 bytes, but "
               "got element " +
                   std::to_string(box.start[0]));
    return false;
  }
  if (shared % 128 != 0) {
    warp.fault(Fault::Misaligned,
               "expects a tile at a multiple of 128 bytes, but got " +
                   toHex(shared));
    return false;
  }
  return true;
}

/// Flags of a load.
static constexpr uint64_t kMulticast = 1, kPair = 2;

/// The CTAs that a load goes to: its address's own, or those of a mask.
template <typename Visit>
static void forEachTarget(Warp &warp, const Instruction &i,
                          const Argument &mask, unsigned lane, uint64_t to,
                          Visit visit) {
  if (!(i.flags & kMulticast)) {
    visit(to);
    return;
  }
  uint64_t bits = warp.get(mask, lane) & 0xffff;
  uint64_t offset = to & ((1 << kRankShift) - 1);
  for (uint64_t rank = 0; rank < 16; ++rank) {
    if (bits >> rank & 1) {
      visit(kSharedWindow + (rank << kRankShift) + offset);
    }
  }
}

static void runTensorLoad(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t to = toShared(warp.getAddress(i[0], lane));
    uint64_t barrier = toShared(warp.getAddress(i[2], lane));
    Box box;
    if (!makeBox(warp, i[1], lane, to, false, box)) {
      return;
    }
    forEachTarget(warp, i, i[3], lane, to, [&](uint64_t target) {
      Machine &machine = warp.machine;
      issueLoad(
          warp, lane,
          [=, &machine](AsyncWork &work) {
            loadTile(machine, work, box, target);
          },
          barrier, target, box.getBytes(),
          i.flags & kPair        ? Signal::Pair
          : i.flags & kMulticast ? Signal::Multicast
                                 : Signal::Destination);
    });
  });
}

/// Whether a lane stores what the first one does, to the same place: CUTLASS
/// has a whole warp store a tile, 32 times the same bytes by PTX.
static bool isRepeated(Warp &warp, const Instruction &i, unsigned first,
                       unsigned lane) {
  return lane != first &&
         warp.getAddress(i[0], first) == warp.getAddress(i[0], lane) &&
         warp.getAddress(i[1], first) == warp.getAddress(i[1], lane) &&
         llvm::all_of(i[0].parts, [&](const auto &coordinate) {
           return warp.get(coordinate, first) == warp.get(coordinate, lane);
         });
}

static void runTensorStore(Warp &warp, const Instruction &i, uint32_t lanes) {
  auto first = unsigned(llvm::countr_zero(lanes));
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t from = toShared(warp.getAddress(i[1], lane));
    auto reduction = Reduction(i.flags);
    if (reduction == Reduction::None && isRepeated(warp, i, first, lane)) {
      return;
    }
    Box box;
    if (!makeBox(warp, i[0], lane, from, true, box)) {
      return;
    }
    Machine &machine = warp.machine;
    auto tile = std::make_shared<std::vector<uint8_t>>(box.getBytes());
    issueStore(
        warp, lane,
        [=, &machine](AsyncWork &work) {
          if (!accessShared(machine, work, box, from, false)) {
            return;
          }
          Place place = machine.locate(from, 1);
          const uint8_t *shared = place.bytes - place.offset;
          for (uint32_t r = 0; r < box.map.getRows(); ++r) {
            forEachPiece(box, r, uint32_t(place.offset),
                         [&](uint64_t at, uint32_t offset, uint64_t size) {
                           std::memcpy(tile->data() + r * box.getRowBytes() +
                                           at,
                                       shared + offset, size);
                         });
          }
        },
        [=, &machine](AsyncWork &work) {
          storeTile(machine, work, box, *tile, reduction);
        });
  });
}

static uint64_t getReduction(const Match &match) {
  static const char *const kNames[] = {".add", ".min", ".max",
                                       ".and", ".or",  ".xor"};
  for (uint64_t k = 0; k < std::size(kNames); ++k) {
    if (match.has(kNames[k])) {
      return k + 1;
    }
  }
  return 0;
}

void mlir::jfa::emu::registerTMA(OpcodeTable &table) {
  const std::string rank = "(.1d|.2d|.3d|.4d|.5d)";
  const std::string complete = ".mbarrier::complete_tx::bytes";
  auto none = [](const Match &) { return uint64_t(0); };
  auto getFlags = [](const Match &match) {
    return (match.has(".multicast::cluster") ? kMulticast : 0) |
           (match.has(".cta_group::2") ? kPair : 0);
  };
  const std::string load =
      "(.shared::cluster|.shared::cta).global{.tile}" + complete;
  const std::string group = "(.cta_group::1|.cta_group::2)";
  auto addLoads = [&](const std::string &early, const std::string &late,
                      Architecture architecture) {
    std::string begin = ".async.bulk.tensor" + rank + early + load;
    addForm(table, "cp", begin + late + "{.L2::cache_hint}", "m mv m s64?",
            runTensorLoad, getFlags, architecture);
    addForm(table, "cp",
            begin + ".multicast::cluster" + late + "{.L2::cache_hint}",
            "m mv m s0 s64?", runTensorLoad, getFlags, architecture);
  };
  addLoads("", "", Architecture::Any);
  addLoads("", group, Architecture::Blackwell);
  // As CUTLASS writes it; ptxas takes both.
  addLoads(group, "", Architecture::Blackwell);
  std::string store = ".async.bulk.tensor" + rank + ".global.shared::cta";
  addForm(table, "cp", store + "{.tile}.bulk_group{.L2::cache_hint}",
          "mv m s64?", runTensorStore, none);
  addForm(table, "cp",
          std::string(".reduce") + store +
              "(.add|.min|.max|.and|.or|.xor){.tile}.bulk_group"
              "{.L2::cache_hint}",
          "mv m s64?", runTensorStore, getReduction);
  table.add("cp",
            ".async.bulk.prefetch.tensor(.1d|.2d|.3d|.4d|.5d).L2.global"
            "{.tile}{.L2::cache_hint}",
            "mv s64?", [](Warp &, const Instruction &, uint32_t) {});
  // There is no cache here, so that all policies are alike (9.7.9.18).
  table.add("createpolicy",
            ".fractional(.L2::evict_first|.L2::evict_last|.L2::evict_normal|"
            ".L2::evict_unchanged){.L2::evict_first|.L2::evict_unchanged}.b64",
            "d64 s64?", [](Warp &warp, const Instruction &i, uint32_t lanes) {
              forEachLane(lanes,
                          [&](unsigned lane) { warp.set(i[0], lane, 0); });
            });
}
