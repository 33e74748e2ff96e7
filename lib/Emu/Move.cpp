//===- Move.cpp - Moves between registers -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.9.1 and 9.7.9.2.
//
//===----------------------------------------------------------------------===//

#include "Semantics.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// `mov` also packs registers into a wider one, and unpacks it.
static void runMove(Warp &warp, const Instruction &i, uint32_t lanes) {
  const Argument &to = i[0], &from = i[1];
  unsigned width = i.type.bits;
  forEachLane(lanes, [&](unsigned lane) {
    if (!from.parts.empty()) {
      unsigned bits = width / unsigned(from.parts.size());
      uint64_t value = 0, mask = (uint64_t(1) << bits) - 1;
      for (size_t k = 0; k < from.parts.size(); ++k) {
        value |= (warp.get(from.parts[k], lane) & mask) << (k * bits);
      }
      warp.set(to, lane, value);
    } else if (!to.parts.empty()) {
      unsigned bits = width / unsigned(to.parts.size());
      uint64_t value = warp.get(from, lane), mask = (uint64_t(1) << bits) - 1;
      for (size_t k = 0; k < to.parts.size(); ++k) {
        warp.set(to.parts[k], lane, value >> (k * bits) & mask);
      }
    } else {
      warp.set(to, lane, warp.get(from, lane));
    }
  });
}

static Run chooseMove(const Match &, Instruction &i, std::string &error) {
  size_t parts = std::max(i[0].parts.size(), i[1].parts.size());
  if (parts == 1 || parts > 4 || (!i[0].parts.empty() && !i[1].parts.empty())) {
    error = "expected two or four parts of a register";
    return nullptr;
  }
  return runMove;
}

/// Registers of 128 bits are two halves, as two in braces are.
static Run chooseWideMove(const Match &, Instruction &i, std::string &error) {
  if (i[0].parts.size() != 2 || i[1].parts.size() != 2) {
    error = "expected two parts of a register of 128 bits";
    return nullptr;
  }
  return [](Warp &warp, const Instruction &i, uint32_t lanes) {
    forEachLane(lanes, [&](unsigned lane) {
      uint64_t low = warp.get(i[1].parts[0], lane);
      uint64_t high = warp.get(i[1].parts[1], lane);
      warp.set(i[0].parts[0], lane, low);
      warp.set(i[0].parts[1], lane, high);
    });
  };
}

void mlir::jfa::emu::registerMove(OpcodeTable &table) {
  table.add("mov", {"(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)",
                    "D S", chooseMove});
  table.add("mov", {".b128", "D S", chooseWideMove});
}
