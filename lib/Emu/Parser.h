//===- Parser.h - Reads PTX -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_PARSER_H
#define JFA_LIB_EMU_PARSER_H

#include "Lexer.h"

#include "jfa/Emu/Module.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

namespace mlir::jfa::emu {

// No text may make the parser take memory without bound.
constexpr uint64_t kMaxRegisters = 1 << 18;
constexpr uint64_t kMaxBytes = 1 << 28;
constexpr unsigned kMaxDepth = 64;

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
  Parser(llvm::StringRef text, std::string &error) : lexer(text), error(error) {
    advance();
  }
  std::unique_ptr<Module> parse();

private:
  void advance() {
    braces += is('{') ? 1 : is('}') ? -1 : 0;
    token = lexer.next();
  }
  bool fail(const llvm::Twine &message) {
    if (error.empty()) {
      error = ("line " + llvm::Twine(token.line) + ": " + message).str();
    }
    return false;
  }
  bool failExpected(const llvm::Twine &what) {
    return fail("expected " + what + ", but got " +
                (token.kind == Token::End ? std::string("the end of the text")
                                          : "'" + token.text.str() + "'"));
  }
  bool is(char c) const {
    return token.kind == Token::Punctuation && token.text[0] == c;
  }
  bool isDotted(llvm::StringRef text) const {
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
    return accept(c) || failExpected("'" + llvm::Twine(c) + "'");
  }
  bool expectInteger(uint64_t &value, uint64_t limit);
  bool expectName(std::string &name, const char *what);

  bool parseHeader();
  bool parseFile();
  bool parseVariable(Variable &variable);
  bool parseEntry();
  void skipEntry();
  void skipBlock();
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
  uint32_t findRegister(llvm::StringRef name) const;

  Lexer lexer;
  std::string &error;
  Token token;
  /// That are open.
  int braces = 0;
  std::unique_ptr<Module> module = std::make_unique<Module>();
  Function *function = nullptr;
  std::vector<Scope> scopes;
  Statement location;
};

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_PARSER_H
