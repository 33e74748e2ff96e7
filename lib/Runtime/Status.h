//===- Status.h - Results of the runtime's calls ----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_RUNTIME_STATUS_H
#define JFA_LIB_RUNTIME_STATUS_H

#include "jfa-c/Runtime.h"

#include <sstream>
#include <string>
#include <utility>

namespace jfa::runtime {

/// What a call came to. A refusal names the argument as the C interface spells
/// it. Success holds no memory, so that executing a plan allocates nothing.
struct [[nodiscard]] Status {
  jfaStatus code = JFA_STATUS_SUCCESS;
  std::string argument;
  std::string message;

  bool failed() const { return code != JFA_STATUS_SUCCESS; }
};

inline Status success() { return {}; }

/// Joins whatever streams can print.
template <typename... Ts>
std::string concat(const Ts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

template <typename... Ts>
Status failure(jfaStatus code, const Ts &...message) {
  return {code, "", concat(message...)};
}

/// "expected 'argument' <rest>", the form of every refused argument.
template <typename... Ts>
Status invalid(const std::string &argument, const Ts &...rest) {
  return {JFA_STATUS_INVALID_ARGUMENT, argument,
          concat("expected '", argument, "' ", rest...)};
}

} // namespace jfa::runtime

#endif // JFA_LIB_RUNTIME_STATUS_H
