//===- MMAOps.cpp - MMA family: asynchronous matrix products -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpAssembly.h"
#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult
tlx::parsePendingType(OpAsmParser &parser, Type &result,
                      std::optional<OpAsmParser::UnresolvedOperand> accumulator,
                      Type &accumulatorType) {
  RankedTensorType tile;
  if (parser.parseType(tile)) {
    return failure();
  }
  result = PendingType::get(parser.getContext(), tile);
  if (accumulator) {
    accumulatorType = tile;
  }
  return success();
}

void tlx::printPendingType(OpAsmPrinter &printer, Operation *, Type result,
                           Value, Type) {
  printer << cast<PendingType>(result).getTile();
}

ParseResult tlx::parsePendingTypes(OpAsmParser &parser,
                                   SmallVectorImpl<Type> &products,
                                   SmallVectorImpl<Type> &tiles) {
  return parser.parseCommaSeparatedList([&]() -> ParseResult {
    RankedTensorType tile;
    if (parser.parseType(tile)) {
      return failure();
    }
    products.push_back(PendingType::get(parser.getContext(), tile));
    tiles.push_back(tile);
    return success();
  });
}

void tlx::printPendingTypes(OpAsmPrinter &printer, Operation *, TypeRange,
                            TypeRange tiles) {
  llvm::interleaveComma(tiles, printer, [&](Type t) { printer << t; });
}

//===----------------------------------------------------------------------===//
// AsyncDotOp
//===----------------------------------------------------------------------===//

namespace {
/// One operand or the result of a product.
struct Matrix {
  SmallVector<ExprAttr> dims;
  /// Null while a parameter stands for it.
  Type element;
};
} // namespace

static Matrix matrixOf(Type type) {
  if (auto buffer = dyn_cast<MemDescType>(type)) {
    return {llvm::to_vector(buffer.getShape()), buffer.getElementType()};
  }
  auto tile = cast<RankedTensorType>(type);
  auto dims = dyn_cast_or_null<DimsAttr>(tile.getEncoding());
  // A parameter can only stand for an operand's element: results are f32.
  bool symbolic = dims && dims.getElement() && !tile.getElementType().isF32();
  return {getTileDims(tile), symbolic ? Type() : tile.getElementType()};
}

static LogicalResult verifyExtent(AsyncDotOp op, ExprAttr extent,
                                  StringRef name, int64_t step, int64_t last) {
  std::optional<int64_t> value = extent.getConstant();
  if (value && (*value % step != 0 || *value < step || *value > last)) {
    return op.emitOpError("expected ")
           << name << " to be a multiple of " << step << " from " << step
           << " to " << last << " (PTX ISA 9.7.15.2), but got " << *value;
  }
  return success();
}

/// Checks that the task is of whole warpgroups with 64 rows each.
static LogicalResult verifyTask(AsyncDotOp op, ExprAttr rows) {
  AsyncTaskOp task = getEnclosingTask(op);
  std::optional<int64_t> warps, extent = rows.getConstant();
  if (task) {
    warps = task.getWarps().getConstant();
  }
  if (!warps) {
    return success();
  }
  if (*warps % 4 != 0) {
    InFlightDiagnostic diag =
        op.emitOpError("expected a task of whole warpgroups, since 4 warps "
                       "issue a product together (PTX ISA 9.7.15.1)");
    diag.attachNote(task.getLoc()) << "this task has " << *warps << " warps";
    return diag;
  }
  if (extent && *extent != 16 * *warps) {
    InFlightDiagnostic diag =
        op.emitOpError("expected M to be 64 for each warpgroup of the task, ")
        << 16 * *warps << ", but got " << *extent;
    diag.attachNote(task.getLoc()) << "this task has " << *warps << " warps";
    return diag;
  }
  return success();
}

