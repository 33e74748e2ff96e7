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

#include "Lexer.h"

#include "jfa/Emu/Module.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir::jfa::emu;
using llvm::StringRef;
using llvm::Twine;

// No text may make the parser take memory without bound.
static constexpr uint64_t kMaxRegisters = 1 << 18;
static constexpr uint64_t kMaxBytes = 1 << 28;
static constexpr unsigned kMaxDepth = 64;

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

namespace {
/// Where an operand refers to a label that may follow.
struct Reference {
  size_t statement, operand;
  std::string name;
  uint32_t line;
};

struct Scope {
  llvm::StringMap<uint32_t> registers;
  llvm::StringMap<size_t> labels;
  std::vector<Reference> references;
};

class Parser {
public:
  Parser(StringRef text, std::string &error) : lexer(text), error(error) {
    advance();
  }
  std::unique_ptr<Module> parse();

private:
  void advance() { token = lexer.next(); }
  bool fail(const Twine &message) {
    if (error.empty()) {
      error = ("line " + Twine(token.line) + ": " + message).str();
    }
    return false;
  }
  bool failExpected(const Twine &what) {
    return fail("expected " + what + ", but got " +
                (token.kind == Token::End ? std::string("the end of the text")
                                          : "'" + token.text.str() + "'"));
  }
  bool is(char c) const {
    return token.kind == Token::Punctuation && token.text[0] == c;
  }
  bool isDotted(StringRef text) const {
    return token.kind == Token::Dotted && token.text == text;
  }
  bool accept(char c) {
    bool isIt = is(c);
    if (isIt) {
      advance();
    }
    return isIt;
  }
  bool expect(char c) {
    return accept(c) || failExpected("'" + Twine(c) + "'");
  }
  bool expectInteger(uint64_t &value, uint64_t limit);
  bool expectName(std::string &name, const char *what);

  bool parseHeader();
  bool parseFile();
  bool parseVariable(Variable &variable);
  bool parseEntry();
  bool parseDirectives(Function &function);
  bool parseExtents(uint32_t (&extents)[3]);
  bool parseBlock(unsigned depth);
  bool parseBodyDirective();
  bool parseLoc();
  bool parseRegisters();
  bool addRegister(const std::string &name, Type type);
  bool parseStatement();
  bool parseOperand(Operand &operand, unsigned depth);
  bool parseName(Operand &operand);
  bool parseSign(Operand &operand);
  bool parseAddress(Operand &operand, unsigned depth);
  bool closeScope();
  uint32_t findRegister(StringRef name) const;

  Lexer lexer;
  std::string &error;
  Token token;
  std::unique_ptr<Module> module = std::make_unique<Module>();
  Function *function = nullptr;
  std::vector<Scope> scopes;
  Statement location;
};
} // namespace

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
        return nullptr;
      }
    } else if (isDotted(".shared")) {
      advance();
      if (!parseVariable(module->shared.emplace_back()) || !expect(';')) {
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

std::unique_ptr<Module> mlir::jfa::emu::parseModule(StringRef text,
                                                    std::string &error) {
  error.clear();
  return Parser(text, error).parse();
}
