//===- Semantics.h - Instructions on lanes -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_SEMANTICS_H
#define JFA_LIB_EMU_SEMANTICS_H

#include "Opcodes.h"

#include "jfa/Emu/Machine.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace mlir::jfa::emu {

/// The low bits of a register as a value.
template <typename T>
T fromBits(uint64_t bits) {
  T value;
  static_assert(sizeof(T) <= 8, "registers have 64 bits");
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <typename T>
uint64_t toBits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <typename T, typename Op>
void runUnary(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(
        i[0], lane,
        toBits<T>(Op::template apply<T>(fromBits<T>(warp.get(i[1], lane)))));
  });
}

template <typename T, typename Op>
void runBinary(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(
        i[0], lane,
        toBits<T>(Op::template apply<T>(fromBits<T>(warp.get(i[1], lane)),
                                        fromBits<T>(warp.get(i[2], lane)))));
  });
}

template <typename T, typename Op>
void runTernary(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    warp.set(
        i[0], lane,
        toBits<T>(Op::template apply<T>(fromBits<T>(warp.get(i[1], lane)),
                                        fromBits<T>(warp.get(i[2], lane)),
                                        fromBits<T>(warp.get(i[3], lane)))));
  });
}

/// Calls `with(T())` for the C++ type of an integer type.
template <typename With>
Run chooseInteger(Type type, With with) {
  bool isSigned = type.isSigned();
  switch (type.bits) {
  case 8:
    return isSigned ? with(int8_t()) : with(uint8_t());
  case 16:
    return isSigned ? with(int16_t()) : with(uint16_t());
  case 32:
    return isSigned ? with(int32_t()) : with(uint32_t());
  case 64:
    return isSigned ? with(int64_t()) : with(uint64_t());
  default:
    return nullptr;
  }
}

template <typename Op>
Run chooseUnary(const Match &, Instruction &i, std::string &) {
  return chooseInteger(i.type,
                       [](auto t) -> Run { return runUnary<decltype(t), Op>; });
}
template <typename Op>
Run chooseBinary(const Match &, Instruction &i, std::string &) {
  return chooseInteger(
      i.type, [](auto t) -> Run { return runBinary<decltype(t), Op>; });
}
template <typename Op>
Run chooseTernary(const Match &, Instruction &i, std::string &) {
  return chooseInteger(
      i.type, [](auto t) -> Run { return runTernary<decltype(t), Op>; });
}

/// An arrival when asynchronous work has ended, by someone who knows `ends`.
void arriveOnce(Machine &machine, const AsyncWork &work, uint64_t generic,
                const Knowledge &ends);

/// What is the same in all of `lanes`; with a finding if it is not.
uint64_t getUniform(Warp &warp, const Argument &argument, const char *what,
                    uint32_t lanes = ~0u);
/// The registers of an operand in braces, or the one without.
llvm::ArrayRef<Argument> getParts(const Argument &argument);

/// Where comparisons, PTX ISA 9.7.5, put what they find.
void setPredicates(Warp &warp, const Instruction &i, unsigned lane, bool found);
/// The number of `.lt`, and of `.and`, in flags.
bool setComparison(const Match &match, Instruction &i);
bool compareOrdered(uint64_t flags, int order, bool isUnordered);

/// The generic address of an operand of the state space that an instruction
/// names: `.shared` addresses have 32 bits.
uint64_t toGeneric(Warp &warp, const Instruction &i, uint64_t address);
/// The bits of flags for a state space.
enum SpaceFlag : uint64_t {
  kGenericSpace = 0,
  kSharedSpace = 1,
  kGlobalSpace = 2,
  kParameterSpace = 3,
  kSpaceMask = 3
};
uint64_t getSpace(const Match &match);

/// Finds the bytes of an address of a lane, checks its alignment and records
/// the access. Nowhere, after a finding, if there are none.
Place accessLane(Warp &warp, const Instruction &i, uint64_t generic,
                 uint64_t size, bool isWrite, bool isReduction = false);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_SEMANTICS_H
