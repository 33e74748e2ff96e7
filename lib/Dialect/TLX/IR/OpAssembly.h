//===- OpAssembly.h - Custom assembly shared by op families -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The `custom<…>` directives of the ops' assembly formats. Included where the
// generated definitions are compiled.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_DIALECT_TLX_IR_OPASSEMBLY_H
#define JFA_LIB_DIALECT_TLX_IR_OPASSEMBLY_H

#include "jfa/Dialect/TLX/IR/TLX.h"

namespace mlir::jfa::tlx {

/// `BLOCK_M floordiv 2`
ParseResult parseExpr(OpAsmParser &parser, ExprAttr &expr);
void printExpr(OpAsmPrinter &printer, Operation *op, ExprAttr expr);

/// `HEAD_DIM = 128 in [64, 128]`, `BLOCK_N from 16 to 256 step 16`
ParseResult parseParamDeclaration(OpAsmParser &parser, StringAttr &name,
                                  Attribute &defaultValue,
                                  ArrayAttr &legalValues,
                                  DenseI64ArrayAttr &legalRange);
void printParamDeclaration(OpAsmPrinter &printer, Operation *op,
                           StringAttr name, Attribute defaultValue,
                           ArrayAttr legalValues, DenseI64ArrayAttr legalRange);

/// `-> tile`: a product in flight is written as its tile, which is also the
/// type of the accumulator that it starts from. `, buffer`: an accumulator in
/// tensor memory, and no result.
ParseResult
parseDotResult(OpAsmParser &parser, Type &result,
               std::optional<OpAsmParser::UnresolvedOperand> accumulator,
               Type &accumulatorType);
void printDotResult(OpAsmPrinter &printer, Operation *op, Type result,
                    Value accumulator, Type accumulatorType);
ParseResult parsePendingTypes(OpAsmParser &parser,
                              SmallVectorImpl<Type> &products,
                              SmallVectorImpl<Type> &tiles);
void printPendingTypes(OpAsmPrinter &printer, Operation *op, TypeRange products,
                       TypeRange tiles);

/// `evict_first`, without the blank that the attribute begins with.
ParseResult parseCacheHint(OpAsmParser &parser, CacheHintAttr &hint);
void printCacheHint(OpAsmPrinter &printer, Operation *op, CacheHintAttr hint);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_DIALECT_TLX_IR_OPASSEMBLY_H
