//===- Decoder.cpp - Statements become instructions -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <limits>

using namespace mlir::jfa;
using namespace mlir::jfa::emu;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {
/// What a form expects of an operand.
struct Expected {
  char kind;
  bool isOptional = false;
  bool hasCoordinates = false;
  Type type;
};

class Decoder {
public:
  Decoder(const Module &module, const Function &function, std::string &error)
      : error(error) {
    code->module = &module;
    code->function = &function;
  }
  std::unique_ptr<Code> decode();

private:
  bool fail(const Twine &message) {
    if (error.empty()) {
      error = ("line " + Twine(statement->line) + ": " + message).str();
    }
    return false;
  }
  bool placeShared();
  bool decodeStatement();
  bool matchForm(const std::vector<Form> &forms, const Form *&form,
                 Match &match);
  void setTypes(const Match &match, Instruction &instruction);
  bool checkGroup(const Match &match);
  bool decodeOperands(const Form &form, Instruction &instruction);
  bool decodeOperand(const Operand &operand, const Expected &expected,
                     Argument &argument);
  bool decodeRegister(const Operand &operand, const Expected &expected,
                      Argument &argument);
  bool decodeAddress(const Operand &operand, const Expected &expected,
                     Argument &argument);
  bool decodeSymbol(StringRef name, Argument &argument);
  bool decodeImmediate(const Operand &operand, Type type, Argument &argument);
  void note(const Argument &argument, bool isWrite);

  std::unique_ptr<Code> code = std::make_unique<Code>();
  std::string &error;
  const Statement *statement = nullptr;
  Instruction *current = nullptr;
  StringRef group;
  std::map<std::string, uint64_t> sharedOffsets;
  std::map<uint32_t, uint32_t> upperHalves;
};
} // namespace

/// The sizes and the names of what a form's operand may be.
static Expected parseExpected(StringRef text, Type type) {
  Expected expected{text.front(), text.ends_with("?"), text == "mv", type};
  text = text.drop_front().rtrim('?');
  if (expected.kind == 'i') {
    expected.type = {};
  }
  if (text == "p") {
    expected.type = parseType(".pred");
  } else if (text == "32") {
    expected.type = parseType(".b32");
  } else if (text == "64") {
    expected.type = parseType(".b64");
  } else if (text == "128") {
    expected.type = parseType(".b128");
  } else if (text == "0") {
    expected.type = {};
  } else if (text == "16") {
    expected.type = parseType(".b16");
  }
  return expected;
}

void Decoder::note(const Argument &argument, bool isWrite) {
  auto &list = isWrite ? current->writes : current->reads;
  for (uint32_t reg : {argument.reg, argument.second}) {
    if (reg != kNoRegister && reg < code->specials) {
      list.push_back(reg);
    }
  }
  for (const Argument &part : argument.parts) {
    note(part, isWrite);
  }
}

bool Decoder::decodeImmediate(const Operand &operand, Type type,
                              Argument &argument) {
  argument.value = operand.bits;
  if (operand.isDouble && type.isFloat() && type.bits == 32) {
    double value = 0;
    std::memcpy(&value, &operand.bits, 8);
    auto narrow = float(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &narrow, 4);
    argument.value = bits;
  }
  if (type.bits < 64 && type.bits > 1) {
    argument.value &= (uint64_t(1) << type.bits) - 1;
  }
  return true;
}

bool Decoder::decodeRegister(const Operand &operand, const Expected &expected,
                             Argument &argument) {
  Type type = code->function->registers[operand.reg].type;
  bool isPredicate = type.kind == TypeClass::Pred;
  bool wantsPredicate = expected.type.kind == TypeClass::Pred;
  // Loads and stores may use wider registers (PTX ISA 9.4.1).
  bool fits = isPredicate == wantsPredicate &&
              (type.bits == 128) == (expected.type.bits == 128) &&
              (!expected.type || type.bits == expected.type.bits ||
               (type.bits > expected.type.bits && expected.type.bits < 64));
  if (!fits) {
    return fail("expected a register of " + Twine(expected.type.bits) +
                " bits, but got '" +
                code->function->registers[operand.reg].name + "' of " +
                type.name.drop_front());
  }
  argument.reg = operand.reg;
  argument.second = operand.second;
  argument.isNegated = operand.isNegated;
  if (type.bits == 128) {
    // Two halves, of which the upper has a row behind all others.
    Argument low = argument, high;
    high.reg = upperHalves.at(operand.reg);
    argument = {};
    argument.parts = {low, high};
  }
  return true;
}

bool Decoder::decodeSymbol(StringRef name, Argument &argument) {
  for (const Variable &parameter : code->function->parameters) {
    if (parameter.name == name) {
      argument.value += parameter.offset;
      return true;
    }
  }
  auto shared = sharedOffsets.find(name.str());
  if (shared == sharedOffsets.end()) {
    return fail("expected a variable, but got '" + name + "'");
  }
  argument.value += shared->second;
  argument.isShared = true;
  return true;
}

