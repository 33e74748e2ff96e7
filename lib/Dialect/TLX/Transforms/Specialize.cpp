//===- Specialize.cpp - Bind the parameters of kernels ----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides the value of every parameter and checks all of them before anything
// is rewritten: a refused binding leaves the kernel as it was. Types are then
// rebuilt through their verifiers, since a value can make one illegal.
//
//===----------------------------------------------------------------------===//

#include "ParameterValues.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

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
    using Base =
        std::conditional_t<std::is_base_of_v<Attribute, T>, Attribute, Type>;
    replacer.addReplacement([this](T old) -> std::pair<Base, WalkResult> {
      Base result = specialize(old);
      return {result ? result : Base(old), WalkResult::skip()};
    });
  }

  // Each gives the specialised form, or null after reporting why there is none.
  Attribute specialize(ExprAttr expr) { return specializeExpr(expr, expr); }
  Attribute specialize(ParamRefAttr ref) { return specializeElement(ref, ref); }
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
                       << "' to be a 64-bit integer, but it overflows or "
                          "divides by zero";
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
  auto value =
      cast_or_null<TypeAttr>(specializeElement(element, TypeAttr::get(tile)));
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
  FailureOr<SmallVector<ExprAttr>> exprs =
      specializeExprs(dims.getDims(), tile);
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
  auto result = dyn_cast_or_null<RankedTensorType>(type ? replacer.replace(type)
                                                        : Type());
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

LogicalResult tlx::specializeKernel(KernelOp kernel,
                                    ArrayRef<ParameterBinding> bindings) {
  return success(succeeded(checkNames(kernel, kernel, bindings)) &&
                 succeeded(bindAndRewrite(kernel, bindings)));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct Specialize
    : public mlir::jfa::tlx::impl::SpecializePassBase<Specialize> {
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
