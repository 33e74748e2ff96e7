//===- Compile.h - From a source to what is asked for -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The whole way of a kernel, as a library: specialise, lower, translate,
// assemble, describe. jfa-opt and the C API are thin layers over it.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TARGET_DRIVER_COMPILE_H
#define JFA_TARGET_DRIVER_COMPILE_H

#include "jfa/Sim/Passes.h"
#include "jfa/Target/PTX/PTX.h"
#include "jfa/Target/PTX/Ptxas.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <optional>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace mlir::jfa {

/// The stages at which a compilation can stop, in their order.
enum class EmitStage { TLX, NVVM, LLVM, PTX, Cubin, Bundle };

std::optional<EmitStage> parseEmitStage(StringRef name);
/// "tlx, nvvm, ..." for messages.
std::string listEmitStages();

/// Values for the parameters of a kernel, as they are written.
using Bindings = SmallVector<std::pair<std::string, std::string>>;

/// Adds "NAME=VALUE" to `bindings`. Returns what is wrong with it, or nothing.
/// A name may be bound twice only to the same value.
std::string addBinding(Bindings &bindings, StringRef text);

/// Adds "NAME=VALUE,NAME=VALUE..." to `bindings`.
std::string addBindings(Bindings &bindings, StringRef text);

/// One kernel to make out of a source.
struct Specialization {
  std::string arch;
  Bindings bindings;

  /// "sm_90a HEAD_DIM=128", for messages.
  std::string str() const;
};

struct CompileOptions {
  EmitStage stage = EmitStage::Cubin;
  /// At least one, and exactly one unless `stage` is Bundle.
  std::vector<Specialization> specializations;
  /// Its `arch` is taken from the specialization.
  PTXOptions ptx;
  PtxasOptions ptxas;
  PtxasPolicy policy;
  /// Whether to describe PTX too. Its manifest says nothing of what ptxas would
  /// find out: registers, spills and its own version.
  bool describesPTX = false;
  /// Whether to run kernels in the simulator to verify their protocol.
  sim::Verification verifyProtocol = sim::Verification::On;
  /// Called for every pass manager before it runs; may be empty.
  std::function<LogicalResult(PassManager &)> configurePassManager;
  /// Where to account for time; may be null.
  TimingScope *timing = nullptr;
};

struct CompileResult {
  /// IR or PTX as text, or the bytes of a cubin or bundle.
  std::string output;
  /// JSON; empty if no cubin was made, unless CompileOptions::describesPTX.
  std::string manifest;
};

/// Registers the dialects that sources and lowered modules are made of, with
/// all that the compilation asks them for.
void registerCompilerDialects(DialectRegistry &registry);

/// Returns the line of a source in the textual format at which its brackets
/// nest more deeply than the parser can be trusted with, or 0.
unsigned findTooDeepLine(StringRef text);

/// Parses the main file of `sources`, text or bytecode, however broken it is.
/// Returns null after a diagnostic.
OwningOpRef<ModuleOp>
parseSource(const std::shared_ptr<llvm::SourceMgr> &sources,
            const ParserConfig &config);

/// Compiles `source`, which stays as it is. Fails after a diagnostic.
LogicalResult compile(ModuleOp source, const CompileOptions &options,
                      CompileResult &result);

/// Writes the parameters of the kernels in `source`, their defaults and what
/// values are legal, one a line.
void listParameters(ModuleOp source, raw_ostream &os);

} // namespace mlir::jfa

#endif // JFA_TARGET_DRIVER_COMPILE_H
