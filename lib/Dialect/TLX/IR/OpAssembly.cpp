//===- OpAssembly.cpp - Custom parts of assembly formats -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpAssembly.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

ParseResult
tlx::parseDotResult(OpAsmParser &parser, Type &result,
                    std::optional<OpAsmParser::UnresolvedOperand> accumulator,
                    Type &accumulatorType) {
  if (accumulator && succeeded(parser.parseOptionalComma())) {
    MemDescType buffer;
    if (parser.parseType(buffer)) {
      return failure();
    }
    accumulatorType = buffer;
    return success();
  }
  RankedTensorType tile;
  if (parser.parseArrow() || parser.parseType(tile)) {
    return failure();
  }
  result = PendingType::get(parser.getContext(), tile);
  if (accumulator) {
    accumulatorType = tile;
  }
  return success();
}

void tlx::printDotResult(OpAsmPrinter &printer, Operation *, Type result, Value,
                         Type accumulatorType) {
  if (result) {
    printer << " -> " << cast<PendingType>(result).getTile();
  } else {
    printer << ", " << accumulatorType;
  }
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
