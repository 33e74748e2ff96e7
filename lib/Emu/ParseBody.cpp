//===- ParseBody.cpp - Reads the bodies of kernels -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parser.h"

using namespace mlir::jfa::emu;
using llvm::StringRef;
using llvm::Twine;

bool Parser::parseBlock(unsigned depth) {
  if (depth > kMaxDepth) {
    return fail("expected at most " + Twine(kMaxDepth) + " nested scopes");
  }
  if (!expect('{')) {
    return false;
  }
  scopes.emplace_back();
  while (!is('}')) {
    bool isGood = token.kind == Token::Dotted ? parseBodyDirective()
                  : is('{')                   ? parseBlock(depth + 1)
                                              : parseStatement();
    if (!isGood) {
      return false;
    }
  }
  advance();
  return closeScope();
}

bool Parser::parseBodyDirective() {
  if (isDotted(".reg")) {
    return parseRegisters();
  }
  if (isDotted(".loc")) {
    return parseLoc();
  }
  if (isDotted(".shared")) {
    advance();
    return parseVariable(function->shared.emplace_back()) && expect(';');
  }
  if (isDotted(".pragma")) {
    advance();
    advance();
    return expect(';');
  }
  return failExpected("an instruction, '.reg', '.shared' or '.loc'");
}

/// `.loc file line column, function_name name, inlined_at file line column`
bool Parser::parseLoc() {
  advance();
  uint64_t values[3] = {};
  for (uint64_t &value : values) {
    if (!expectInteger(value, UINT32_MAX)) {
      return false;
    }
  }
  location.file = uint32_t(values[0]);
  location.sourceLine = uint32_t(values[1]);
  location.sourceColumn = uint32_t(values[2]);
  while (accept(',')) {
    advance();
    while (token.kind == Token::Integer || token.kind == Token::Word ||
           is('+')) {
      if (token.kind == Token::Word && !token.text.starts_with("$")) {
        return true;
      }
      advance();
    }
  }
  return true;
}

bool Parser::addRegister(const std::string &name, Type type) {
  if (function->registers.size() >= kMaxRegisters) {
    return fail("expected at most " + Twine(kMaxRegisters) + " registers");
  }
  scopes.back().registers[name] = uint32_t(function->registers.size());
  function->registers.push_back({name, type});
  return true;
}

bool Parser::parseRegisters() {
  advance();
  Type type;
  if (token.kind == Token::Dotted) {
    type = parseType(token.text);
  }
  if (!type) {
    return failExpected("the type of registers");
  }
  advance();
  do {
    std::string name;
    if (!expectName(name, "the name of a register")) {
      return false;
    }
    if (!accept('<')) {
      if (!addRegister(name, type)) {
        return false;
      }
      continue;
    }
    uint64_t count = 0;
    if (!expectInteger(count, kMaxRegisters) || !expect('>')) {
      return false;
    }
    for (uint64_t i = 0; i < count; ++i) {
      if (!addRegister(name + std::to_string(i), type)) {
        return false;
      }
    }
  } while (accept(','));
  return expect(';');
}

uint32_t Parser::findRegister(StringRef name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto it = scope->registers.find(name);
    if (it != scope->registers.end()) {
      return it->second;
    }
  }
  return kNoRegister;
}

