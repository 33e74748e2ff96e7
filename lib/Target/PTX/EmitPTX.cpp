//===- EmitPTX.cpp - From LLVM IR to PTX ------------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs LLVM's NVPTX code generator in this process. The code generator
// reports some errors through the LLVM context and ends the process on
// others; both become diagnostics on the kernel.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Arch.h"
#include "jfa/Target/PTX/PTX.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;
using namespace mlir::jfa;

static void initializeNVPTX() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

std::unique_ptr<llvm::TargetMachine>
mlir::jfa::createNVPTXTargetMachine(Location loc, const PTXOptions &options) {
  const ArchInfo *arch = findArch(options.arch);
  if (!arch) {
    emitError(loc) << "expected an architecture out of " << listKnownArchs()
                   << ", but got '" << options.arch << "'";
    return nullptr;
  }
  initializeNVPTX();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) {
    emitError(loc) << "expected LLVM with the NVPTX backend, but got: "
                   << message;
    return nullptr;
  }
  unsigned version = options.ptxVersion ? options.ptxVersion : arch->ptxVersion;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, arch->name, "+ptx" + std::to_string(version),
      llvm::TargetOptions(), llvm::Reloc::PIC_));
}

namespace {
/// Collects what LLVM reports while it generates code.
class Collector : public llvm::DiagnosticHandler {
public:
  explicit Collector(GeneratedPTX &generated) : generated(generated) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error) {
      return true;
    }
    GeneratedPTX::Report entry;
    llvm::raw_string_ostream os(entry.message);
    llvm::DiagnosticPrinterRawOStream printer(os);
    info.print(printer);
    if (auto *unsupported =
            llvm::dyn_cast<llvm::DiagnosticInfoUnsupported>(&info)) {
      entry.function = unsupported->getFunction().getName().str();
    }
    generated.errors.push_back(std::move(entry));
    return true;
  }

private:
  GeneratedPTX &generated;
};

/// Leaves out passes of the code generator that take a quarter of its time and
/// change nothing of a kernel's loops: MLIR and `optimize` have found equal
/// expressions, machine CSE finds what arises later, and the lowering writes
/// addresses as a base and constant offsets itself.
class PassGate : public llvm::OptPassGate {
public:
  bool isEnabled() const override { return true; }

  bool shouldRunPass(StringRef pass, StringRef) const override {
    return !llvm::is_contained({"early-cse", "nary-reassociate", "gvn", "slsr"},
                               pass);
  }
};

/// Sets the context's gate and puts the one before back.
class ScopedPassGate {
public:
  explicit ScopedPassGate(llvm::LLVMContext &context)
      : context(context), previous(context.getOptPassGate()) {
    context.setOptPassGate(gate);
  }
  ~ScopedPassGate() { context.setOptPassGate(previous); }

private:
  PassGate gate;
  llvm::LLVMContext &context;
  llvm::OptPassGate &previous;
};
} // namespace

static void handleFatalError(void *generated, const char *reason, bool) {
  static_cast<GeneratedPTX *>(generated)->fatal = reason;
  // Inside CrashRecoveryContext this returns to RunSafely().
  llvm::sys::Process::Exit(1);
}

/// Runs `fn`; returns false if LLVM could not come to its end.
static bool runRecoverably(GeneratedPTX &generated,
                           llvm::function_ref<void()> fn) {
  llvm::CrashRecoveryContext::Enable();
  bool finished;
  {
    llvm::ScopedFatalErrorHandler handler(handleFatalError, &generated);
    llvm::CrashRecoveryContext recovery;
    finished = recovery.RunSafely(fn);
  }
  llvm::CrashRecoveryContext::Disable();
  return finished;
}

static LogicalResult emitReports(ModuleOp module,
                                 const GeneratedPTX &generated) {
  auto emit = [&](StringRef function, StringRef reason) {
    Operation *op = module.lookupSymbol(function);
    auto kernels = getKernels(module);
    if (!op) {
      // Most messages do not say which function they are about.
      op = kernels.empty() ? module.getOperation()
                           : kernels.front().getOperation();
    }
    emitError(op->getLoc())
        << "expected the NVPTX backend to accept the kernel, but got: "
        << reason;
  };
  for (const GeneratedPTX::Report &report : generated.errors) {
    emit(report.function, report.message);
  }
  if (!generated.finished) {
    emit("", generated.fatal.empty() ? "a crash" : StringRef(generated.fatal));
  }
  return success(generated.finished && generated.errors.empty());
}

GeneratedPTX mlir::jfa::generatePTX(llvm::Module &llvmModule,
                                    llvm::TargetMachine &machine,
                                    const PTXOptions &options) {
  GeneratedPTX generated;
  llvmModule.getContext().setDiagnosticHandler(
      std::make_unique<Collector>(generated));
  ScopedPassGate gate(llvmModule.getContext());
  SmallString<0> text;
  auto generate = [&] {
    llvm::raw_svector_ostream os(text);
    llvm::legacy::PassManager passes;
    generated.unsupported = machine.addPassesToEmitFile(
        passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile,
        /*DisableVerify=*/true);
    if (!generated.unsupported) {
      passes.run(llvmModule);
    }
  };
  if (options.recoverFromFatalErrors) {
    generated.finished = runRecoverably(generated, generate);
  } else {
    generate();
  }
  llvmModule.getContext().setDiagnosticHandler(nullptr);
  generated.text = text.str().str();
  return generated;
}

FailureOr<std::string> mlir::jfa::takePTX(ModuleOp module,
                                          GeneratedPTX generated) {
  if (generated.unsupported) {
    return module.emitError("expected the NVPTX backend to write PTX, but it "
                            "cannot");
  }
  if (failed(emitReports(module, generated))) {
    return failure();
  }
  return std::move(generated.text);
}
