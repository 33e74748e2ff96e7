//===- ParamOps.cpp - Param family: compile-time parameters -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpAssembly.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult tlx::parseExpr(OpAsmParser &parser, ExprAttr &expr) {
  FailureOr<ExprAttr> parsed = ExprAttr::parseExpr(parser);
  if (failed(parsed)) {
    return failure();
  }
  expr = *parsed;
  return success();
}

void tlx::printExpr(OpAsmPrinter &printer, Operation *, ExprAttr expr) {
  expr.printExpr(printer);
}

/// A parameter's value: `128`, `true` or a type.
static ParseResult parseParamValue(OpAsmParser &parser, Attribute &value) {
  Builder &builder = parser.getBuilder();
  // Before integers, which would take these keywords for 1 and 0.
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword, {"true", "false"}))) {
    value = builder.getBoolAttr(keyword == "true");
    return success();
  }
  int64_t number = 0;
  OptionalParseResult integer = parser.parseOptionalInteger(number);
  if (integer.has_value()) {
    value = builder.getI64IntegerAttr(number);
    return *integer;
  }
  Type type;
  if (parser.parseType(type)) {
    return failure();
  }
  value = TypeAttr::get(type);
  return success();
}

static void printParamValue(raw_ostream &os, Attribute value) {
  if (auto boolean = dyn_cast<BoolAttr>(value)) {
    os << (boolean.getValue() ? "true" : "false");
  } else if (auto integer = dyn_cast<IntegerAttr>(value)) {
    os << integer.getInt();
  } else if (auto type = dyn_cast<TypeAttr>(value)) {
    os << type.getValue();
  } else {
    os << value;
  }
}

ParseResult tlx::parseParamDeclaration(OpAsmParser &parser, StringAttr &name,
                                       Attribute &defaultValue,
                                       ArrayAttr &legalValues,
                                       DenseI64ArrayAttr &legalRange) {
  StringRef keyword;
  if (parser.parseKeyword(&keyword)) {
    return failure();
  }
  name = parser.getBuilder().getStringAttr(keyword);
  if (succeeded(parser.parseOptionalEqual()) &&
      parseParamValue(parser, defaultValue)) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("in"))) {
    SmallVector<Attribute> values;
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parseParamValue(parser, values.emplace_back());
        })) {
      return failure();
    }
    legalValues = parser.getBuilder().getArrayAttr(values);
  } else if (succeeded(parser.parseOptionalKeyword("from"))) {
    int64_t first, last, step = 1;
    if (parser.parseInteger(first) || parser.parseKeyword("to") ||
        parser.parseInteger(last) ||
        (succeeded(parser.parseOptionalKeyword("step")) &&
         parser.parseInteger(step))) {
      return failure();
    }
    legalRange = parser.getBuilder().getDenseI64ArrayAttr({first, last, step});
  }
  return success();
}

static void printLegal(raw_ostream &os, ArrayAttr values,
                       DenseI64ArrayAttr range) {
  if (values) {
    os << "[";
    llvm::interleaveComma(values, os,
                          [&](Attribute v) { printParamValue(os, v); });
    os << "]";
  } else if (range && range.size() == 3) {
    os << range[0] << " to " << range[1] << " step " << range[2];
  }
}

void tlx::printParamDeclaration(OpAsmPrinter &printer, Operation *,
                                StringAttr name, Attribute defaultValue,
                                ArrayAttr legalValues,
                                DenseI64ArrayAttr legalRange) {
  printer << name.getValue();
  if (defaultValue) {
    printer << " = ";
    printParamValue(printer.getStream(), defaultValue);
  }
  if (legalValues || legalRange) {
    printer << (legalValues ? " in " : " from ");
    printLegal(printer.getStream(), legalValues, legalRange);
  }
}

//===----------------------------------------------------------------------===//
// ParamOp
//===----------------------------------------------------------------------===//

namespace {
enum class ParamKind { Integer, Boolean, Type };
} // namespace

static std::optional<ParamKind> kindOf(Attribute value) {
  if (isa<BoolAttr>(value)) {
    return ParamKind::Boolean;
  }
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    return integer.getType().isInteger(64) ? std::optional(ParamKind::Integer)
                                           : std::nullopt;
  }
  return isa<TypeAttr>(value) ? std::optional(ParamKind::Type) : std::nullopt;
}

static StringRef nameOf(ParamKind kind) {
  switch (kind) {
  case ParamKind::Integer:
    return "a 32-bit integer";
  case ParamKind::Boolean:
    return "true or false";
  case ParamKind::Type:
    return "an element type";
  }
  return "";
}

/// What kind of value the declaration speaks of; nothing if it does not say.
static std::optional<ParamKind> kindOf(ParamOp op) {
  if (op.getValue()) {
    return op.getValue().getType().isInteger(1) ? ParamKind::Boolean
                                                : ParamKind::Integer;
  }
  if (op.getLegalRangeAttr()) {
    return ParamKind::Integer;
  }
  if (Attribute value = op.getInitialValueAttr()) {
    return kindOf(value);
  }
  if (op.getLegalValuesAttr() && !op.getLegalValuesAttr().empty()) {
    return kindOf(op.getLegalValuesAttr()[0]);
  }
  return std::nullopt;
}

