//===- Lexer.h - Tokens of PTX -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_EMU_LEXER_H
#define JFA_LIB_EMU_LEXER_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir::jfa::emu {

struct Token {
  enum Kind {
    End,
    /// A name or an opcode up to the first dot; registers keep their `%`.
    Word,
    /// `.name`, with what follows after `::`.
    Dotted,
    Integer,
    /// 0f and 0d, as bits; Real is a decimal number, as the bits of a double.
    Float32,
    Float64,
    Real,
    String,
    Punctuation,
    Bad
  };
  Kind kind = End;
  llvm::StringRef text;
  uint64_t bits = 0;
  uint32_t line = 1;
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : rest(text) {}
  Token next();

private:
  void skipSpace();
  Token lexNumber();
  Token take(Token::Kind kind, size_t length);

  llvm::StringRef rest;
  uint32_t line = 1;
};

} // namespace mlir::jfa::emu

#endif // JFA_LIB_EMU_LEXER_H
