//===- Parser.cpp - Reads PTX -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recursive-descent parser. Inline assembly opens scopes with registers and
// labels of their own (PTX ISA 4.4, 7); names are resolved while parsing, and
// labels when their scope ends.
//
//===----------------------------------------------------------------------===//

#include "Parser.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir::jfa::emu;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Module
//===----------------------------------------------------------------------===//

Type mlir::jfa::emu::parseType(StringRef name) {
  static const Type kTypes[] = {
      {TypeClass::Pred, 1, ".pred"},       {TypeClass::Bits, 8, ".b8"},
      {TypeClass::Bits, 16, ".b16"},       {TypeClass::Bits, 32, ".b32"},
      {TypeClass::Bits, 64, ".b64"},       {TypeClass::Bits, 128, ".b128"},
      {TypeClass::Unsigned, 8, ".u8"},     {TypeClass::Unsigned, 16, ".u16"},
      {TypeClass::Unsigned, 32, ".u32"},   {TypeClass::Unsigned, 64, ".u64"},
      {TypeClass::Signed, 8, ".s8"},       {TypeClass::Signed, 16, ".s16"},
      {TypeClass::Signed, 32, ".s32"},     {TypeClass::Signed, 64, ".s64"},
      {TypeClass::Float, 16, ".f16"},      {TypeClass::Float, 32, ".f16x2"},
      {TypeClass::Float, 16, ".bf16"},     {TypeClass::Float, 32, ".bf16x2"},
      {TypeClass::Float, 32, ".f32"},      {TypeClass::Float, 64, ".f64"},
      {TypeClass::Float, 32, ".tf32"},     {TypeClass::Float, 8, ".e4m3"},
      {TypeClass::Float, 8, ".e5m2"},      {TypeClass::Float, 16, ".e4m3x2"},
      {TypeClass::Float, 16, ".e5m2x2"},   {TypeClass::Float, 64, ".f32x2"},
      {TypeClass::Unsigned, 32, ".u16x2"}, {TypeClass::Signed, 32, ".s16x2"}};
  for (const Type &type : kTypes) {
    if (type.name == name) {
      return type;
    }
  }
  return {};
}

std::string Statement::getName() const {
  std::string name = opcode;
  for (const std::string &modifier : modifiers) {
    name += modifier;
  }
  return name;
}

uint64_t Function::getParameterBytes() const {
  return parameters.empty() ? 0
                            : parameters.back().offset + parameters.back().size;
}

