//===- TLXAttrs.cpp - Attributes of the tlx dialect -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing and printing of parameter expressions, symbolic dimensions and
// register layouts.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

#include "jfa/Dialect/TLX/IR/TLXEnums.cpp.inc"

//===----------------------------------------------------------------------===//
// ExprAttr
//===----------------------------------------------------------------------===//

/// The expression with those of the names that it uses, in their order, so that
/// equal expressions are one attribute.
static ExprAttr getWithUsedNames(MLIRContext *context, AffineExpr expr,
                                 ArrayRef<StringAttr> names) {
  SmallVector<AffineExpr> replacements;
  SmallVector<StringAttr> used;
  for (auto [i, name] : llvm::enumerate(names)) {
    replacements.push_back(getAffineSymbolExpr(used.size(), context));
    if (expr.isFunctionOfSymbol(i)) {
      used.push_back(name);
    }
  }
  return ExprAttr::get(context, expr.replaceSymbols(replacements), used);
}

namespace {
/// Recursive descent over `sum := product (("+" | "-") product)*`,
/// `product := primary (("*" | "floordiv" | "ceildiv" | "mod") primary)*`.
class ExprParser {
public:
  explicit ExprParser(AsmParser &parser) : parser(parser) {}

  FailureOr<ExprAttr> parse() {
    AffineExpr expr;
    SMLoc loc = parser.getCurrentLocation();
    if (parseSum(expr)) {
      return failure();
    }
    ExprAttr attr = getWithUsedNames(parser.getContext(), expr, names);
    if (attr.getNames().empty() && !attr.getConstant()) {
      return parser.emitError(loc)
             << "expected an expression whose value fits 64 bits";
    }
    return attr;
  }

private:
  // Expressions come from users; these keep a hostile one off the stack.
  static constexpr unsigned kMaxDepth = 64, kMaxTerms = 256;

  ParseResult parseSum(AffineExpr &result) {
    if (++depth > kMaxDepth) {
      return parser.emitError(parser.getCurrentLocation())
             << "expected at most " << kMaxDepth
             << " nested parentheses in an expression";
    }
    if (parseProduct(result)) {
      return failure();
    }
    while (true) {
      AffineExpr rhs;
      if (succeeded(parser.parseOptionalPlus())) {
        if (parseProduct(rhs)) {
          return failure();
        }
        result = result + rhs;
      } else if (succeeded(parser.parseOptionalMinus())) {
        if (parseProduct(rhs)) {
          return failure();
        }
        result = result - rhs;
      } else {
        --depth;
        return success();
      }
    }
  }

  ParseResult parseProduct(AffineExpr &result) {
    if (parsePrimary(result)) {
      return failure();
    }
    while (true) {
      SMLoc loc = parser.getCurrentLocation();
      StringRef keyword;
      bool isStar = succeeded(parser.parseOptionalStar());
      if (!isStar && failed(parser.parseOptionalKeyword(
                         &keyword, {"floordiv", "ceildiv", "mod"}))) {
        return success();
      }
      AffineExpr rhs;
      if (parsePrimary(rhs) || combine(loc, keyword, rhs, result)) {
        return failure();
      }
    }
  }

  ParseResult combine(SMLoc loc, StringRef keyword, AffineExpr rhs,
                      AffineExpr &result) {
    auto constant = dyn_cast<AffineConstantExpr>(rhs);
    if (keyword.empty()) {
      result = result * rhs;
      return success();
    }
    if (constant && constant.getValue() <= 0) {
      return parser.emitError(loc) << "expected the divisor to be positive";
    }
    result = keyword == "floordiv"  ? result.floorDiv(rhs)
             : keyword == "ceildiv" ? result.ceilDiv(rhs)
                                    : result % rhs;
    return success();
  }

  ParseResult parsePrimary(AffineExpr &result) {
    if (++terms > kMaxTerms) {
      return parser.emitError(parser.getCurrentLocation())
             << "expected at most " << kMaxTerms << " terms in an expression";
    }
    if (succeeded(parser.parseOptionalLParen())) {
      return failure(parseSum(result) || parser.parseRParen());
    }
    int64_t value = 0;
    OptionalParseResult integer = parser.parseOptionalInteger(value);
    if (integer.has_value()) {
      if (failed(*integer)) {
        return failure();
      }
      result = getAffineConstantExpr(value, parser.getContext());
      return success();
    }
    StringRef name;
    if (parser.parseOptionalKeyword(&name)) {
      return parser.emitError(parser.getCurrentLocation())
             << "expected an integer or the name of a parameter";
    }
    result = getAffineSymbolExpr(getSymbol(name), parser.getContext());
    return success();
  }

