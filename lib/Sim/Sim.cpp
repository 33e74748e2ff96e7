//===- Sim.cpp - Running a kernel in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Sim/Sim.h"

#include "Semantics.h"
#include "jfa/Sim/Schedule.h"
#include "jfa/Sim/Trace.h"

#include "jfa/Dialect/TLX/IR/TensorMemory.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

void sim::registerSimExtensions(DialectRegistry &registry) {
  registerArithSemantics(registry);
  registerMathSemantics(registry);
  registerScfSemantics(registry);
  registry.addExtension(+[](MLIRContext *context, tlx::TLXDialect *) {
    registerParamSemantics(context);
    registerTaskSemantics(context);
    registerMemorySemantics(context);
    registerBarrierSemantics(context);
    registerTMASemantics(context);
    registerMMASemantics(context);
    registerTensorMemorySemantics(context);
    registerScaledMMASemantics(context);
    registerTileSemantics(context);
    registerClusterSemantics(context);
    registerGridSemantics(context);
  });
}

const Argument *Simulation::findArgument(StringRef name) const {
  for (const Argument &argument : program.arguments) {
    if (argument.name == name) {
      return &argument;
    }
  }
  return nullptr;
}

/// Whether an op of the kernel writes through `argument`.
static bool isWritten(mlir::Value argument) {
  return llvm::any_of(argument.getUses(), [](OpOperand &use) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(use.getOwner());
    SmallVector<MemoryEffects::EffectInstance> instances;
    if (effects) {
      effects.getEffectsOnValue(use.get(), instances);
    }
    return llvm::any_of(instances, [](MemoryEffects::EffectInstance &it) {
      return isa<MemoryEffects::Write>(it.getEffect());
    });
  });
}

static LogicalResult addArgument(tlx::KernelOp kernel, BlockArgument value,
                                 StringRef name, ProgramBuilder &builder) {
  Argument argument;
  argument.name = name.str();
  argument.slot = builder.getSlot(value);
  argument.site = builder.getSite(value, name);
  argument.isOutput = isWritten(value);
  Type element = value.getType();
  argument.kind = ArgumentKind::Scalar;
  if (auto map = dyn_cast<tlx::TensorMapType>(element)) {
    FailureOr<SmallVector<int64_t>> box = map.getStaticTile();
    if (failed(box)) {
      return kernel.emitOpError("expected parameters to be bound before a "
                                "kernel is simulated (tlx-specialize)");
    }
    argument.box.assign(box->begin(), box->end());
    argument.kind = ArgumentKind::TensorMap;
    element = map.getElementType();
  } else if (auto pointer = dyn_cast<tlx::PointerType>(element)) {
    argument.kind = ArgumentKind::Pointer;
    element = pointer.getElementType();
  }
  FailureOr<ElementKind> kind = getKind(kernel, element);
  if (failed(kind)) {
    return failure();
  }
  argument.element = *kind;
  builder.getProgram().arguments.push_back(std::move(argument));
  return success();
}

FailureOr<std::unique_ptr<Simulation>>
sim::buildSimulation(tlx::KernelOp kernel, bool values) {
  auto simulation = std::make_unique<Simulation>();
  simulation->kernel = kernel;
  simulation->values = values;
  Program &program = simulation->program;
  program.name = kernel.getSymName().str();
  program.clusterSize = uint32_t(kernel.getClusterSize().value_or(1));
  if (auto bytes =
          kernel->getAttrOfType<IntegerAttr>("tlx.shared_memory_bytes")) {
    program.sharedBytes = bytes.getInt();
  }
  if (auto columns =
          kernel->getAttrOfType<IntegerAttr>(tlx::kTensorColumnsAttr)) {
    program.tensorColumns = columns.getInt();
  }
  ProgramBuilder builder(program, simulation->sites, values,
                         values ? InputDependence() : InputDependence(kernel));
  builder.getSite(kernel);
  builder.setCode(program.prologue);
  Block &body = kernel.getBody().front();
  for (auto [value, name] : llvm::zip_equal(
           body.getArguments(),
           kernel.getArgumentNames().getAsValueRange<StringAttr>())) {
    if (failed(addArgument(kernel, value, name, builder))) {
      return failure();
    }
  }
  if (failed(builder.appendBlock(body))) {
    return failure();
  }
  simulation->dependences = builder.takeDependences();
  return simulation;
}

LogicalResult sim::checkBudgets(tlx::KernelOp kernel) {
  WalkResult result = kernel.walk([](tlx::AsyncTasksOp tasks) {
    return failed(tasks.getPlacement()) ? WalkResult::interrupt()
                                        : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

Length sim::run(const Simulation &simulation, Launch &launch,
                Schedule &schedule, Report &report, Trace *trace,
                function_ref<void(uint32_t)> progress) {
  Length length;
  const Program &program = simulation.program;
  uint32_t size = program.hasSemaphores ? launch.ctas : program.clusterSize;
  Grid grid(launch.ctas / size);
  for (uint32_t cta = 0; cta < launch.ctas && report.empty(); cta += size) {
    if (!grid.launch(cta / size)) {
      continue;
    }
    MachineOptions options;
    options.values = simulation.values;
    options.firstCta = cta;
    options.ctas = launch.ctas;
    options.together = size;
    options.strictProxy = launch.strictProxy;
    options.maxInstructions = launch.maxInstructions;
    if (trace) {
      trace->firstCta = cta;
    }
    Machine machine(program, launch.arrays, launch.arguments, options, report);
    machine.run(schedule, grid, trace);
    length.steps = std::max(length.steps, machine.getSteps());
    length.instructions =
        std::max(length.instructions, machine.getInstructions());
    if (progress) {
      progress(cta + size - 1);
    }
  }
  return length;
}

void sim::emitFindings(const Simulation &simulation, const Report &report) {
  for (const Finding &finding : report.get()) {
    InFlightDiagnostic diagnostic = emitError(simulation.sites[finding.site]);
    diagnostic << getName(finding.fault) << ": " << finding.text;
    for (const Note &note : finding.notes) {
      diagnostic.attachNote(simulation.sites[note.site]) << note.text;
    }
  }
}
