//===- ParameterValues.cpp - What parameters are bound to -------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every error names what was given and what is legal.
//
//===----------------------------------------------------------------------===//

#include "ParameterValues.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

static bool declares(KernelOp kernel, StringRef name) {
  return llvm::any_of(kernel.getBody().getOps<ParamOp>(),
                      [&](ParamOp param) { return param.getName() == name; });
}

LogicalResult tlx::checkNames(Operation *root, ArrayRef<KernelOp> kernels,
                              ArrayRef<ParameterBinding> bindings) {
  LogicalResult result = success();
  for (const auto &binding : bindings) {
    StringRef name = binding.first;
    if (llvm::any_of(kernels, [&](KernelOp k) { return declares(k, name); })) {
      continue;
    }
    InFlightDiagnostic diag =
        root->emitOpError(
            "expected the name of a declared parameter, but got '")
        << name << "'";
    for (KernelOp kernel : kernels) {
      Diagnostic &note = diag.attachNote(kernel.getLoc())
                         << "@" << kernel.getSymName() << " declares [";
      llvm::interleaveComma(kernel.getBody().getOps<ParamOp>(), note,
                            [&](ParamOp param) { note << param.getName(); });
      note << "]";
    }
    result = diag;
  }
  return result;
}

FailureOr<SmallVector<ParameterBinding>>
tlx::parseBindings(Operation *root, ArrayRef<std::string> texts) {
  SmallVector<ParameterBinding> bindings;
  for (StringRef text : texts) {
    auto [name, value] = text.split('=');
    if (name.empty() || value.empty()) {
      return root->emitOpError("expected a binding NAME=VALUE, but got '")
             << text << "'";
    }
    bindings.emplace_back(name, value);
  }
  return bindings;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string tlx::describe(Attribute value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto boolean = dyn_cast<BoolAttr>(value)) {
    os << (boolean.getValue() ? "true" : "false");
  } else if (auto integer = dyn_cast<IntegerAttr>(value)) {
    os << integer.getInt();
  } else {
    os << cast<TypeAttr>(value).getValue();
  }
  return text;
}

std::optional<int64_t> tlx::getNumber(Attribute value) {
  if (auto boolean = dyn_cast<BoolAttr>(value)) {
    return boolean.getValue();
  }
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    return integer.getInt();
  }
  return std::nullopt;
}

ExprAttr tlx::substitute(ExprAttr expr, const Parameters &parameters) {
  return expr.substitute([&](StringRef name) {
    auto it = parameters.find(StringAttr::get(expr.getContext(), name));
    return it == parameters.end() ? std::nullopt : getNumber(it->second.value);
  });
}

/// The value that `bindings` give to `param`, or its default.
static FailureOr<Attribute> chooseValue(KernelOp kernel, ParamOp param,
                                        ArrayRef<ParameterBinding> bindings) {
  Attribute chosen;
  for (const auto &[name, text] : bindings) {
    if (name != param.getName()) {
      continue;
    }
    FailureOr<Attribute> value =
        param.parseBinding(text, [&] { return kernel.emitOpError(); });
    if (failed(value)) {
      return failure();
    }
    if (chosen && chosen != *value) {
      InFlightDiagnostic diag = kernel.emitOpError("expected one value for '")
                                << name << "', but got " << describe(chosen)
                                << " and " << describe(*value);
      diag.attachNote(param.getLoc()) << "declared here";
      return diag;
    }
    chosen = *value;
  }
  chosen = chosen ? chosen : param.getDefaultValue();
  if (!chosen) {
    return param.emitOpError("expected a value for '")
           << param.getName() << "' (" << param.describeLegalValues()
           << "), since it has no default, but got none";
  }
  return chosen;
}

FailureOr<Parameters> tlx::chooseValues(KernelOp kernel,
                                        ArrayRef<ParameterBinding> bindings) {
  Parameters parameters;
  bool isComplete = true;
  for (ParamOp param : kernel.getBody().getOps<ParamOp>()) {
    FailureOr<Attribute> value = chooseValue(kernel, param, bindings);
    if (failed(value)) {
      isComplete = false;
      continue;
    }
    parameters[param.getNameAttr()] = {param, *value};
  }
  if (!isComplete) {
    return failure();
  }
  return parameters;
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// Whether the comparison holds; nothing if a side is not a number.
static std::optional<bool> evaluate(std::optional<int64_t> lhs,
                                    Comparison comparison,
                                    std::optional<int64_t> rhs) {
  if (!lhs || !rhs) {
    return std::nullopt;
  }
  switch (comparison) {
  case Comparison::Equal:
    return *lhs == *rhs;
  case Comparison::LessEqual:
    return *lhs <= *rhs;
  case Comparison::Less:
    return *lhs < *rhs;
  }
  return std::nullopt;
}

static LogicalResult checkConstraint(ConstraintOp constraint,
                                     const Parameters &parameters) {
  std::optional<int64_t> lhs =
      substitute(constraint.getLhs(), parameters).getConstant();
  std::optional<int64_t> rhs =
      substitute(constraint.getRhs(), parameters).getConstant();
  std::optional<bool> holds = evaluate(lhs, constraint.getComparison(), rhs);
  if (holds == std::optional(true)) {
    return success();
  }
  InFlightDiagnostic diag = constraint.emitOpError("expected ")
                            << constraint.getLhs().str() << ' '
                            << stringifyComparison(constraint.getComparison())
                            << ' ' << constraint.getRhs().str() << ", but got ";
  if (holds) {
    diag << *lhs << " and " << *rhs;
  } else {
    diag << "a side that is not a 64-bit integer";
  }
  llvm::SmallSetVector<StringAttr, 4> names;
  names.insert_range(constraint.getLhs().getNames());
  names.insert_range(constraint.getRhs().getNames());
  for (StringAttr name : names) {
    Parameter parameter = parameters.find(name)->second;
    diag.attachNote(parameter.declaration.getLoc())
        << "'" << name.getValue() << "' is " << describe(parameter.value);
  }
  return diag;
}

LogicalResult tlx::checkConstraints(KernelOp kernel,
                                    const Parameters &parameters) {
  LogicalResult result = success();
  for (ConstraintOp constraint : kernel.getBody().getOps<ConstraintOp>()) {
    if (failed(checkConstraint(constraint, parameters))) {
      result = failure();
    }
  }
  return result;
}
