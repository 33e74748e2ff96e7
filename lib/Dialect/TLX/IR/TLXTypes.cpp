//===- TLXTypes.cpp - Types of the tlx dialect -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing, printing and checking of types whose dimensions and elements may
// name parameters.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Pieces shared by the types
//===----------------------------------------------------------------------===//

static ParseResult parseShape(AsmParser &parser,
                              SmallVectorImpl<ExprAttr> &shape) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        FailureOr<ExprAttr> extent = ExprAttr::parseExpr(parser);
        if (failed(extent)) {
          return failure();
        }
        shape.push_back(*extent);
        return success();
      });
}

static void printShape(AsmPrinter &printer, ArrayRef<ExprAttr> shape) {
  printer << "[";
  llvm::interleaveComma(shape, printer,
                        [&](ExprAttr extent) { extent.printExpr(printer); });
  printer << "]";
}

/// An element is a type or the name of the parameter that gives it.
static ParseResult parseElement(AsmParser &parser, Attribute &element) {
  Type type;
  OptionalParseResult parsed = parser.parseOptionalType(type);
  if (parsed.has_value()) {
    element = succeeded(*parsed) ? TypeAttr::get(type) : TypeAttr();
    return *parsed;
  }
  StringRef name;
  if (parser.parseKeyword(&name)) {
    return failure();
  }
  element = ParamRefAttr::get(parser.getContext(),
                              StringAttr::get(parser.getContext(), name));
  return success();
}

static void printElement(AsmPrinter &printer, Attribute element) {
  if (auto ref = dyn_cast<ParamRefAttr>(element)) {
    printer << ref.getName().getValue();
  } else {
    printer << cast<TypeAttr>(element).getValue();
  }
}

static Type elementType(Attribute element) {
  auto type = dyn_cast<TypeAttr>(element);
  return type ? type.getValue() : Type();
}

static LogicalResult verifyElement(function_ref<InFlightDiagnostic()> emitError,
                                   Attribute element) {
  if (isa<ParamRefAttr>(element)) {
    return success();
  }
  auto type = dyn_cast<TypeAttr>(element);
  if (type && type.getValue().isIntOrFloat() &&
      type.getValue().getIntOrFloatBitWidth() % 8 == 0) {
    return success();
  }
  return emitError() << "expected the element to be an integer or float type "
                        "of whole bytes or the name of a parameter, but got "
                     << element;
}

static LogicalResult verifyExtents(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<ExprAttr> extents, StringRef what) {
  for (ExprAttr extent : extents) {
    std::optional<int64_t> value = extent.getConstant();
    if (value && (*value < 1 || *value > std::numeric_limits<int32_t>::max())) {
      return emitError() << "expected every extent of '" << what
                         << "' to be from 1 to 2147483647, but got " << *value;
    }
  }
  return success();
}

static FailureOr<SmallVector<int64_t>> staticShape(ArrayRef<ExprAttr> shape) {
  SmallVector<int64_t> result;
  for (ExprAttr extent : shape) {
    std::optional<int64_t> value = extent.getConstant();
    if (!value) {
      return failure();
    }
    result.push_back(*value);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// MemDescType
//===----------------------------------------------------------------------===//

Type MemDescType::parse(AsmParser &parser) {
  SmallVector<ExprAttr> shape, allocShape;
  Attribute element;
  bool transposed = false;
  MemorySpace space = MemorySpace::Shared;
  if (parser.parseLess() || parseShape(parser, shape) || parser.parseComma() ||
      parseElement(parser, element)) {
    return {};
  }
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword)) {
      return {};
    }
    if (keyword == "transposed" && !transposed) {
      transposed = true;
    } else if (keyword == "of" && allocShape.empty()) {
      if (parser.parseEqual() || parseShape(parser, allocShape)) {
        return {};
      }
    } else if (std::optional<MemorySpace> parsed =
                   symbolizeMemorySpace(keyword)) {
      space = *parsed;
    } else {
      parser.emitError(loc) << "expected 'of', 'transposed' or a memory space "
                               "once each, but got '"
                            << keyword << "'";
      return {};
    }
  }
  if (parser.parseGreater()) {
    return {};
  }
  return parser.getChecked<MemDescType>(parser.getContext(), shape, element,
                                        allocShape, transposed, space);
}

void MemDescType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getShape());
  printer << ", ";
  printElement(printer, getElement());
  if (!getAllocShape().empty()) {
    printer << ", of = ";
    printShape(printer, getAllocShape());
  }
  if (getTransposed()) {
    printer << ", transposed";
  }
  if (isInTensorMemory()) {
    printer << ", " << stringifyMemorySpace(getMemorySpace());
  }
  printer << ">";
}

/// Tiles in tensor memory have a row for each lane or for half of them, and are
/// no views.
static LogicalResult
verifyTensorMemory(function_ref<InFlightDiagnostic()> emitError,
                   ArrayRef<ExprAttr> shape, Type element, bool isView) {
  if (isView) {
    return emitError() << "expected a buffer in tensor memory to have neither "
                          "'of' nor 'transposed', since views of one are "
                          "buffers like any other";
  }
  if (shape.size() != 2 && shape.size() != 3) {
    return emitError() << "expected a buffer in tensor memory to have 2 or 3 "
                          "dimensions, but got "
                       << shape.size();
  }
  std::optional<int64_t> rows = shape[shape.size() - 2].getConstant();
  if (rows && *rows != kTensorLanes && *rows != kHalfTileRows) {
    return emitError() << "expected tiles in tensor memory to have "
                       << kTensorLanes << " rows, one for each lane, or "
                       << kHalfTileRows << " (PTX ISA 9.7.16.10.5), but got "
                       << *rows;
  }
  if (!element) {
    return success();
  }
  int64_t bits = element.getIntOrFloatBitWidth();
  if (bits != 16 && bits != 32 && bits != 64) {
    return emitError() << "expected elements of 16, 32 or 64 bits in tensor "
                          "memory, but got "
                       << element;
  }
  std::optional<int64_t> columns = shape.back().getConstant();
  if (columns && bits == 16 && *columns % 2 != 0) {
    return emitError() << "expected rows of whole columns of 32 bits in tensor "
                          "memory, but got "
                       << *columns << " elements of " << element;
  }
  return success();
}

