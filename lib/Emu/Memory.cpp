//===- Memory.cpp - Loads and stores -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.8 to 9.7.9.12, 9.7.13.5, 9.7.14.5.15 and .16.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Beside the state space: an access that takes part in synchronisation.
static constexpr uint64_t kStrong = 4;

uint64_t emu::getSpace(const Match &match) {
  for (llvm::StringRef modifier : match.modifiers) {
    if (modifier.starts_with(".shared")) {
      return kSharedSpace;
    }
    if (modifier == ".global") {
      return kGlobalSpace;
    }
    if (modifier.starts_with(".param")) {
      return kParameterSpace;
    }
  }
  return kGenericSpace;
}

uint64_t emu::toGeneric(Warp &, const Instruction &i, uint64_t address) {
  switch (i.flags & kSpaceMask) {
  case kSharedSpace:
    return kSharedWindow + (address & 0xffffffff);
  case kParameterSpace:
    return kParameterWindow + (address & 0xffffffff);
  default:
    return address;
  }
}

Place emu::accessLane(Warp &warp, const Instruction &, uint64_t generic,
                      uint64_t size, bool isWrite, bool isReduction) {
  Place place = warp.machine.locate(generic, size);
  bool isMisaligned = generic % size != 0;
  if (place.kind == Place::Nowhere ||
      (place.kind == Place::Parameter && isWrite)) {
    warp.fault(Fault::OutOfBounds, (isWrite ? "writes " : "reads ") +
                                       std::to_string(size) + " bytes at " +
                                       toHex(generic) +
                                       ", where there is no memory");
    return {};
  }
  if (isMisaligned) {
    warp.fault(Fault::Misaligned, "expects an address that is a multiple of " +
                                      std::to_string(size) + ", but got " +
                                      toHex(generic));
    return {};
  }
  warp.machine.access(warp, place, int64_t(size), isWrite, isReduction);
  if (isWrite) {
    warp.machine.markWritten(place, int64_t(size));
  }
  return place;
}

/// A strong access releases and acquires at its address.
static void synchronise(Warp &warp, uint64_t generic) {
  Knowledge &released = warp.machine.strongAccesses[generic];
  released.join(warp.know());
  warp.knowledge.join(released);
}

llvm::ArrayRef<Argument> emu::getParts(const Argument &argument) {
  return argument.parts.empty() ? llvm::ArrayRef(argument)
                                : llvm::ArrayRef(argument.parts);
}

static void runLoad(Warp &warp, const Instruction &i, uint32_t lanes) {
  auto parts = getParts(i[0]);
  uint64_t size = i.type.bits / 8;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t address = toGeneric(warp, i, warp.getAddress(i[1], lane));
    Place place = accessLane(warp, i, address, size * parts.size(), false,
                             i.flags & kStrong);
    for (size_t k = 0; k < parts.size(); ++k) {
      uint64_t value = 0;
      if (place.bytes) {
        std::memcpy(&value, place.bytes + k * size, size);
      }
      if (i.type.isSigned()) {
        value = uint64_t(int64_t(value << (64 - i.type.bits)) >>
                         (64 - i.type.bits));
      }
      warp.set(parts[k], lane, value);
    }
    if (i.flags & kStrong) {
      synchronise(warp, address);
    }
  });
}

static void runStore(Warp &warp, const Instruction &i, uint32_t lanes) {
  auto parts = getParts(i[1]);
  uint64_t size = i.type.bits / 8;
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t address = toGeneric(warp, i, warp.getAddress(i[0], lane));
    if (i.flags & kStrong) {
      synchronise(warp, address);
    }
    Place place = accessLane(warp, i, address, size * parts.size(), true,
                             i.flags & kStrong);
    for (size_t k = 0; k < parts.size() && place.bytes; ++k) {
      uint64_t value = warp.get(parts[k], lane);
      std::memcpy(place.bytes + k * size, &value, size);
    }
  });
  if (i.flags & kStrong) {
    warp.tick();
  }
}

template <Run run>
static Run chooseAccess(const Match &match, Instruction &i,
                        std::string &error) {
  size_t width = match.has(".v8")   ? 8
                 : match.has(".v4") ? 4
                 : match.has(".v2") ? 2
                                    : 1;
  if (i.type.bits == 128) {
    i.type = parseType(".b64");
    width = 2;
  }
  const Argument &values = i[run == Run(runLoad) ? 0 : 1];
  if (getParts(values).size() != width || i.type.bits * width > 128) {
    error = "expected " + std::to_string(width) +
            " registers of at most 128 "
            "bits";
    return nullptr;
  }
  bool isStrong = match.has(".relaxed") || match.has(".acquire") ||
                  match.has(".release") || match.has(".volatile");
  i.flags = getSpace(match) | (isStrong ? kStrong : 0);
  i.isVisible = i.flags != kParameterSpace;
  return run;
}

