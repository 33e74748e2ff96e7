//===- Code.h - A kernel ready to execute -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statements decoded: what executes an instruction is a pointer to a function,
// its operands are registers and numbers.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_CODE_H
#define JFA_EMU_CODE_H

#include "jfa/Emu/Module.h"

namespace mlir::jfa::emu {

class Warp;
struct Instruction;

/// Executes an instruction for the lanes whose bits are set.
using Run = void (*)(Warp &, const Instruction &, uint32_t lanes);

/// An operand: a register of the warp or a number; or several of them.
struct Argument {
  uint32_t reg = kNoRegister;
  /// The second of `p|q`.
  uint32_t second = kNoRegister;
  /// A number, or what is added to the register of an address.
  uint64_t value = 0;
  bool isNegated = false;
  /// Absent, or `_`.
  bool isSink = false;
  /// An address in the shared memory of the CTA that reads it.
  bool isShared = false;
  std::vector<Argument> parts;

  bool isRegister() const { return reg != kNoRegister; }
};

struct Instruction {
  Run run = nullptr;
  uint32_t guard = kNoRegister;
  bool isGuardNegated = false;
  /// Whether others can notice it: the scheduler may switch before it.
  bool isVisible = false;
  /// All lanes of the warp that have not exited must be here.
  bool isAligned = false;
  /// wgmma itself, which may use registers in flight.
  bool usesFlight = false;
  /// The type that the last of its modifiers names, and the one before.
  Type type, fromType;
  /// What a family makes of the modifiers.
  uint64_t flags = 0;
  llvm::SmallVector<Argument, 4> arguments;
  llvm::SmallVector<uint32_t, 4> reads, writes;
  /// Of a branch.
  size_t target = 0;
  uint32_t statement = 0;
  uint32_t line = 0;

  const Argument &operator[](size_t i) const { return arguments[i]; }
};

/// What a target promises or lacks; sm_90a is all of Hopper.
struct Code {
  const Module *module = nullptr;
  const Function *function = nullptr;
  std::vector<Instruction> instructions;
  /// For each instruction, where lanes that part there meet again: its
  /// immediate post-dominator, or the number of instructions for the end.
  std::vector<size_t> joins;
  /// Special registers are registers too, from here on.
  uint32_t numRegisters = 0;
  uint32_t specials = 0;
  /// Of statically allocated shared variables, and where dynamic ones begin.
  uint64_t sharedBytes = 0;
};

/// Special registers that have values of their own.
enum class Special : uint32_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtaRank,
  ClusterNctaRank,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  SmId,
  NsmId,
  NwarpId,
  GridId,
  DynamicSmemSize,
  TotalSmemSize,
  Clock,
  Clock64,
  GlobalTimer,
  Count
};

/// The special register called `%tid.x`; Count if there is none.
Special findSpecial(llvm::StringRef name);

// Generic addresses (PTX ISA 5.1): windows of the other state spaces in it.
constexpr uint64_t kSharedWindow = uint64_t(0x7f) << 40;
constexpr uint64_t kParameterWindow = uint64_t(0x7e) << 40;
/// The rank of a CTA in shared::cluster addresses.
constexpr unsigned kRankShift = 24;
/// Where a CTA's variables begin: the first KiB is the system's.
constexpr uint64_t kSharedBase = 1024;

/// Decodes a kernel. Null, with `error` as `line N: ...`, if it has an
/// instruction that is not known.
std::unique_ptr<Code> decode(const Module &module, const Function &function,
                             std::string &error);

/// Fills in Code::joins.
void findJoins(Code &code);

} // namespace mlir::jfa::emu

#endif // JFA_EMU_CODE_H
