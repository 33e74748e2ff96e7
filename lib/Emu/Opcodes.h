//===- Opcodes.h - The table of instructions -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each family of instructions registers its forms: a pattern of modifiers, the
// operands, and what executes them. In a pattern, `.x` is required, `(.x|.y)`
// requires one of several and `{.x|.y}` allows one. Operands are
//
//   d d32 d64 d16 dp   destination, of the instruction's type or of that size
//                      d0 is of any size
//   s s32 s64 s16 sp   source; `p` stands for predicates
//   m                  address; mv an address with coordinates
//   D S                registers in braces, or one
//   l i                label, number
//
// A question mark after one makes it optional.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_OPCODES_H
#define JFA_LIB_EMU_OPCODES_H

#include "jfa/Emu/Code.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <map>

namespace mlir::jfa::emu {

/// The modifiers of an instruction, matched with a form.
struct Match {
  llvm::SmallVector<llvm::StringRef, 8> modifiers;

  bool has(llvm::StringRef modifier) const {
    for (llvm::StringRef m : modifiers) {
      if (m == modifier) {
        return true;
      }
    }
    return false;
  }
};

/// Chooses what executes an instruction, whose arguments are known already.
/// May set flags. Null, with `error` set, if the form does not exist.
using Choose = std::function<Run(const Match &, Instruction &, std::string &)>;

/// The targets that have an instruction. What a family of targets shares,
/// sm_100f, is less than all of sm_100a.
enum class Architecture : uint8_t { Any, Hopper, Blackwell, BlackwellOnly };

struct Form {
  std::string pattern;
  std::string operands;
  Choose choose;
  bool isVisible = false;
  bool isAligned = false;
  Architecture architecture = Architecture::Any;
};

/// Whether a statement has the modifiers of a pattern, which are noted.
bool matchModifiers(llvm::StringRef pattern, const Statement &statement,
                    Match &match);
/// Whether it has as many operands, addresses and braces where they belong.
/// Forms of one pattern are told apart so.
bool matchOperands(llvm::StringRef operands, const Statement &statement);

bool hasArchitecture(llvm::StringRef target, Architecture architecture);
/// As `.target` writes it.
const char *getName(Architecture architecture);

class OpcodeTable {
public:
  void add(llvm::StringRef opcode, Form form) {
    forms[opcode.str()].push_back(std::move(form));
  }
  /// For an instruction that is always executed in one way.
  void add(llvm::StringRef opcode, const char *pattern, const char *operands,
           Run run, bool isVisible = false, bool isAligned = false) {
    add(opcode,
        {pattern, operands,
         [run](const Match &, Instruction &, std::string &) { return run; },
         isVisible, isAligned});
  }
  const std::vector<Form> *find(const std::string &opcode) const {
    auto it = forms.find(opcode);
    return it == forms.end() ? nullptr : &it->second;
  }

  static const OpcodeTable &get();

private:
  std::map<std::string, std::vector<Form>> forms;
};

void registerInteger(OpcodeTable &table);
void registerMove(OpcodeTable &table);
void registerFloat(OpcodeTable &table);
void registerHalf(OpcodeTable &table);
void registerConversion(OpcodeTable &table);
void registerControl(OpcodeTable &table);
void registerMemory(OpcodeTable &table);
void registerAtomic(OpcodeTable &table);
void registerMBarrier(OpcodeTable &table);
void registerTMA(OpcodeTable &table);
void registerBulkCopy(OpcodeTable &table);
void registerWgmma(OpcodeTable &table);
void registerWarp(OpcodeTable &table);
void registerCluster(OpcodeTable &table);
void registerClusterLaunch(OpcodeTable &table);
void registerTcgen05Memory(OpcodeTable &table);
void registerTcgen05LoadStore(OpcodeTable &table);
void registerTcgen05Copy(OpcodeTable &table);
void registerTcgen05MMA(OpcodeTable &table);
// Parts of families, which those register.
void registerAsyncStore(OpcodeTable &table);
void registerFloatSign(OpcodeTable &table);

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_OPCODES_H