LogicalResult MemDescType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<ExprAttr> shape, Attribute element,
                                  ArrayRef<ExprAttr> allocShape,
                                  bool transposed, MemorySpace memorySpace) {
  if (shape.empty() || shape.size() > 4) {
    return emitError() << "expected a buffer of 1 to 4 dimensions, but got "
                       << shape.size();
  }
  if (transposed && shape.size() != 2) {
    return emitError()
           << "expected a transposed view to have 2 dimensions, but got "
           << shape.size();
  }
  if (!allocShape.empty() && allocShape.size() != shape.size()) {
    return emitError() << "expected 'of' to have as many extents as the shape ("
                       << shape.size() << "), but got " << allocShape.size();
  }
  if (failed(verifyElement(emitError, element)) ||
      failed(verifyExtents(emitError, shape, "shape")) ||
      failed(verifyExtents(emitError, allocShape, "of"))) {
    return failure();
  }
  return memorySpace == MemorySpace::Tensor
             ? verifyTensorMemory(emitError, shape, elementType(element),
                                  transposed || !allocShape.empty())
             : success();
}

FailureOr<SmallVector<int64_t>> MemDescType::getStaticShape() const {
  return staticShape(getShape());
}

Type MemDescType::getElementType() const { return elementType(getElement()); }

FailureOr<int64_t> MemDescType::getSizeInBytes() const {
  FailureOr<SmallVector<int64_t>> shape = getStaticShape();
  Type type = getElementType();
  if (failed(shape) || !type) {
    return failure();
  }
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  for (int64_t extent : *shape) {
    if (llvm::MulOverflow(bytes, extent, bytes)) {
      return failure();
    }
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// MBarrierType
//===----------------------------------------------------------------------===//

Type MBarrierType::parse(AsmParser &parser) {
  SmallVector<ExprAttr> count;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseShape(parser, count) ||
      parser.parseGreater()) {
    return {};
  }
  if (count.size() != 1) {
    parser.emitError(loc) << "expected one extent, but got " << count.size();
    return {};
  }
  return parser.getChecked<MBarrierType>(loc, parser.getContext(),
                                         count.front());
}

LogicalResult MBarrierType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ExprAttr count) {
  return verifyExtents(emitError, count, "mbarrier");
}

void MBarrierType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getCount());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// TensorMapType
//===----------------------------------------------------------------------===//

Type TensorMapType::parse(AsmParser &parser) {
  SmallVector<ExprAttr> tile;
  Attribute element;
  bool ragged = false;
  if (parser.parseLess() || parseShape(parser, tile) || parser.parseComma() ||
      parseElement(parser, element)) {
    return {};
  }
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("ragged")) {
      return {};
    }
    ragged = true;
  }
  if (parser.parseGreater()) {
    return {};
  }
  return parser.getChecked<TensorMapType>(parser.getContext(), tile, element,
                                          ragged);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printer << "<";
  printShape(printer, getTile());
  printer << ", ";
  printElement(printer, getElement());
  printer << (getRagged() ? ", ragged>" : ">");
}

LogicalResult
TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<ExprAttr> tile, Attribute element, bool ragged) {
  // The hardware has five dimensions; cutting the innermost axis into panels
  // takes one, and so does the segment of a ragged map (PTX ISA 5.5).
  size_t limit = ragged ? 3 : 4;
  if (tile.empty() || tile.size() > limit || (ragged && tile.size() < 2)) {
    return emitError() << "expected a " << (ragged ? "ragged " : "")
                       << "tensor map of " << (ragged ? 2 : 1) << " to "
                       << limit << " axes, but got " << tile.size();
  }
  return success(succeeded(verifyElement(emitError, element)) &&
                 succeeded(verifyExtents(emitError, tile, "tile")));
}

FailureOr<SmallVector<int64_t>> TensorMapType::getStaticTile() const {
  return staticShape(getTile());
}

Type TensorMapType::getElementType() const { return elementType(getElement()); }

//===----------------------------------------------------------------------===//
// PointerType
//===----------------------------------------------------------------------===//

Type PointerType::parse(AsmParser &parser) {
  Attribute element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseElement(parser, element) ||
      parser.parseGreater()) {
    return {};
  }
  return parser.getChecked<PointerType>(loc, parser.getContext(), element);
}

LogicalResult PointerType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  Attribute element) {
  return verifyElement(emitError, element);
}

void PointerType::print(AsmPrinter &printer) const {
  printer << "<";
  printElement(printer, getElement());
  printer << ">";
}

Type PointerType::getElementType() const { return elementType(getElement()); }

//===----------------------------------------------------------------------===//
// Generated definitions
//===----------------------------------------------------------------------===//

#define GET_TYPEDEF_CLASSES
#include "jfa/Dialect/TLX/IR/TLXTypes.cpp.inc"

void TLXDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "jfa/Dialect/TLX/IR/TLXTypes.cpp.inc"
      >();
}
