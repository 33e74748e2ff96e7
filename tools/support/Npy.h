//===- Npy.h - Arrays in files -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_SUPPORT_NPY_H
#define JFA_TOOLS_SUPPORT_NPY_H

#include "jfa/Sim/Memory.h"

#include <string>

namespace mlir::jfa::sim {

/// Makes an array out of `text`: a file in NumPy's format, or `zeros:AxB`,
/// `iota:AxB`, `random:AxB` (normal, of `seed`) or `none:AxB`, which has no
/// values. Returns what is wrong.
std::string makeArray(const std::string &text, uint64_t seed,
                      std::vector<GlobalArray> &arrays, const std::string &name,
                      ElementKind kind);

/// Reads the value of a scalar argument. Returns what is wrong.
std::string parseScalar(const std::string &text, const std::string &name,
                        ElementKind kind, Value &value);

/// Writes an array; narrow floating-point types as f32.
std::string writeArray(const std::string &path, GlobalArray &array);

} // namespace mlir::jfa::sim

#endif // JFA_TOOLS_SUPPORT_NPY_H
