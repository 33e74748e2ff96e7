//===- Nesting.cpp - Refusing sources that nest too deeply ------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser, verifier and printer recurse into brackets and regions, so
// that a source of nothing but opening brackets ends the process by
// overflowing its stack. Such a source is refused before it is parsed.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/Driver/Compile.h"

using namespace mlir;
using namespace mlir::jfa;

/// Far beyond any kernel, far below what a stack of 8 MiB holds.
static constexpr unsigned maximalDepth = 256;

/// The position after the string literal that begins at `i`.
static size_t skipString(StringRef text, size_t i) {
  for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    }
  }
  return i;
}

unsigned mlir::jfa::findTooDeepLine(StringRef text) {
  unsigned depth = 0;
  unsigned line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      i = skipString(text, i);
    } else if (c == '/' && text.substr(i).starts_with("//")) {
      i = text.find('\n', i) - 1;
      if (i >= text.size()) {
        break;
      }
    } else if (c == '(' || c == '[' || c == '{' || c == '<') {
      if (++depth > maximalDepth) {
        return line;
      }
    } else if (c == '>' && i > 0 && text[i - 1] == '-') {
      // The arrow of a function type closes nothing.
    } else if ((c == ')' || c == ']' || c == '}' || c == '>') && depth) {
      --depth;
    }
    if (i < text.size() && text[i] == '\n') {
      ++line;
    }
  }
  return 0;
}