  unsigned getSymbol(StringRef name) {
    StringAttr attr = StringAttr::get(parser.getContext(), name);
    auto *it = llvm::find(names, attr);
    if (it == names.end()) {
      names.push_back(attr);
      return names.size() - 1;
    }
    return it - names.begin();
  }

  AsmParser &parser;
  SmallVector<StringAttr> names;
  unsigned depth = 0, terms = 0;
};
} // namespace

static void printExprImpl(raw_ostream &os, AffineExpr expr,
                          ArrayRef<StringAttr> names, bool nested) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    os << constant.getValue();
    return;
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    os << names[symbol.getPosition()].getValue();
    return;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  StringRef op;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    op = " + ";
    break;
  case AffineExprKind::Mul:
    op = " * ";
    break;
  case AffineExprKind::FloorDiv:
    op = " floordiv ";
    break;
  case AffineExprKind::CeilDiv:
    op = " ceildiv ";
    break;
  default:
    op = " mod ";
    break;
  }
  os << (nested ? "(" : "");
  printExprImpl(os, binary.getLHS(), names, /*nested=*/true);
  os << op;
  printExprImpl(os, binary.getRHS(), names, /*nested=*/true);
  os << (nested ? ")" : "");
}

std::optional<int64_t> ExprAttr::getConstant() const {
  if (auto constant = dyn_cast<AffineConstantExpr>(getExpr())) {
    return constant.getValue();
  }
  return std::nullopt;
}

ExprAttr ExprAttr::substitute(
    llvm::function_ref<std::optional<int64_t>(StringRef)> lookup) {
  SmallVector<AffineExpr> replacements;
  SmallVector<StringAttr> remaining;
  for (StringAttr name : getNames()) {
    if (std::optional<int64_t> value = lookup(name.getValue())) {
      replacements.push_back(getAffineConstantExpr(*value, getContext()));
      continue;
    }
    replacements.push_back(getAffineSymbolExpr(remaining.size(), getContext()));
    remaining.push_back(name);
  }
  return getWithUsedNames(getContext(), getExpr().replaceSymbols(replacements),
                          remaining);
}

FailureOr<ExprAttr> ExprAttr::parseExpr(AsmParser &parser) {
  return ExprParser(parser).parse();
}

void ExprAttr::printExpr(AsmPrinter &printer) const {
  printExprImpl(printer.getStream(), getExpr(), getNames(), /*nested=*/false);
}

std::string ExprAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printExprImpl(os, getExpr(), getNames(), /*nested=*/false);
  return text;
}

Attribute ExprAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess()) {
    return {};
  }
  FailureOr<ExprAttr> expr = parseExpr(parser);
  if (failed(expr) || parser.parseGreater()) {
    return {};
  }
  return *expr;
}

void ExprAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printExpr(printer);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// DimsAttr
//===----------------------------------------------------------------------===//

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  SmallVector<ExprAttr> dims;
  ParamRefAttr element;
  auto parseDim = [&]() -> ParseResult {
    FailureOr<ExprAttr> dim = ExprAttr::parseExpr(parser);
    if (failed(dim)) {
      return failure();
    }
    dims.push_back(*dim);
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim)) {
    return {};
  }
  if (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    if (parser.parseKeyword(&name)) {
      return {};
    }
    element = ParamRefAttr::get(parser.getContext(),
                                StringAttr::get(parser.getContext(), name));
  }
  if (parser.parseGreater()) {
    return {};
  }
  return get(parser.getContext(), dims, element);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer,
                        [&](ExprAttr dim) { dim.printExpr(printer); });
  printer << "]";
  if (getElement()) {
    printer << ", " << getElement().getName().getValue();
  }
  printer << ">";
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size()) {
    return emitError() << "expected " << shape.size()
                       << " symbolic dimensions, one for each of the shape, "
                          "but got "
                       << getDims().size();
  }
  for (auto [extent, dim] : llvm::zip_equal(shape, getDims())) {
    int64_t expected = dim.getConstant().value_or(ShapedType::kDynamic);
    if (extent != expected) {
      InFlightDiagnostic diag = emitError();
      diag << "expected the extent of dimension '" << dim.str() << "' to be ";
      if (ShapedType::isDynamic(expected)) {
        diag << "'?'";
      } else {
        diag << expected;
      }
      return diag;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

static ParseResult parseModes(AsmParser &parser, StringRef keyword,
                              SmallVectorImpl<LayoutMode> &modes) {
  auto parseMode = [&]() -> ParseResult {
    LayoutMode mode{1, LayoutMode::kReplicated, 0};
    if (parser.parseInteger(mode.count) || parser.parseColon()) {
      return failure();
    }
    if (failed(parser.parseOptionalStar()) &&
        (parser.parseInteger(mode.dim) || parser.parseStar() ||
         parser.parseInteger(mode.stride))) {
      return failure();
    }
    modes.push_back(mode);
    return success();
  };
  return failure(
      parser.parseKeyword(keyword) || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseMode));
}

static void printModes(AsmPrinter &printer, ArrayRef<LayoutMode> modes) {
  printer << "[";
  llvm::interleaveComma(modes, printer, [&](const LayoutMode &mode) {
    printer << mode.count << " : ";
    if (mode.isReplicated()) {
      printer << "*";
    } else {
      printer << mode.dim << " * " << mode.stride;
    }
  });
  printer << "]";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<LayoutMode> threads, registers;
  if (parser.parseLess() || parseModes(parser, "threads", threads) ||
      parser.parseComma() || parseModes(parser, "registers", registers) ||
      parser.parseGreater()) {
    return {};
  }
  return parser.getChecked<LayoutAttr>(parser.getContext(), threads, registers);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<threads = ";
  printModes(printer, getThreads());
  printer << ", registers = ";
  printModes(printer, getRegisters());
  printer << ">";
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<LayoutMode> threads,
                                 ArrayRef<LayoutMode> registers) {
  // A CTA has at most 1024 threads and a thread 255 registers; the limit on
  // registers leaves room for 8-bit elements.
  constexpr int64_t kMaxThreads = 1024, kMaxRegisters = 4096;
  auto verifyModes = [&](ArrayRef<LayoutMode> modes, StringRef what,
                         int64_t limit) -> LogicalResult {
    int64_t product = 1;
    for (const LayoutMode &mode : modes) {
      if (mode.count < 1 || mode.count > limit ||
          (product *= mode.count) > limit) {
        return emitError() << "expected the counts of '" << what
                           << "' to be positive with a product of at most "
                           << limit;
      }
      if (!mode.isReplicated() &&
          (mode.dim < 0 || mode.stride < 1 || mode.stride > (1 << 20))) {
        return emitError() << "expected modes of '" << what
                           << "' to have a dimension and a stride from 1 to "
                           << (1 << 20) << ", but got " << mode.dim << " * "
                           << mode.stride;
      }
    }
    return success();
  };
  for (const LayoutMode &mode : registers) {
    if (mode.isReplicated()) {
      return emitError() << "expected every mode of 'registers' to have a "
                            "dimension, since a thread needs no copies";
    }
  }
  return success(succeeded(verifyModes(threads, "threads", kMaxThreads)) &&
                 succeeded(verifyModes(registers, "registers", kMaxRegisters)));
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                           function_ref<InFlightDiagnostic()> emitError) const {
  return verifyLayoutCovers(*this, shape, emitError);
}

static int64_t countOf(ArrayRef<LayoutMode> modes) {
  int64_t product = 1;
  for (const LayoutMode &mode : modes) {
    product *= mode.count;
  }
  return product;
}

int64_t LayoutAttr::getNumThreads() const { return countOf(getThreads()); }
int64_t LayoutAttr::getNumRegisters() const { return countOf(getRegisters()); }

//===----------------------------------------------------------------------===//
// Generated definitions
//===----------------------------------------------------------------------===//

#define GET_ATTRDEF_CLASSES
#include "jfa/Dialect/TLX/IR/TLXAttrs.cpp.inc"

void TLXDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "jfa/Dialect/TLX/IR/TLXAttrs.cpp.inc"
      >();
}