/// Labels may be used before they are declared, and belong to their scope.
bool Parser::closeScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  for (Reference &reference : scope.references) {
    auto label = scope.labels.find(reference.name);
    if (label == scope.labels.end()) {
      if (!scopes.empty()) {
        scopes.back().references.push_back(reference);
        continue;
      }
      token.line = reference.line;
      return fail("expected a register, a variable or a label, but '" +
                  reference.name + "' is none");
    }
    Operand &operand =
        function->statements[reference.statement].operands[reference.operand];
    operand.kind = Operand::Label;
    operand.bits = label->second;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool Parser::parseStatement() {
  Statement statement = location;
  statement.line = token.line;
  if (accept('@')) {
    statement.isGuardNegated = accept('!');
    statement.guard =
        token.kind == Token::Word ? findRegister(token.text) : kNoRegister;
    if (statement.guard == kNoRegister) {
      return failExpected("a predicate after '@'");
    }
    advance();
  }
  if (!expectName(statement.opcode, "an instruction")) {
    return false;
  }
  if (statement.guard == kNoRegister && accept(':')) {
    scopes.back().labels[statement.opcode] = function->statements.size();
    return true;
  }
  while (token.kind == Token::Dotted) {
    statement.modifiers.push_back(token.text.str());
    advance();
  }
  size_t index = function->statements.size();
  if (!is(';')) {
    do {
      Operand &operand = statement.operands.emplace_back();
      uint32_t line = token.line;
      if (!parseOperand(operand, 0)) {
        return false;
      }
      // Variables are known before they are used; labels need not be.
      if (operand.kind == Operand::Symbol && operand.bits == 0) {
        scopes.back().references.push_back(
            {index, statement.operands.size() - 1, operand.name, line});
      }
    } while (accept(','));
  }
  function->statements.push_back(std::move(statement));
  return expect(';');
}

bool Parser::parseOperand(Operand &operand, unsigned depth) {
  if (depth > 2) {
    return fail("expected no deeper vectors");
  }
  if (accept('!')) {
    operand.isNegated = true;
    return token.kind == Token::Word ? parseName(operand)
                                     : failExpected("a predicate after '!'");
  }
  if (accept('[')) {
    return parseAddress(operand, depth);
  }
  if (accept('{')) {
    operand.kind = Operand::Vector;
    do {
      if (!parseOperand(operand.parts.emplace_back(), depth + 1)) {
        return false;
      }
    } while (accept(','));
    return expect('}');
  }
  return token.kind == Token::Word ? parseName(operand) : parseSign(operand);
}

/// A number, with its sign.
bool Parser::parseSign(Operand &operand) {
  bool isNegative = accept('-');
  if (token.kind < Token::Integer || token.kind > Token::Real) {
    return failExpected("an operand");
  }
  operand.kind = Operand::Immediate;
  operand.bits = token.bits;
  operand.isDouble = token.kind == Token::Real || token.kind == Token::Float64;
  if (isNegative && operand.isDouble) {
    operand.bits ^= uint64_t(1) << 63;
  } else if (isNegative && token.kind == Token::Float32) {
    operand.bits ^= uint64_t(1) << 31;
  } else if (isNegative) {
    operand.bits = -operand.bits;
  }
  advance();
  return true;
}

bool Parser::parseName(Operand &operand) {
  StringRef name = token.text;
  advance();
  operand.reg = name == "_" ? kNoRegister : findRegister(name);
  if (name == "_" || operand.reg != kNoRegister) {
    operand.kind = name == "_" ? Operand::Sink : Operand::Register;
    if (accept('|')) {
      if (token.kind != Token::Word ||
          (token.text != "_" &&
           (operand.second = findRegister(token.text)) == kNoRegister)) {
        return failExpected("a register after '|'");
      }
      advance();
    }
    return true;
  }
  operand.name = name.str();
  if (name.starts_with("%")) {
    operand.kind = Operand::Special;
    if (token.kind == Token::Dotted) {
      operand.name += token.text;
      advance();
    }
    return true;
  }
  operand.kind = Operand::Symbol;
  auto declares = [&](const std::vector<Variable> &variables) {
    for (const Variable &variable : variables) {
      if (variable.name == name) {
        return true;
      }
    }
    return false;
  };
  // Whether it is a variable.
  operand.bits = declares(function->parameters) || declares(function->shared) ||
                 declares(module->shared);
  return true;
}

bool Parser::parseAddress(Operand &operand, unsigned depth) {
  operand.kind = Operand::Address;
  Operand base;
  if (!parseOperand(base, depth + 1)) {
    return false;
  }
  if (base.kind == Operand::Symbol && !base.bits) {
    return fail("expected a variable, but '" + base.name + "' is none");
  }
  base.bits = base.kind == Operand::Immediate ? base.bits : 0;
  operand.parts.push_back(std::move(base));
  if (is('+') || is('-')) {
    bool isNegative = is('-');
    advance();
    Operand offset;
    if (!parseSign(offset)) {
      return false;
    }
    operand.bits = isNegative ? -offset.bits : offset.bits;
  }
  if (accept(',')) {
    Operand coordinates;
    if (!parseOperand(coordinates, depth + 1)) {
      return false;
    }
    if (coordinates.kind != Operand::Vector) {
      return fail("expected coordinates in braces");
    }
    for (Operand &part : coordinates.parts) {
      operand.parts.push_back(std::move(part));
    }
  }
  return expect(']');
}
