//===- Opcodes.cpp - The table of instructions -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;
using llvm::StringRef;

const OpcodeTable &OpcodeTable::get() {
  static const OpcodeTable table = [] {
    OpcodeTable table;
    registerInteger(table);
    registerMove(table);
    registerFloat(table);
    registerHalf(table);
    registerConversion(table);
    registerControl(table);
    registerMemory(table);
    registerAtomic(table);
    registerMBarrier(table);
    registerTMA(table);
    registerBulkCopy(table);
    registerWgmma(table);
    registerWarp(table);
    registerCluster(table);
    registerClusterLaunch(table);
    registerTcgen05Memory(table);
    registerTcgen05LoadStore(table);
    registerTcgen05Copy(table);
    registerTcgen05MMA(table);
    return table;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

/// Takes the first element of a pattern: its alternatives, and whether one of
/// them is required.
static bool takeElement(StringRef &pattern,
                        llvm::SmallVectorImpl<StringRef> &alternatives) {
  alternatives.clear();
  bool isOptional = pattern.front() == '{';
  if (isOptional || pattern.front() == '(') {
    StringRef group = pattern.take_until(
        [&](char c) { return c == (isOptional ? '}' : ')'); });
    group.drop_front().split(alternatives, '|');
    pattern = pattern.drop_front(std::min(pattern.size(), group.size() + 1));
    return !isOptional;
  }
  size_t end = pattern.find_first_of(".{(", 1);
  alternatives.push_back(pattern.take_front(end));
  pattern = pattern.drop_front(alternatives.back().size());
  return true;
}

bool emu::matchModifiers(StringRef pattern, const Statement &statement,
                         Match &match) {
  size_t at = 0;
  llvm::SmallVector<StringRef, 8> alternatives;
  while (!pattern.empty()) {
    bool isRequired = takeElement(pattern, alternatives);
    bool isThere =
        at < statement.modifiers.size() &&
        llvm::is_contained(alternatives, StringRef(statement.modifiers[at]));
    if (isThere) {
      match.modifiers.push_back(statement.modifiers[at++]);
    } else if (isRequired) {
      return false;
    }
  }
  return at == statement.modifiers.size();
}

//===----------------------------------------------------------------------===//
// Operands and targets
//===----------------------------------------------------------------------===//

bool emu::matchOperands(StringRef operands, const Statement &statement) {
  llvm::SmallVector<StringRef, 8> specs;
  operands.split(specs, ' ', -1, false);
  size_t required = llvm::count_if(
      specs, [](StringRef spec) { return !spec.ends_with("?"); });
  size_t count = statement.operands.size();
  if (count < required || count > specs.size()) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    Operand::Kind kind = statement.operands[i].kind;
    bool takesVector = specs[i].starts_with("D") || specs[i].starts_with("S");
    if ((kind == Operand::Address) != specs[i].starts_with("m") ||
        (kind == Operand::Vector && !takesVector)) {
      return false;
    }
  }
  return true;
}

bool emu::hasArchitecture(StringRef target, Architecture architecture) {
  switch (architecture) {
  case Architecture::Any:
    return true;
  case Architecture::Hopper:
    return target == "sm_90a";
  case Architecture::Blackwell:
    return target == "sm_100a" || target == "sm_100f";
  case Architecture::BlackwellOnly:
    return target == "sm_100a";
  }
  return false;
}

const char *emu::getName(Architecture architecture) {
  return architecture == Architecture::Hopper      ? "sm_90a"
         : architecture == Architecture::Blackwell ? "sm_100a' or 'sm_100f"
                                                   : "sm_100a";
}