const Function *Module::find(StringRef name) const {
  for (const Function &function : functions) {
    if (name.empty() || function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

bool Parser::expectInteger(uint64_t &value, uint64_t limit) {
  if (token.kind != Token::Integer || token.bits > limit) {
    return failExpected("a number up to " + Twine(limit));
  }
  value = token.bits;
  advance();
  return true;
}

bool Parser::expectName(std::string &name, const char *what) {
  if (token.kind != Token::Word) {
    return failExpected(what);
  }
  name = token.text.str();
  advance();
  return true;
}

//===----------------------------------------------------------------------===//
// Outside of functions
//===----------------------------------------------------------------------===//

std::unique_ptr<Module> Parser::parse() {
  if (!parseHeader()) {
    return nullptr;
  }
  while (token.kind != Token::End) {
    if (isDotted(".visible") || isDotted(".weak") || isDotted(".extern")) {
      advance();
    } else if (isDotted(".entry")) {
      if (!parseEntry()) {
        skipEntry();
      }
    } else if (isDotted(".func")) {
      // What calls one is refused.
      while (token.kind != Token::End && !is(';') && !is('{')) {
        advance();
      }
      if (is('{')) {
        skipBlock();
      } else if (!expect(';')) {
        return nullptr;
      }
    } else if (isDotted(".shared")) {
      advance();
      if (!parseVariable(module->shared.emplace_back()) || !expect(';')) {
        return nullptr;
      }
    } else if (isDotted(".global") || isDotted(".const")) {
      // Those that nobody uses; what uses one is refused by name.
      while (token.kind != Token::End && !is(';') && !isDotted(".entry")) {
        advance();
      }
      if (!expect(';')) {
        return nullptr;
      }
    } else if (isDotted(".file")) {
      if (!parseFile()) {
        return nullptr;
      }
    } else if (isDotted(".section")) {
      // Debug information other than lines.
      while (token.kind != Token::End && !is('}')) {
        advance();
      }
      if (!expect('}')) {
        return nullptr;
      }
    } else {
      failExpected("an entry, a shared variable or a file");
      return nullptr;
    }
  }
  return std::move(module);
}

bool Parser::parseHeader() {
  if (!isDotted(".version")) {
    return failExpected("'.version'");
  }
  advance();
  module->version = token.text.str();
  if (token.kind != Token::Real) {
    return failExpected("a version such as 8.6");
  }
  advance();
  if (!isDotted(".target")) {
    return failExpected("'.target'");
  }
  advance();
  if (!expectName(module->target, "a target such as sm_90a")) {
    return false;
  }
  while (accept(',')) {
    advance();
  }
  uint64_t size = 64;
  if (isDotted(".address_size")) {
    advance();
    if (!expectInteger(size, 64)) {
      return false;
    }
  }
  return size == 64 || fail("expected '.address_size 64'");
}

bool Parser::parseFile() {
  advance();
  uint64_t number = 0;
  if (!expectInteger(number, UINT32_MAX)) {
    return false;
  }
  if (token.kind != Token::String) {
    return failExpected("the name of a file");
  }
  module->files[uint32_t(number)] = token.text.drop_front().drop_back().str();
  advance();
  uint64_t ignored = 0;
  while (accept(',')) {
    if (!expectInteger(ignored, UINT64_MAX)) {
      return false;
    }
  }
  return true;
}

/// `.align 64 .b8 name[128]`, of parameters and shared variables.
bool Parser::parseVariable(Variable &variable) {
  uint64_t align = 0;
  variable.line = token.line;
  while (token.kind == Token::Dotted) {
    StringRef word = token.text;
    advance();
    if (word == ".align") {
      if (!expectInteger(align, 1 << 16)) {
        return false;
      }
      if (!llvm::isPowerOf2_64(align)) {
        return fail("expected an alignment that is a power of two");
      }
    } else if (Type type = parseType(word)) {
      variable.type = type;
    } else if (word != ".ptr" && word != ".global" && word != ".shared" &&
               word != ".const" && word != ".param") {
      return fail("expected a type, but got '" + word + "'");
    }
  }
  if (!variable.type || !expectName(variable.name, "the name of a variable")) {
    return failExpected("a type and a name");
  }
  uint64_t element = std::max(1, variable.type.bits / 8);
  variable.size = element;
  // Pointers state what they point to, not how they lie.
  bool isArray = is('[');
  variable.align = isArray && align ? align : element;
  while (accept('[')) {
    if (accept(']')) {
      variable.isDynamic = true;
      variable.size = 0;
      return true;
    }
    uint64_t count = 0;
    if (!expectInteger(count, kMaxBytes) || !expect(']')) {
      return false;
    }
    variable.size *= count;
    if (variable.size > kMaxBytes) {
      return fail("expected at most " + Twine(kMaxBytes) + " bytes");
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

bool Parser::parseExtents(uint32_t (&extents)[3]) {
  advance();
  for (unsigned i = 0; i < 3; ++i) {
    extents[i] = 1;
  }
  for (unsigned i = 0; i < 3; ++i) {
    uint64_t value = 0;
    if (!expectInteger(value, 1 << 20)) {
      return false;
    }
    extents[i] = uint32_t(value);
    if (!accept(',')) {
      return true;
    }
  }
  return fail("expected at most three numbers");
}

bool Parser::parseDirectives(Function &function) {
  while (token.kind == Token::Dotted) {
    uint32_t value[3];
    StringRef name = token.text;
    // How a kernel is to be launched, which says it anyway.
    if (name == ".explicitcluster") {
      advance();
      continue;
    }
    if (!parseExtents(value)) {
      return false;
    }
    if (name == ".maxntid" || name == ".reqntid") {
      std::memcpy(function.threads, value, sizeof(value));
      function.isExactThreads = name == ".reqntid";
    } else if (name == ".reqnctapercluster") {
      std::memcpy(function.cluster, value, sizeof(value));
    } else if (name == ".maxnreg") {
      function.maxRegisters = value[0];
    } else if (name == ".minnctapersm") {
      function.minCtas = value[0];
    } else {
      return fail("expected a directive of a kernel, but got '" + name + "'");
    }
  }
  return true;
}

bool Parser::parseEntry() {
  advance();
  function = &module->functions.emplace_back();
  function->line = token.line;
  if (!expectName(function->name, "the name of a kernel")) {
    return false;
  }
  uint64_t offset = 0;
  if (accept('(') && !accept(')')) {
    do {
      if (!isDotted(".param")) {
        return failExpected("'.param'");
      }
      advance();
      Variable &parameter = function->parameters.emplace_back();
      if (!parseVariable(parameter)) {
        return false;
      }
      offset = llvm::alignTo(offset, parameter.align);
      parameter.offset = offset;
      offset += parameter.size;
      if (parameter.isDynamic || offset > 32764) {
        return fail("expected at most 32764 bytes of parameters");
      }
    } while (accept(','));
    if (!expect(')')) {
      return false;
    }
  }
  if (!parseDirectives(*function)) {
    return false;
  }
  location = {};
  return parseBlock(0) && scopes.empty();
}

/// Up to behind the brace that closes the outermost block.
void Parser::skipBlock() {
  do {
    advance();
  } while (braces > 0 && token.kind != Token::End);
}

/// Goes on behind a kernel that cannot be read.
void Parser::skipEntry() {
  while (braces == 0 && token.kind != Token::End && !is('{')) {
    advance();
  }
  skipBlock();
  std::swap(function->error, error);
  error.clear();
  scopes.clear();
}

std::unique_ptr<Module> mlir::jfa::emu::parseModule(StringRef text,
                                                    std::string &error) {
  error.clear();
  return Parser(text, error).parse();
}