static bool isLegal(ParamOp op, Attribute value) {
  if (ArrayAttr values = op.getLegalValuesAttr()) {
    return llvm::is_contained(values, value);
  }
  if (DenseI64ArrayAttr range = op.getLegalRangeAttr()) {
    int64_t number = cast<IntegerAttr>(value).getInt();
    return number >= range[0] && number <= range[1] &&
           (number - range[0]) % range[2] == 0;
  }
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    return isa<BoolAttr>(value) || llvm::isInt<32>(integer.getInt());
  }
  auto type = cast<TypeAttr>(value).getValue();
  return type.isIntOrFloat();
}

StringRef ParamOp::getParameterName() { return getName(); }

Attribute ParamOp::getDefaultValue() { return getInitialValueAttr(); }

std::string ParamOp::describeLegalValues() {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (getLegalValuesAttr() || getLegalRangeAttr()) {
    printLegal(os, getLegalValuesAttr(), getLegalRangeAttr());
    return text;
  }
  switch (*kindOf(*this)) {
  case ParamKind::Integer:
    return "any 32-bit integer";
  case ParamKind::Boolean:
    return "true or false";
  case ParamKind::Type:
    return "any integer or float type";
  }
  return text;
}

static Attribute parseText(MLIRContext *context, ParamKind kind,
                           StringRef text) {
  Builder builder(context);
  switch (kind) {
  case ParamKind::Integer: {
    int64_t number = 0;
    return text.getAsInteger(10, number) ? Attribute()
                                         : builder.getI64IntegerAttr(number);
  }
  case ParamKind::Boolean:
    if (text == "true" || text == "1") {
      return builder.getBoolAttr(true);
    }
    return text == "false" || text == "0" ? builder.getBoolAttr(false)
                                          : Attribute();
  case ParamKind::Type: {
    // Element types are named by one word; anything longer is not parsed, so
    // that no text reaches the parser that could report errors of its own.
    Type type = llvm::StringSwitch<Type>(text)
                    .Case("bf16", builder.getBF16Type())
                    .Case("f16", builder.getF16Type())
                    .Case("f32", builder.getF32Type())
                    .Case("i8", builder.getI8Type())
                    .Case("i16", builder.getI16Type())
                    .Case("i32", builder.getI32Type())
                    .Default(Type());
    return type ? TypeAttr::get(type) : Attribute();
  }
  }
  return {};
}

FailureOr<Attribute>
ParamOp::parseBinding(StringRef text,
                      function_ref<InFlightDiagnostic()> emitError) {
  ParamKind kind = *kindOf(*this);
  Attribute value = parseText(getContext(), kind, text);
  if (value && isLegal(*this, value)) {
    return value;
  }
  bool isListed = getLegalValuesAttr() || getLegalRangeAttr();
  InFlightDiagnostic diag = emitError();
  diag << "expected '" << getName() << "' to be " << (isListed ? "one of " : "")
       << describeLegalValues() << ", but got '" << text << "'";
  diag.attachNote(getLoc()) << "declared here";
  return failure();
}

/// Whether types can refer to a parameter of this name.
static bool isIdentifier(StringRef name) {
  return !name.empty() && (llvm::isAlpha(name[0]) || name[0] == '_') &&
         llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
         });
}

LogicalResult ParamOp::verify() {
  if (!isIdentifier(getName())) {
    return emitOpError("expected the name to be an identifier, but got '")
           << getName() << "'";
  }
  std::optional<ParamKind> kind = kindOf(*this);
  if (!kind) {
    return emitOpError("expected a default, legal values or a result type that "
                       "says what kind of value '")
           << getName() << "' has";
  }
  if (DenseI64ArrayAttr range = getLegalRangeAttr()) {
    if (getLegalValuesAttr() || *kind != ParamKind::Integer ||
        range.size() != 3 || range[0] > range[1] || range[2] < 1) {
      return emitOpError("expected a range 'from FIRST to LAST step STEP' of "
                         "integers with FIRST <= LAST and STEP >= 1");
    }
    if (!llvm::isInt<32>(range[0]) || !llvm::isInt<32>(range[1])) {
      return emitOpError("expected a range of 32-bit integers, but got ")
             << range[0] << " to " << range[1];
    }
  }
  if (getLegalValuesAttr() && getLegalValuesAttr().empty()) {
    return emitOpError("expected at least one legal value");
  }
  auto verifyKind = [&](Attribute value, StringRef what) -> LogicalResult {
    auto integer = dyn_cast<IntegerAttr>(value);
    if (kindOf(value) == kind &&
        (!integer || integer.getValue().isSignedIntN(32))) {
      return success();
    }
    return emitOpError("expected ")
           << what << " to be " << nameOf(*kind) << ", but got " << value;
  };
  if (getLegalValuesAttr()) {
    for (Attribute value : getLegalValuesAttr()) {
      if (failed(verifyKind(value, "every legal value"))) {
        return failure();
      }
    }
  }
  Attribute defaultValue = getInitialValueAttr();
  if (!defaultValue) {
    return success();
  }
  if (failed(verifyKind(defaultValue, "the default"))) {
    return failure();
  }
  if (!isLegal(*this, defaultValue)) {
    return emitOpError("expected the default to be one of ")
           << describeLegalValues() << ", but got " << defaultValue;
  }
  return success();
}