bool Decoder::decodeAddress(const Operand &operand, const Expected &expected,
                            Argument &argument) {
  argument.value = operand.bits;
  const Operand &base = operand.parts[0];
  if (base.kind == Operand::Register) {
    Type type = code->function->registers[base.reg].type;
    if (type.bits != 32 && type.bits != 64) {
      return fail("expected an address of 32 or 64 bits");
    }
    argument.reg = base.reg;
  } else if (base.kind == Operand::Symbol) {
    if (!decodeSymbol(base.name, argument)) {
      return false;
    }
  } else if (base.kind == Operand::Immediate) {
    argument.value += base.bits;
  } else {
    return fail("expected a register or a variable as address");
  }
  if (expected.hasCoordinates != (operand.parts.size() > 1)) {
    return fail(expected.hasCoordinates ? "expected coordinates"
                                        : "expected no coordinates");
  }
  for (const Operand &part : llvm::ArrayRef(operand.parts).drop_front()) {
    Expected coordinate{'s', false, false, parseType(".b32")};
    if (!decodeOperand(part, coordinate, argument.parts.emplace_back())) {
      return false;
    }
  }
  return true;
}

bool Decoder::decodeOperand(const Operand &operand, const Expected &expected,
                            Argument &argument) {
  bool isDestination = expected.kind == 'd' || expected.kind == 'D';
  if (expected.kind == 'm') {
    return operand.kind == Operand::Address
               ? decodeAddress(operand, expected, argument)
               : fail("expected an address in brackets");
  }
  if (expected.kind == 'l') {
    current->target = operand.bits;
    return operand.kind == Operand::Label || fail("expected a label");
  }
  if ((expected.kind == 'D' || expected.kind == 'S') &&
      operand.kind == Operand::Vector) {
    for (const Operand &part : operand.parts) {
      Expected one{isDestination ? 'd' : 's', false, false, expected.type};
      if (statement->opcode == "mov") {
        // Parts of a wider register (PTX ISA 9.7.9.2).
        one.type = parseType(
            ".b" + std::to_string(expected.type.bits / operand.parts.size()));
      }
      if (!decodeOperand(part, one, argument.parts.emplace_back())) {
        return false;
      }
    }
    return true;
  }
  switch (operand.kind) {
  case Operand::Register:
    return expected.kind == 'i' ? fail("expected a number")
                                : decodeRegister(operand, expected, argument);
  case Operand::Sink:
    argument.isSink = true;
    argument.second = operand.second;
    return isDestination || fail("expected an operand, but got '_'");
  case Operand::Immediate:
    return isDestination ? fail("expected a register to write")
                         : decodeImmediate(operand, expected.type, argument);
  case Operand::Symbol:
    return isDestination ? fail("expected a register to write")
                         : decodeSymbol(operand.name, argument);
  case Operand::Special:
    if (Special special = findSpecial(operand.name);
        !isDestination && special != Special::Count) {
      argument.reg = code->specials + uint32_t(special);
      return true;
    }
    return fail("expected a register, but '" + operand.name + "' is none");
  default:
    return fail("expected another operand");
  }
}