//===----------------------------------------------------------------------===//
// Matrices of 8 x 8 halves
//===----------------------------------------------------------------------===//

/// Calls `visit(lane, register, half, address)` for each half that moves.
template <typename Visit>
static void forEachHalf(Warp &warp, const Instruction &i,
                        const Argument &address, unsigned matrices,
                        bool isWrite, Visit visit) {
  for (unsigned matrix = 0; matrix < matrices; ++matrix) {
    Place rows[8];
    for (unsigned r = 0; r < 8; ++r) {
      uint64_t generic =
          toGeneric(warp, i, warp.getAddress(address, 8 * matrix + r));
      rows[r] = accessLane(warp, i, generic, 16, isWrite);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row = lane / 4, column = 2 * (lane % 4) + half;
        if (i.flags & kStrong) { // here: `.trans`
          std::swap(row, column);
        }
        if (rows[row].bytes) {
          visit(lane, matrix, half, rows[row].bytes + 2 * column);
        }
      }
    }
  }
}

static void runLoadMatrix(Warp &warp, const Instruction &i, uint32_t) {
  auto parts = getParts(i[0]);
  std::vector<std::array<uint64_t, 32>> loaded(parts.size());
  forEachHalf(warp, i, i[1], unsigned(parts.size()), false,
              [&](unsigned lane, unsigned reg, unsigned half, uint8_t *from) {
                uint16_t value = 0;
                std::memcpy(&value, from, 2);
                uint64_t &to = loaded[reg][lane];
                to = half ? (to & 0xffff) | uint64_t(value) << 16 : value;
              });
  for (size_t k = 0; k < parts.size(); ++k) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      warp.set(parts[k], lane, loaded[k][lane]);
    }
  }
}

static void runStoreMatrix(Warp &warp, const Instruction &i, uint32_t) {
  auto parts = getParts(i[1]);
  forEachHalf(warp, i, i[0], unsigned(parts.size()), true,
              [&](unsigned lane, unsigned reg, unsigned half, uint8_t *to) {
                auto value =
                    uint16_t(warp.get(parts[reg], lane) >> (16 * half));
                std::memcpy(to, &value, 2);
              });
}

template <Run run>
static Run chooseMatrix(const Match &match, Instruction &i,
                        std::string &error) {
  size_t count = match.has(".x4") ? 4 : match.has(".x2") ? 2 : 1;
  if (getParts(i[run == Run(runLoadMatrix) ? 0 : 1]).size() != count) {
    error = "expected " + std::to_string(count) + " registers";
    return nullptr;
  }
  i.flags = getSpace(match) | (match.has(".trans") ? kStrong : 0);
  return run;
}

#define CACHING                                                                \
  "{.ca|.cg|.cs|.lu|.cv|.wb|.wt}{.L1::evict_normal|.L1::evict_unchanged|"      \
  ".L1::evict_first|.L1::evict_last|.L1::no_allocate}{.L2::64B|.L2::128B|"     \
  ".L2::256B}{.v2|.v4}"
#define TYPES                                                                  \
  "(.b8|.b16|.b32|.b64|.b128|.u8|.u16|.u32|.u64|.s8|.s16|.s32|.s64|.f32|.f64)"

void mlir::jfa::emu::registerMemory(OpcodeTable &table) {
  table.add("ld", {"{.weak|.relaxed|.acquire|.volatile}{.cta|.cluster|.gpu|"
                   ".sys}{.global|.shared|.shared::cta|.shared::cluster|"
                   ".param|.param::entry}{.nc}" CACHING TYPES,
                   "D m", chooseAccess<runLoad>, true});
  table.add(
      "st",
      {"{.weak|.relaxed|.release|.volatile}{.cta|.cluster|.gpu|"
       ".sys}{.global|.shared|.shared::cta|.shared::cluster}" CACHING TYPES,
       "m S", chooseAccess<runStore>, true});
  // The second as CUTLASS writes it; ptxas takes both.
  for (const char *matrix :
       {".sync.aligned.m8n8(.x1|.x2|.x4){.trans}{.shared|.shared::cta}.b16",
        ".sync.aligned(.x1|.x2|.x4){.trans}.m8n8{.shared|.shared::cta}.b16"}) {
    table.add("ldmatrix",
              {matrix, "D32 m", chooseMatrix<runLoadMatrix>, true, true});
    table.add("stmatrix",
              {matrix, "m S32", chooseMatrix<runStoreMatrix>, true, true});
  }
  auto nothing = [](Warp &, const Instruction &, uint32_t) {};
  table.add("prefetch", "{.global}(.L1|.L2)", "m", nothing);
  table.add("prefetch", "{.param}.tensormap", "m", nothing);
}
