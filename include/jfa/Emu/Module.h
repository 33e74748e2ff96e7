//===- Module.h - A module of PTX -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the text of a PTX module says (PTX ISA 4), with names resolved:
// registers are numbers, scopes are gone, and labels are numbers of statements.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_EMU_MODULE_H
#define JFA_EMU_MODULE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mlir::jfa::emu {

enum class TypeClass : uint8_t { None, Pred, Bits, Unsigned, Signed, Float };

/// A type of PTX ISA 5.2. `name` tells formats of one size apart.
struct Type {
  TypeClass kind = TypeClass::None;
  uint16_t bits = 0;
  llvm::StringRef name;

  explicit operator bool() const { return kind != TypeClass::None; }
  bool isSigned() const { return kind == TypeClass::Signed; }
  bool isFloat() const { return kind == TypeClass::Float; }
};

/// The type called `.u32`, or none.
Type parseType(llvm::StringRef name);

constexpr uint32_t kNoRegister = ~0u;

struct Operand {
  enum Kind {
    Register,
    Immediate,
    /// A variable, or a parameter.
    Symbol,
    /// `%tid.x`
    Special,
    Label,
    /// `_`
    Sink,
    /// `[base + offset]`; the base is parts[0], coordinates follow.
    Address,
    /// `{...}`
    Vector
  };
  Kind kind = Sink;
  /// `!p`
  bool isNegated = false;
  /// An immediate written with a point: `bits` are those of a double.
  bool isDouble = false;
  uint32_t reg = kNoRegister;
  /// The second of `p|q`.
  uint32_t second = kNoRegister;
  /// Of an immediate; the offset of an address; the statement of a label.
  uint64_t bits = 0;
  std::string name;
  std::vector<Operand> parts;
};

struct Statement {
  uint32_t guard = kNoRegister;
  bool isGuardNegated = false;
  /// `add` of `add.s32`.
  std::string opcode;
  /// `.s32`
  llvm::SmallVector<std::string, 4> modifiers;
  std::vector<Operand> operands;
  uint32_t line = 0;
  /// Of the `.loc` before it.
  uint32_t file = 0, sourceLine = 0, sourceColumn = 0;

  std::string getName() const;
};

/// A variable in shared or global memory, or a parameter of a kernel.
struct Variable {
  std::string name;
  Type type;
  uint64_t size = 0, align = 1;
  /// `[]`: as large as the launch says.
  bool isDynamic = false;
  /// Of a parameter, in the parameters; of a shared variable, in its CTA.
  uint64_t offset = 0;
  uint32_t line = 0;
};

struct RegisterInfo {
  std::string name;
  Type type;
};

struct Function {
  std::string name;
  std::vector<Variable> parameters;
  std::vector<RegisterInfo> registers;
  /// Declared inside of it; those of the module follow.
  std::vector<Variable> shared;
  std::vector<Statement> statements;
  uint32_t line = 0;
  /// Of the directives; 0 where there is none.
  uint32_t threads[3] = {0, 0, 0};
  bool isExactThreads = false;
  uint32_t cluster[3] = {0, 0, 0};
  uint32_t maxRegisters = 0, minCtas = 0;
  /// Why its text is none that is supported, as `line N: ...`, or nothing.
  std::string error;

  uint64_t getParameterBytes() const;
};

struct Module {
  std::string version, target;
  std::vector<Variable> shared;
  std::vector<Function> functions;
  std::map<uint32_t, std::string> files;

  const Function *find(llvm::StringRef name) const;
};

/// Reads a module. Null, with `error` as `line N: ...`, if the text is none. A
/// kernel that cannot be read has an error of its own, as others may do.
std::unique_ptr<Module> parseModule(llvm::StringRef text, std::string &error);

} // namespace mlir::jfa::emu

#endif // JFA_EMU_MODULE_H