bool Decoder::decodeOperands(const Form &form, Instruction &instruction) {
  llvm::SmallVector<StringRef, 8> specs;
  StringRef(form.operands).split(specs, ' ', -1, false);
  size_t required = llvm::count_if(
      specs, [](StringRef spec) { return !spec.ends_with("?"); });
  size_t count = statement->operands.size();
  if (count < required || count > specs.size()) {
    return fail(
        "expected " + Twine(required) +
        (required == specs.size() ? Twine("") : " to " + Twine(specs.size())) +
        " operands of '" + statement->getName() + "', but got " + Twine(count));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    Argument argument;
    argument.isSink = i >= count;
    Expected expected = parseExpected(specs[i], instruction.type);
    if (i < count &&
        !decodeOperand(statement->operands[i], expected, argument)) {
      return false;
    }
    note(argument, expected.kind == 'd' || expected.kind == 'D');
    instruction.arguments.push_back(std::move(argument));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

bool Decoder::matchForm(const std::vector<Form> &forms, const Form *&form,
                        Match &match) {
  std::string expected;
  // Those that begin as the statement does, if there are any.
  auto isSimilar = [&](const Form &candidate) {
    return !statement->modifiers.empty() &&
           StringRef(candidate.pattern).starts_with(statement->modifiers[0]);
  };
  for (const Form &candidate : forms) {
    Match found;
    if (matchModifiers(candidate.pattern, *statement, found)) {
      bool fits = matchOperands(candidate.operands, *statement);
      if (fits || !form) {
        form = &candidate;
        match = std::move(found);
      }
      if (fits) {
        break;
      }
    }
    if (isSimilar(candidate) || llvm::none_of(forms, isSimilar)) {
      expected += (expected.empty() ? "'" : " or '") + statement->opcode +
                  candidate.pattern + "'";
    }
  }
  return form || fail("expected " + expected + ", but got '" +
                      statement->getName() + "'");
}

void Decoder::setTypes(const Match &match, Instruction &instruction) {
  for (StringRef modifier : match.modifiers) {
    if (Type type = parseType(modifier)) {
      instruction.fromType = instruction.type;
      instruction.type = type;
    }
  }
}

/// All tcgen05 instructions of a kernel are for one CTA, or all for a pair (PTX
/// ISA 9.7.16.5).
bool Decoder::checkGroup(const Match &match) {
  for (StringRef modifier : match.modifiers) {
    if (statement->opcode != "tcgen05" ||
        !modifier.starts_with(".cta_group::")) {
      continue;
    }
    if (!group.empty() && group != modifier) {
      return fail("expected '" + group +
                  "', as in the kernel's other tcgen05 "
                  "instructions, but got '" +
                  modifier + "'");
    }
    group = modifier;
  }
  return true;
}

bool Decoder::decodeStatement() {
  Instruction &instruction = code->instructions.emplace_back();
  current = &instruction;
  instruction.statement = uint32_t(code->instructions.size() - 1);
  instruction.line = statement->line;
  instruction.guard = statement->guard;
  instruction.isGuardNegated = statement->isGuardNegated;
  if (statement->guard != kNoRegister) {
    const RegisterInfo &guard = code->function->registers[statement->guard];
    if (guard.type.kind != TypeClass::Pred) {
      return fail("expected a predicate, but got '" + guard.name + "'");
    }
  }
  const std::vector<Form> *forms = OpcodeTable::get().find(statement->opcode);
  if (!forms) {
    return fail("expected an instruction that is supported, but got '" +
                statement->getName() + "'");
  }
  const Form *form = nullptr;
  Match match;
  if (!matchForm(*forms, form, match)) {
    return false;
  }
  if (!hasArchitecture(code->module->target, form->architecture)) {
    return fail("expected '.target " + Twine(getName(form->architecture)) +
                "' for '" + statement->getName() + "', but got '" +
                code->module->target + "'");
  }
  setTypes(match, instruction);
  instruction.isVisible = form->isVisible;
  instruction.isAligned = form->isAligned;
  if (!decodeOperands(*form, instruction)) {
    return false;
  }
  if (!checkGroup(match)) {
    return false;
  }
  std::string message;
  instruction.run = form->choose(match, instruction, message);
  if (!instruction.run) {
    return fail(message.empty() ? "expected a form that is supported, but got "
                                  "'" +
                                      statement->getName() + "'"
                                : message);
  }
  return true;
}

/// Static variables first; dynamic ones share what follows.
bool Decoder::placeShared() {
  uint64_t at = kSharedBase, dynamicAlign = 16;
  std::vector<std::string> dynamic;
  for (const auto *list : {&code->module->shared, &code->function->shared}) {
    for (const Variable &variable : *list) {
      if (variable.isDynamic) {
        dynamicAlign = std::max(dynamicAlign, variable.align);
        dynamic.push_back(variable.name);
        continue;
      }
      at = llvm::alignTo(at, variable.align);
      sharedOffsets[variable.name] = at;
      at += variable.size;
      if (at > (1 << kRankShift)) {
        error = "line " + std::to_string(variable.line) +
                ": expected less shared memory";
        return false;
      }
    }
  }
  at = dynamic.empty() ? at : llvm::alignTo(at, dynamicAlign);
  for (const std::string &name : dynamic) {
    sharedOffsets[name] = at;
  }
  code->sharedBytes = at;
  return true;
}

std::unique_ptr<Code> Decoder::decode() {
  const Function &function = *code->function;
  code->specials = uint32_t(function.registers.size());
  code->numRegisters = code->specials + uint32_t(Special::Count);
  for (uint32_t reg = 0; reg < code->specials; ++reg) {
    if (function.registers[reg].type.bits == 128) {
      upperHalves[reg] = code->numRegisters++;
    }
  }
  if (!placeShared()) {
    return nullptr;
  }
  for (const Statement &next : function.statements) {
    statement = &next;
    if (!decodeStatement()) {
      return nullptr;
    }
  }
  findJoins(*code);
  return std::move(code);
}

std::unique_ptr<Code> mlir::jfa::emu::decode(const Module &module,
                                             const Function &function,
                                             std::string &error) {
  error = function.error;
  return error.empty() ? Decoder(module, function, error).decode() : nullptr;
}
