//===- Lexer.cpp - Tokens of PTX -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lexer.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace mlir::jfa::emu;

static bool isNameStart(char c) {
  return llvm::isAlpha(c) || c == '_' || c == '$' || c == '%';
}
static bool isNamePart(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$';
}

void Lexer::skipSpace() {
  while (!rest.empty()) {
    if (llvm::isSpace(rest[0])) {
      line += rest[0] == '\n';
      rest = rest.drop_front();
    } else if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
    } else if (rest.starts_with("/*")) {
      size_t end = rest.find("*/", 2);
      llvm::StringRef comment = rest.substr(0, end);
      line += uint32_t(comment.count('\n'));
      rest = end == llvm::StringRef::npos ? "" : rest.drop_front(end + 2);
    } else {
      return;
    }
  }
}

Token Lexer::take(Token::Kind kind, size_t length) {
  Token token;
  token.kind = kind;
  token.text = rest.take_front(length);
  token.line = line;
  rest = rest.drop_front(token.text.size());
  return token;
}

/// Bits of a number that takes exactly `digits` hexadecimal digits.
static bool parseHex(llvm::StringRef text, size_t digits, uint64_t &bits) {
  return text.size() == digits && !text.getAsInteger(16, bits);
}

Token Lexer::lexNumber() {
  size_t length = 1;
  while (length < rest.size() && llvm::isAlnum(rest[length])) {
    ++length;
  }
  bool isHex = rest.size() > 1 && rest[0] == '0' && llvm::isAlpha(rest[1]);
  // 1.5, 1.5e3; but not the `.4d` of an opcode, which begins with a dot.
  if (!isHex && length + 1 < rest.size() && rest[length] == '.' &&
      llvm::isDigit(rest[length + 1])) {
    ++length;
    while (length < rest.size() &&
           (llvm::isAlnum(rest[length]) ||
            ((rest[length] == '-' || rest[length] == '+') &&
             llvm::toLower(rest[length - 1]) == 'e'))) {
      ++length;
    }
    Token token = take(Token::Real, length);
    double value = 0;
    if (!llvm::to_float(token.text, value)) {
      token.kind = Token::Bad;
    }
    std::memcpy(&token.bits, &value, 8);
    return token;
  }
  Token token = take(Token::Integer, length);
  llvm::StringRef digits = token.text;
  if (digits.starts_with_insensitive("0f")) {
    token.kind = Token::Float32;
    bool isGood = parseHex(digits.drop_front(2), 8, token.bits);
    token.kind = isGood ? token.kind : Token::Bad;
  } else if (digits.starts_with_insensitive("0d")) {
    token.kind = Token::Float64;
    bool isGood = parseHex(digits.drop_front(2), 16, token.bits);
    token.kind = isGood ? token.kind : Token::Bad;
  } else {
    digits.consume_back("U");
    if (digits.getAsInteger(0, token.bits)) {
      token.kind = Token::Bad;
    }
  }
  return token;
}

Token Lexer::next() {
  skipSpace();
  if (rest.empty()) {
    return take(Token::End, 0);
  }
  size_t length = 1;
  if (isNameStart(rest[0])) {
    while (length < rest.size() && isNamePart(rest[length])) {
      ++length;
    }
    return take(Token::Word, length);
  }
  if (rest[0] == '.' && rest.size() > 1 && isNamePart(rest[1])) {
    while (length < rest.size() &&
           (isNamePart(rest[length]) || rest.substr(length).starts_with("::") ||
            (rest[length] == ':' && rest[length - 1] == ':'))) {
      ++length;
    }
    return take(Token::Dotted, length);
  }
  if (llvm::isDigit(rest[0])) {
    return lexNumber();
  }
  if (rest[0] == '"') {
    size_t end = rest.find_first_of("\"\n", 1);
    if (end == llvm::StringRef::npos || rest[end] != '"') {
      return take(Token::Bad, 1);
    }
    return take(Token::String, end + 1);
  }
  static const char kPunctuation[] = ",;:{}[]()<>@!|+-=*";
  bool isKnown = std::strchr(kPunctuation, rest[0]) && rest[0];
  return take(isKnown ? Token::Punctuation : Token::Bad, 1);
}