LogicalResult AsyncDotOp::verify() {
  Matrix a = matrixOf(getA().getType()), b = matrixOf(getB().getType());
  Matrix d = matrixOf(getResult().getType().getTile());
  if (a.dims.size() != 2 || b.dims.size() != 2 || d.dims.size() != 2) {
    return emitOpError("expected matrices of 2 dimensions");
  }
  if (a.dims[1] != b.dims[0] || a.dims[0] != d.dims[0] ||
      b.dims[1] != d.dims[1]) {
    InFlightDiagnostic diag =
        emitOpError("expected shapes [M, K], [K, N] and [M, N]");
    diag.attachNote() << "A is " << getA().getType();
    diag.attachNote() << "B is " << getB().getType();
    diag.attachNote() << "the result is " << getResult().getType().getTile();
    return diag;
  }
  if (failed(verifyExtent(*this, d.dims[0], "M", 64, 1024)) ||
      failed(verifyExtent(*this, d.dims[1], "N", 8, 256)) ||
      failed(verifyExtent(*this, a.dims[1], "K", 16, 1 << 16))) {
    return failure();
  }
  for (auto [name, element] : {std::pair("A", a.element), {"B", b.element}}) {
    if (element && !element.isBF16() && !element.isF16()) {
      return emitOpError("expected ")
             << name << " to have bf16 or f16 elements, but got " << element;
    }
  }
  if (a.element && b.element && a.element != b.element) {
    return emitOpError("expected A and B to have the same element type, but "
                       "got ")
           << a.element << " and " << b.element;
  }
  if (!d.element || !d.element.isF32()) {
    return emitOpError("expected a result of f32, but got ")
           << getResult().getType().getTile();
  }
  if (getC() && getC().getType() != getResult().getType().getTile()) {
    return emitOpError("expected C to be of the result's type ")
           << getResult().getType().getTile() << ", but got "
           << getC().getType();
  }
  return verifyTask(*this, d.dims[0]);
}

AsyncIssuer AsyncDotOp::getIssuer() { return AsyncIssuer::EveryThread; }

AsyncCompletion AsyncDotOp::getCompletion() {
  return AsyncCompletion::DotGroup;
}

void AsyncDotOp::getBufferAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()}) {
    if (isa<MemDescType>(operand->get().getType())) {
      accesses.push_back({operand, /*isWrite=*/false, Proxy::Async});
    }
  }
}

LayoutAttr AsyncDotOp::getRequiredOperandLayout(unsigned operand,
                                                int64_t threads) {
  auto tile = dyn_cast<RankedTensorType>(getOperand(operand).getType());
  // The A operand in registers lies as an accumulator of its shape would.
  return tile ? getAccumulatorLayout(getContext(), tile.getShape(), threads)
              : LayoutAttr();
}

LayoutAttr AsyncDotOp::getRequiredResultLayout(unsigned, int64_t threads) {
  return getAccumulatorLayout(
      getContext(), getResult().getType().getTile().getShape(), threads);
}

//===----------------------------------------------------------------------===//
// AsyncDotWaitOp
//===----------------------------------------------------------------------===//

LogicalResult AsyncDotWaitOp::verify() {
  int32_t pending = getPending();
  if (pending < 0 || pending > 7) {
    return emitOpError("expected 'pending' to be from 0 to 7 (PTX ISA "
                       "9.7.15.7.3), but got ")
           << pending;
  }
  if (getProducts().size() != getTiles().size()) {
    return emitOpError("expected one tile for each product");
  }
  for (auto [product, tile] : llvm::zip_equal(getProducts(), getTiles())) {
    if (cast<PendingType>(product.getType()).getTile() != tile.getType()) {
      return emitOpError("expected a result of type ")
             << cast<PendingType>(product.getType()).getTile() << ", but got "
             << tile.getType();
    }
    auto dot = product.getDefiningOp<AsyncDotOp>();
    if (!dot || dot->getBlock() != (*this)->getBlock()) {
      InFlightDiagnostic diag = emitOpError(
          "expected a product that was started in the same block, since ptxas "
          "serialises products in flight across a branch");
      diag.attachNote(product.getLoc()) << "the product comes from here";
      return diag;
    }
    int64_t younger = 0;
    // A wait before its product, which dominance forbids, is verified first.
    for (Operation *op = dot->getNextNode(); op && op != getOperation();
         op = op->getNextNode()) {
      younger += isa<AsyncDotOp>(op);
    }
    if (younger < pending) {
      InFlightDiagnostic diag = emitOpError("expected at least ")
                                << pending
                                << " products to have been started after the "
                                   "one waited for, but got "
                                << younger;
      diag.attachNote(dot->getLoc()) << "the product was started here";
      return diag;
    }
  }
  return success();
}

LayoutAttr AsyncDotWaitOp::inferResultLayout(unsigned operand,
                                             LayoutAttr layout,
                                             unsigned result) {
  return operand == result ? layout : LayoutAttr();
}

LayoutAttr AsyncDotWaitOp::inferOperandLayout(unsigned result,
                                              LayoutAttr layout,
                                              unsigned operand) {
  return operand == result ? layout : LayoutAttr();
}
