//===- PTX.h - From the LLVM dialect to PTX ---------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translation of a module of the LLVM and NVVM dialects to LLVM IR and to
// PTX, inside this process. Every failure is a diagnostic on the module or on
// the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TARGET_PTX_PTX_H
#define JFA_TARGET_PTX_PTX_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlir::jfa {

struct PTXOptions {
  /// One of getKnownArchs().
  std::string arch;
  /// 0 runs no LLVM pass before code generation, 1 a few cheap ones that leave
  /// the schedule alone, 2 and 3 LLVM's own pipelines.
  unsigned optLevel = 1;
  /// PTX ISA version (10 * major + minor); 0 takes the architecture's own.
  unsigned ptxVersion = 0;
  /// Whether to emit `.loc` directives.
  bool lineInfo = false;
  /// Turns LLVM's fatal errors and crashes during code generation into
  /// diagnostics. That needs process-wide signal and error handlers while the
  /// code generator runs, and leaks what it held, so embedders have to ask.
  bool recoverFromFatalErrors = false;
};

/// Registers the dialects that a lowered module holds, with their translations
/// to LLVM IR.
void registerPTXTranslations(DialectRegistry &registry);

/// The kernels of `module` in their order: functions with `nvvm.kernel`.
SmallVector<LLVM::LLVMFuncOp> getKernels(ModuleOp module);

/// Returns null, after a diagnostic, if the architecture is unknown.
std::unique_ptr<llvm::TargetMachine>
createNVPTXTargetMachine(Location loc, const PTXOptions &options);

/// Translates `module` and runs the optimisation pipeline. Returns null after a
/// diagnostic. `module` gets scopes for its locations if line information is
/// asked for, and is otherwise unchanged.
std::unique_ptr<llvm::Module> translateToLLVM(ModuleOp module,
                                              llvm::LLVMContext &context,
                                              llvm::TargetMachine &machine,
                                              const PTXOptions &options);

/// What the code generator left: PTX, or why there is none.
struct GeneratedPTX {
  struct Report {
    /// Empty if LLVM does not say which function it is about.
    std::string function;
    std::string message;
  };
  std::string text;
  SmallVector<Report> errors;
  /// Whether the code generator came to its end, and if not, its last words.
  bool finished = true;
  std::string fatal;
  /// Whether it has no way to write text.
  bool unsupported = false;
};

/// Generates PTX from what translateToLLVM() returned. MLIR's context is not
/// touched, so that another thread may use it meanwhile.
GeneratedPTX generatePTX(llvm::Module &llvmModule, llvm::TargetMachine &machine,
                         const PTXOptions &options);

/// Returns the text, or fails after a diagnostic at the kernel of `module` that
/// it was generated for.
FailureOr<std::string> takePTX(ModuleOp module, GeneratedPTX generated);

/// Refuses the operations that LLVM's NVPTX backend cannot generate code for:
/// it would end the process on them.
LogicalResult verifyForNVPTX(ModuleOp module);

} // namespace mlir::jfa

#endif // JFA_TARGET_PTX_PTX_H
