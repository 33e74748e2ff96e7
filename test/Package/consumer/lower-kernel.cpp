//===- lower-kernel.cpp - A compiler that embeds JFA ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints a kernel, lowered: lower-kernel FILE [NAME=VALUE]...
//
//===----------------------------------------------------------------------===//

#include "jfa/InitAll.h"
#include "jfa/Pipelines/Pipelines.h"

#include "mlir/Parser/Parser.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "expected the name of a file\n";
    return 1;
  }
  DialectRegistry registry;
  jfa::registerAllDialects(registry);
  MLIRContext context(registry);

  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module) {
    return 1;
  }
  jfa::PipelineOptions options;
  options.arch = "sm_90a";
  for (int i = 2; i < argc; ++i) {
    auto [name, value] = StringRef(argv[i]).split('=');
    options.bindings.emplace_back(name, value);
  }
  PassManager manager(&context);
  jfa::buildSpecializePipeline(manager, options);
  jfa::buildTLXToNVVMPipeline(manager, options);
  if (failed(manager.run(*module))) {
    return 1;
  }
  module->print(llvm::outs());
  return 0;
}
