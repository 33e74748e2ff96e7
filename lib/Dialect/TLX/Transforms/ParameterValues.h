//===- ParameterValues.h - What parameters are bound to ---------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the texts of bindings to checked values: what `tlx-specialize` does
// before it rewrites anything.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_DIALECT_TLX_TRANSFORMS_PARAMETERVALUES_H
#define JFA_LIB_DIALECT_TLX_TRANSFORMS_PARAMETERVALUES_H

#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::jfa::tlx {

/// A parameter and what it is bound to.
struct Parameter {
  ParamOp declaration;
  Attribute value;
};
using Parameters = llvm::MapVector<StringAttr, Parameter>;

/// `128`, `true` or `bf16`.
std::string describe(Attribute value);

/// The number that a value stands for in an expression; none for a type.
std::optional<int64_t> getNumber(Attribute value);

/// Replaces the names of parameters that are numbers.
ExprAttr substitute(ExprAttr expr, const Parameters &parameters);

/// Splits `NAME=VALUE`s; errors are at `root`.
FailureOr<SmallVector<ParameterBinding>>
parseBindings(Operation *root, ArrayRef<std::string> texts);

/// Checks that for each binding some kernel declares the name.
LogicalResult checkNames(Operation *root, ArrayRef<KernelOp> kernels,
                         ArrayRef<ParameterBinding> bindings);

/// Every parameter of the kernel with its value; reports all that have none.
FailureOr<Parameters> chooseValues(KernelOp kernel,
                                   ArrayRef<ParameterBinding> bindings);

LogicalResult checkConstraints(KernelOp kernel, const Parameters &parameters);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_DIALECT_TLX_TRANSFORMS_PARAMETERVALUES_H
