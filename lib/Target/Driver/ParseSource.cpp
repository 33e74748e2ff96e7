//===- ParseSource.cpp - Sources as callers hand them in --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps from the parser what would overflow its stack.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/Driver/Compile.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"

#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::jfa;

OwningOpRef<ModuleOp>
mlir::jfa::parseSource(const std::shared_ptr<llvm::SourceMgr> &sources,
                       const ParserConfig &config) {
  const llvm::MemoryBuffer *buffer =
      sources->getMemoryBuffer(sources->getMainFileID());
  if (!isBytecode(buffer->getMemBufferRef())) {
    if (unsigned line = findTooDeepLine(buffer->getBuffer())) {
      emitError(FileLineColLoc::get(config.getContext(),
                                    buffer->getBufferIdentifier(), line, 1))
          << "expected brackets to nest at most 256 deep, but got more";
      return nullptr;
    }
  }
  return parseSourceFile<ModuleOp>(sources, config);
}
