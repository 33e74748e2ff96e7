//===- Specialize.cpp - Bind the parameters of kernels ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides the value of every parameter and checks all of them before anything is
// rewritten: a refused binding leaves the kernel as it was. Types are then
// rebuilt through their verifiers, since a value can make one illegal.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Values of the parameters
//===----------------------------------------------------------------------===//

namespace {
/// A parameter and what it is bound to.
struct Parameter {
  ParamOp declaration;
  Attribute value;
};
using Parameters = llvm::MapVector<StringAttr, Parameter>;
} // namespace

/// `128`, `true` or `bf16`.
static std::string describe(Attribute value) {
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

/// The number that a parameter stands for in an expression.
static std::optional<int64_t> getNumber(Attribute value) {
  if (auto boolean = dyn_cast<BoolAttr>(value)) {
    return boolean.getValue();
  }
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    return integer.getInt();
  }
  return std::nullopt;
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
    return param.emitOpError("expected '")
           << param.getName() << "' to be bound to one of "
           << param.describeLegalValues()
           << ", since it has no default, but got no value";
  }
  return chosen;
}

/// Every parameter with its value; reports all that have none.
static FailureOr<Parameters> chooseValues(KernelOp kernel,
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

static ExprAttr substitute(ExprAttr expr, const Parameters &parameters) {
  return expr.substitute([&](StringRef name) {
    auto it = parameters.find(StringAttr::get(expr.getContext(), name));
    return it == parameters.end() ? std::nullopt
                                  : getNumber(it->second.value);
  });
}

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
  InFlightDiagnostic diag =
      constraint.emitOpError("expected ")
      << constraint.getLhs().str() << ' '
      << stringifyComparison(constraint.getComparison()) << ' '
      << constraint.getRhs().str() << ", but got ";
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

static LogicalResult checkConstraints(KernelOp kernel,
                                      const Parameters &parameters) {
  LogicalResult result = success();
  for (ConstraintOp constraint : kernel.getBody().getOps<ConstraintOp>()) {
    if (failed(checkConstraint(constraint, parameters))) {
      result = failure();
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

namespace {
/// Replaces what names parameters in the attributes and types of ops. Reports
/// at the op what a value makes illegal, once for each type, and leaves it.
class Specializer {
public:
  explicit Specializer(const Parameters &parameters) : parameters(parameters) {
    add<ExprAttr>();
    add<ParamRefAttr>();
    add<DenseElementsAttr>();
    add<RankedTensorType>();
    add<MemDescType>();
    add<MBarrierType>();
    add<TensorMapType>();
    add<PointerType>();
  }

  LogicalResult run(Operation *root) {
    root->walk([&](Operation *nested) {
      op = nested;
      replacer.replaceElementsIn(nested, /*replaceAttrs=*/true,
                                 /*replaceLocs=*/false, /*replaceTypes=*/true);
    });
    return failure(hasFailed);
  }

private:
  template <typename T>
  void add() {
    using Base = std::conditional_t<std::is_base_of_v<Attribute, T>, Attribute,
                                    Type>;
    replacer.addReplacement([this](T old) -> std::pair<Base, WalkResult> {
      Base result = specialize(old);
      return {result ? result : Base(old), WalkResult::skip()};
    });
  }

  // Each gives the specialised form, or null after reporting why there is none.
  Attribute specialize(ExprAttr expr) {
    return specializeExpr(expr, expr);
  }
  Attribute specialize(ParamRefAttr ref) {
    return specializeElement(ref, ref);
  }
  Attribute specialize(DenseElementsAttr constant);
  Type specialize(RankedTensorType tile);
  Type specialize(MemDescType type);
  Type specialize(MBarrierType type);
  Type specialize(TensorMapType type);
  Type specialize(PointerType type);

  ExprAttr specializeExpr(ExprAttr expr, Attribute subject);
  /// Null if one of them has no specialised form.
  FailureOr<SmallVector<ExprAttr>> specializeExprs(ArrayRef<ExprAttr> exprs,
                                                   Type subject);
  /// A TypeAttr.
  Attribute specializeElement(Attribute element, Attribute subject);
  Type specializeTileElement(RankedTensorType tile, ParamRefAttr element);

  /// Starts an error at the current op about something that is made of
  /// `subject`, and shows what the parameters in there are.
  InFlightDiagnostic emitError(Attribute subject);
  auto errorsAbout(Type subject) {
    return [this, subject] { return emitError(TypeAttr::get(subject)); };
  }

  const Parameters &parameters;
  AttrTypeReplacer replacer;
  Operation *op = nullptr;
  bool hasFailed = false;
};
} // namespace

InFlightDiagnostic Specializer::emitError(Attribute subject) {
  hasFailed = true;
  InFlightDiagnostic diag = op->emitOpError();
  llvm::SmallSetVector<StringAttr, 4> names;
  forEachParameter(subject, [&](StringAttr name) { names.insert(name); });
  Diagnostic &note = diag.attachNote() << "in " << subject;
  StringRef separator = " with ";
  for (StringAttr name : names) {
    auto it = parameters.find(name);
    if (it != parameters.end()) {
      note << separator << name.getValue() << " = "
           << describe(it->second.value);
      separator = ", ";
    }
  }
  return diag;
}

ExprAttr Specializer::specializeExpr(ExprAttr expr, Attribute subject) {
  ExprAttr result = substitute(expr, parameters);
  if (!result.getNames().empty()) {
    emitError(subject) << "expected '" << result.getNames().front().getValue()
                       << "' to be an integer, since an expression uses it";
    return {};
  }
  if (!result.getConstant()) {
    emitError(subject) << "expected '" << expr.str()
                       << "' to be a 64-bit integer, but it overflows";
    return {};
  }
  return result;
}

FailureOr<SmallVector<ExprAttr>>
Specializer::specializeExprs(ArrayRef<ExprAttr> exprs, Type subject) {
  SmallVector<ExprAttr> result;
  for (ExprAttr expr : exprs) {
    result.push_back(specializeExpr(expr, TypeAttr::get(subject)));
    if (!result.back()) {
      return failure();
    }
  }
  return result;
}

Attribute Specializer::specializeElement(Attribute element, Attribute subject) {
  auto ref = dyn_cast<ParamRefAttr>(element);
  if (!ref) {
    return element;
  }
  auto it = parameters.find(ref.getName());
  if (it != parameters.end()) {
    if (auto type = dyn_cast<TypeAttr>(it->second.value)) {
      return type;
    }
  }
  emitError(subject) << "expected '" << ref.getName().getValue()
                     << "' to be an element type, since a type uses it as one";
  return {};
}

/// The element type of a tile whose encoding names an element parameter.
Type Specializer::specializeTileElement(RankedTensorType tile,
                                        ParamRefAttr element) {
  auto value = cast_or_null<TypeAttr>(
      specializeElement(element, TypeAttr::get(tile)));
  if (!value) {
    return {};
  }
  ParamOp declaration = parameters.find(element.getName())->second.declaration;
  auto written = dyn_cast_or_null<TypeAttr>(declaration.getDefaultValue());
  if (!written) {
    emitError(TypeAttr::get(tile))
        << "expected '" << element.getName().getValue()
        << "' to have a default, the element type that tiles are written with";
    return {};
  }
  return written.getValue() == tile.getElementType() ? value.getValue()
                                                     : tile.getElementType();
}

Type Specializer::specialize(RankedTensorType tile) {
  auto dims = dyn_cast_or_null<DimsAttr>(tile.getEncoding());
  if (!dims) {
    return tile;
  }
  FailureOr<SmallVector<ExprAttr>> exprs = specializeExprs(dims.getDims(), tile);
  Type element = dims.getElement()
                     ? specializeTileElement(tile, dims.getElement())
                     : tile.getElementType();
  if (failed(exprs) || !element) {
    return {};
  }
  SmallVector<int64_t> shape;
  for (ExprAttr expr : *exprs) {
    shape.push_back(*expr.getConstant());
    if (shape.back() < 1 || !llvm::isInt<32>(shape.back())) {
      emitError(TypeAttr::get(tile))
          << "expected every extent of a tile to be from 1 to 2147483647, but "
             "got "
          << shape.back();
      return {};
    }
  }
  return RankedTensorType::getChecked(errorsAbout(tile), ArrayRef(shape),
                                      element);
}

/// A constant tile whose type changes: the same numbers.
Attribute Specializer::specialize(DenseElementsAttr constant) {
  auto type = dyn_cast<RankedTensorType>(constant.getType());
  auto result = dyn_cast_or_null<RankedTensorType>(
      type ? replacer.replace(type) : Type());
  if (!result || result == type) {
    return constant;
  }
  Type element = result.getElementType();
  if (element != type.getElementType()) {
    auto floats = dyn_cast<DenseFPElementsAttr>(constant);
    auto target = dyn_cast<FloatType>(element);
    if (!floats || !target) {
      emitError(TypeAttr::get(type))
          << "expected a float type for the constant, but got " << element;
      return {};
    }
    constant = floats.mapValues(target, [&](const APFloat &value) {
      APFloat converted = value;
      bool isInexact;
      converted.convert(target.getFloatSemantics(),
                        APFloat::rmNearestTiesToEven, &isInexact);
      return converted.bitcastToAPInt();
    });
  }
  return constant.reshape(result);
}

Type Specializer::specialize(MemDescType type) {
  FailureOr<SmallVector<ExprAttr>> shape =
      specializeExprs(type.getShape(), type);
  FailureOr<SmallVector<ExprAttr>> allocShape =
      specializeExprs(type.getAllocShape(), type);
  Attribute element = specializeElement(type.getElement(), TypeAttr::get(type));
  if (failed(shape) || failed(allocShape) || !element) {
    return {};
  }
  return MemDescType::getChecked(
      errorsAbout(type), type.getContext(), ArrayRef(*shape), element,
      ArrayRef(*allocShape), type.getTransposed(), type.getMemorySpace());
}

Type Specializer::specialize(MBarrierType type) {
  ExprAttr count = specializeExpr(type.getCount(), TypeAttr::get(type));
  return count ? MBarrierType::getChecked(errorsAbout(type), type.getContext(),
                                          count)
               : Type();
}

Type Specializer::specialize(TensorMapType type) {
  FailureOr<SmallVector<ExprAttr>> tile = specializeExprs(type.getTile(), type);
  Attribute element = specializeElement(type.getElement(), TypeAttr::get(type));
  if (failed(tile) || !element) {
    return {};
  }
  return TensorMapType::getChecked(errorsAbout(type), type.getContext(),
                                   ArrayRef(*tile), element, type.getRagged());
}

Type Specializer::specialize(PointerType type) {
  Attribute element = specializeElement(type.getElement(), TypeAttr::get(type));
  return element ? PointerType::getChecked(errorsAbout(type), type.getContext(),
                                           element)
                 : Type();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Replaces the uses of the parameters as values by constants and erases the
/// declarations and constraints.
static void eraseDeclarations(KernelOp kernel, const Parameters &parameters) {
  OpBuilder builder(kernel.getContext());
  for (auto [name, parameter] : parameters) {
    ParamOp param = parameter.declaration;
    if (param.getValue() && !param.getValue().use_empty()) {
      builder.setInsertionPoint(param);
      Type type = param.getValue().getType();
      Value constant = arith::ConstantOp::create(
          builder, param.getLoc(),
          builder.getIntegerAttr(type, *getNumber(parameter.value)));
      param.getValue().replaceAllUsesWith(constant);
    }
    param.erase();
  }
  for (ConstraintOp constraint :
       llvm::make_early_inc_range(kernel.getBody().getOps<ConstraintOp>())) {
    constraint.erase();
  }
}

/// Writes down what was bound.
static void recordParameters(KernelOp kernel, const Parameters &parameters) {
  if (kernel.getParametersAttr() && parameters.empty()) {
    return; // Specialised before.
  }
  NamedAttrList values(kernel.getParametersAttr());
  for (const auto &[name, parameter] : parameters) {
    Attribute value = parameter.value;
    if (isa<TypeAttr>(value)) {
      value = StringAttr::get(kernel.getContext(), describe(value));
    }
    values.set(name, value);
  }
  kernel.setParametersAttr(values.getDictionary(kernel.getContext()));
}

static LogicalResult bindAndRewrite(KernelOp kernel,
                                    ArrayRef<ParameterBinding> bindings) {
  FailureOr<Parameters> parameters = chooseValues(kernel, bindings);
  if (failed(parameters) || failed(checkConstraints(kernel, *parameters)) ||
      failed(Specializer(*parameters).run(kernel))) {
    return failure();
  }
  recordParameters(kernel, *parameters);
  eraseDeclarations(kernel, *parameters);
  return success();
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

static bool declares(KernelOp kernel, StringRef name) {
  return llvm::any_of(kernel.getBody().getOps<ParamOp>(),
                      [&](ParamOp param) { return param.getName() == name; });
}

/// Checks that some kernel declares each name.
static LogicalResult checkNames(Operation *root, ArrayRef<KernelOp> kernels,
                                ArrayRef<ParameterBinding> bindings) {
  LogicalResult result = success();
  for (const auto &binding : bindings) {
    StringRef name = binding.first;
    if (llvm::any_of(kernels, [&](KernelOp k) { return declares(k, name); })) {
      continue;
    }
    InFlightDiagnostic diag =
        root->emitOpError("expected the name of a declared parameter, but got '")
        << name << "'";
    for (KernelOp kernel : kernels) {
      Diagnostic &note = diag.attachNote(kernel.getLoc())
                         << "@" << kernel.getSymName() << " declares [";
      llvm::interleaveComma(
          kernel.getBody().getOps<ParamOp>(), note,
          [&](ParamOp param) { note << param.getName(); });
      note << "]";
    }
    result = diag;
  }
  return result;
}

static FailureOr<SmallVector<ParameterBinding>>
parseBindings(Operation *root, ArrayRef<std::string> texts) {
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

LogicalResult tlx::specializeKernel(KernelOp kernel,
                                    ArrayRef<ParameterBinding> bindings) {
  return success(succeeded(checkNames(kernel, kernel, bindings)) &&
                 succeeded(bindAndRewrite(kernel, bindings)));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct Specialize : public mlir::jfa::tlx::impl::SpecializePassBase<Specialize> {
  using SpecializePassBase::SpecializePassBase;

  void runOnOperation() final {
    Operation *root = getOperation();
    SmallVector<KernelOp> kernels;
    root->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    FailureOr<SmallVector<ParameterBinding>> parsed =
        parseBindings(root, bindings);
    if (failed(parsed) || failed(checkNames(root, kernels, *parsed))) {
      return signalPassFailure();
    }
    for (KernelOp kernel : kernels) {
      if (failed(bindAndRewrite(kernel, *parsed))) {
        signalPassFailure();
      }
    }
  }
};
} // namespace
