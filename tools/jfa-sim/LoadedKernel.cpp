//===- LoadedKernel.cpp - A kernel that is ready to run -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedKernel.h"

#include "jfa/Pipelines/Pipelines.h"
#include "jfa/Sim/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cstdio>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

int sim::fail(const std::string &message) {
  std::fprintf(stderr, "jfa-sim: error: %s\n", message.c_str());
  return kBadUsage;
}

/// Keeps what the source calls values, for messages: it is the text before an
/// op, which has its location.
static void nameOps(ModuleOp module, llvm::SourceMgr &sources) {
  if (sources.getNumBuffers() == 0) {
    return;
  }
  StringRef text =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  module.walk([&](Operation *op) {
    auto location = dyn_cast<FileLineColLoc>(op->getLoc());
    if (!location || op->getNumResults() != 1 || location.getLine() == 0 ||
        location.getLine() > lines.size()) {
      return;
    }
    StringRef line = lines[location.getLine() - 1];
    StringRef before = line.take_front(location.getColumn() - 1).trim();
    if (before.consume_back("=") && before.trim().starts_with("%")) {
      StringRef name = before.trim().drop_front();
      op->setLoc(
          NameLoc::get(StringAttr::get(op->getContext(), name), location));
    }
  });
}

static bool declares(ModuleOp module, StringRef name) {
  return module
      .walk([&](tlx::ParamOp param) {
        return param.getName() == name ? WalkResult::interrupt()
                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The parameters to bind. Those that come from other options, or with other
/// kernels, are bound where there are such.
static NamedTexts getBindings(ModuleOp module, const Options &options,
                              const std::string &file) {
  NamedTexts bindings;
  for (const auto &binding : options.bindings) {
    if (file == options.file || declares(module, binding.first)) {
      bindings.push_back(binding);
    }
  }
  if (options.attention.causal && declares(module, "CAUSAL")) {
    bindings.emplace_back("CAUSAL", "true");
  }
  if (!options.attention.broadcastQuery) {
    return bindings;
  }
  if (declares(module, "BROADCAST_QUERY")) {
    bindings.emplace_back("BROADCAST_QUERY", "true");
  } else if (file == options.postFile) {
    // To this kernel shared queries are one sequence.
    bindings.emplace_back("JAGGED", "false");
    if (llvm::is_contained(options.bindings,
                           NamedTexts::value_type("DETERMINISTIC", "true"))) {
      bindings.emplace_back("COPIES", "true");
    }
  }
  return bindings;
}

static LogicalResult prepare(ModuleOp module, const Options &options,
                             const std::string &file) {
  PassManager manager(module.getContext());
  PipelineOptions pipeline;
  NamedTexts bindings = getBindings(module, options, file);
  pipeline.bindings.assign(bindings.begin(), bindings.end());
  buildSpecializePipeline(manager, pipeline);
  OpPassManager &kernels = manager.nest<tlx::KernelOp>();
  kernels.addPass(tlx::createAllocateMemoryPass());
  if (options.insertFences) {
    kernels.addPass(tlx::createInsertFencesPass());
  }
  return manager.run(module);
}

LogicalResult sim::load(const Options &options, const std::string &file,
                        MLIRContext &context, LoadedKernel &loaded) {
  loaded.sources = std::make_unique<llvm::SourceMgr>();
  loaded.handler =
      std::make_unique<SourceMgrDiagnosticHandler>(*loaded.sources, &context);
  loaded.module = parseSourceFile<ModuleOp>(file, *loaded.sources, &context);
  if (!loaded.module) {
    return failure();
  }
  nameOps(*loaded.module, *loaded.sources);
  return prepare(*loaded.module, options, file);
}

static tlx::KernelOp findKernel(ModuleOp module, const std::string &name,
                                const std::string &file, std::string &error) {
  SmallVector<tlx::KernelOp> kernels;
  module.walk([&](tlx::KernelOp kernel) {
    if (name.empty() || kernel.getSymName() == name) {
      kernels.push_back(kernel);
    }
  });
  if (kernels.size() == 1) {
    return kernels.front();
  }
  error = kernels.empty()
              ? "expected a kernel" + (name.empty() ? "" : " '" + name + "'") +
                    " in '" + file + "', but it has none"
              : "expected '--kernel', because '" + file + "' has " +
                    std::to_string(kernels.size()) + " kernels";
  return {};
}

int sim::build(const Options &options, const std::string &file,
               LoadedKernel &loaded) {
  std::string error;
  tlx::KernelOp kernel = findKernel(
      *loaded.module, file == options.file ? options.kernel : "", file, error);
  if (!kernel) {
    return fail(error);
  }
  if (failed(checkBudgets(kernel))) {
    return kViolation;
  }
  auto simulation = buildSimulation(kernel, !options.orderOnly);
  if (failed(simulation)) {
    return kBadUsage;
  }
  loaded.simulation = std::move(*simulation);
  std::optional<DictionaryAttr> parameters = kernel.getParameters();
  if (auto dim = dyn_cast_or_null<IntegerAttr>(
          parameters ? parameters->get("HEAD_DIM") : Attribute())) {
    loaded.headDim = dim.getInt();
  }
  if (auto rotary = dyn_cast_or_null<IntegerAttr>(
          parameters ? parameters->get("ROTARY") : Attribute())) {
    loaded.rotary = rotary.getInt();
  }
  auto getFlag = [&](StringRef name) {
    auto flag = dyn_cast_or_null<BoolAttr>(parameters ? parameters->get(name)
                                                      : Attribute());
    return flag && flag.getValue();
  };
  loaded.rotatesInputs = getFlag("ROTATE_INPUTS");
  loaded.deterministic = getFlag("DETERMINISTIC") || getFlag("COPIES");
  loaded.hasFragments = getFlag("FRAGMENTS");
  auto part = getAttentionPart(loaded.simulation->program);
  bool hasMask =
      part && (*part == AttentionPart::Forward || isBackwardMain(*part));
  if (options.attention.causal && hasMask &&
      !(parameters && parameters->get("CAUSAL"))) {
    return fail("expected a kernel with a parameter 'CAUSAL', because "
                "'--causal' was given");
  }
  return kRight;
}
