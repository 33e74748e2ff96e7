//===- Compiler.cpp - C interface of the compiler ---------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates between C and the driver's library, and checks what only a caller
// from C can get wrong. Every call has a context of its own, without threads,
// so that the callback runs on the caller's thread.
//
//===----------------------------------------------------------------------===//

#include "jfa-c/Compiler.h"

#include "jfa/Target/Driver/Compile.h"
#include "jfa/Target/PTX/Arch.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::jfa;

struct jfaCompileResult {
  CompileResult result;
};

namespace {
/// The caller's callback.
class Reporter {
public:
  Reporter(jfaDiagnosticCallback callback, void *userData)
      : callback(callback), userData(userData) {}

  void report(Diagnostic &diagnostic) const {
    report(diagnostic, translate(diagnostic.getSeverity()));
    for (Diagnostic &note : diagnostic.getNotes()) {
      report(note, JFA_SEVERITY_NOTE);
    }
  }

  /// Refuses an argument.
  jfaCompileStatus refuse(const std::string &message) const {
    report(JFA_SEVERITY_ERROR, "", 0, 0, message);
    return JFA_COMPILE_STATUS_INVALID_ARGUMENT;
  }

private:
  static jfaSeverity translate(DiagnosticSeverity severity) {
    switch (severity) {
    case DiagnosticSeverity::Error:
      return JFA_SEVERITY_ERROR;
    case DiagnosticSeverity::Warning:
      return JFA_SEVERITY_WARNING;
    case DiagnosticSeverity::Remark:
      return JFA_SEVERITY_REMARK;
    case DiagnosticSeverity::Note:
      return JFA_SEVERITY_NOTE;
    }
    llvm_unreachable("unknown severity");
  }

  void report(const Diagnostic &diagnostic, jfaSeverity severity) const {
    auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
    if (place) {
      report(severity, place.getFilename().str(), place.getLine(),
             place.getColumn(), diagnostic.str());
    } else {
      report(severity, "", 0, 0, diagnostic.str());
    }
  }

  void report(jfaSeverity severity, const std::string &file, unsigned line,
              unsigned column, const std::string &message) const {
    if (callback) {
      jfaDiagnostic diagnostic = {severity, file.c_str(), line, column,
                                  message.c_str()};
      callback(&diagnostic, userData);
    }
  }

  jfaDiagnosticCallback callback;
  void *userData;
};
} // namespace

/// Says that a field has the wrong value.
static std::string expected(StringRef field, const Twine &values,
                            const Twine &value) {
  return ("'" + field + "': expected " + values + ", but got " + value).str();
}

/// Returns what is wrong with `given`, or nothing.
static std::string translate(const jfaSpecialization &given,
                             Specialization &specialization) {
  if (!given.arch || !findArch(given.arch)) {
    std::string value =
        given.arch ? "'" + std::string(given.arch) + "'" : "null";
    return expected("arch", "one of " + listKnownArchs(), value);
  }
  specialization.arch = given.arch;
  if (given.num_bindings && !given.bindings) {
    return expected("bindings", "an array", "null");
  }
  for (const jfaBinding &binding :
       ArrayRef<jfaBinding>(given.bindings, given.num_bindings)) {
    if (!binding.name || !binding.value) {
      return expected("bindings", "names and values", "null");
    }
    std::string text = std::string(binding.name) + "=" + binding.value;
    std::string message = addBinding(specialization.bindings, text);
    if (!message.empty()) {
      return "'bindings': " + message;
    }
  }
  return {};
}

static std::string translate(const jfaCompileOptions &given,
                             CompileOptions &options) {
  if (given.struct_size != sizeof(jfaCompileOptions)) {
    return expected("struct_size", Twine(sizeof(jfaCompileOptions)),
                    Twine(given.struct_size));
  }
  if (given.stage < JFA_COMPILE_STAGE_TLX ||
      given.stage > JFA_COMPILE_STAGE_BUNDLE) {
    return expected("stage", "a jfaCompileStage", Twine(given.stage));
  }
  if (given.opt_level < 0 || given.opt_level > 3) {
    return expected("opt_level", "0 to 3", Twine(given.opt_level));
  }
  // LLVM's NVPTX backend knows no others.
  if (given.ptx_version && (given.ptx_version < 80 || given.ptx_version > 90)) {
    return expected("ptx_version", "0 or 80 to 90", Twine(given.ptx_version));
  }
  bool isBundle = given.stage == JFA_COMPILE_STAGE_BUNDLE;
  if (given.num_specializations == 0 ||
      (given.num_specializations > 1 && !isBundle)) {
    return expected("num_specializations", isBundle ? "at least 1" : "1",
                    Twine(given.num_specializations));
  }
  if (!given.specializations) {
    return expected("specializations", "an array", "null");
  }
  for (const jfaSpecialization &specialization : ArrayRef<jfaSpecialization>(
           given.specializations, given.num_specializations)) {
    std::string message =
        translate(specialization, options.specializations.emplace_back());
    if (!message.empty()) {
      return message;
    }
  }
  options.stage = static_cast<EmitStage>(given.stage);
  options.ptx.optLevel = given.opt_level;
  options.ptx.ptxVersion = given.ptx_version;
  options.ptx.lineInfo = given.line_info != 0;
  options.ptx.recoverFromFatalErrors = given.recover_from_fatal_errors != 0;
  options.ptxas.lineInfo = given.line_info != 0;
  options.ptxas.timeoutSeconds = given.ptxas_timeout_seconds;
  options.policy.allowSpills = given.allow_spills != 0;
  options.policy.allowPerformanceLoss = given.allow_performance_loss != 0;
  if (options.stage < EmitStage::Cubin) {
    return {};
  }
  std::string message;
  options.ptxas.path =
      findPtxas(given.ptxas_path ? given.ptxas_path : "", message);
  return message;
}

static LogicalResult compileText(StringRef source, StringRef name,
                                 const CompileOptions &options,
                                 const Reporter &reporter,
                                 CompileResult &result) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { reporter.report(diagnostic); });
  auto sources = std::make_shared<llvm::SourceMgr>();
  // A copy, because the parser wants a 0 behind the text.
  sources->AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(source, name), SMLoc());
  OwningOpRef<ModuleOp> module = parseSource(sources, &context);
  return module ? compile(*module, options, result) : failure();
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

const char *jfaCompilerGetVersion(void) { return JFA_VERSION; }

void jfaCompileOptionsInitialize(jfaCompileOptions *options) {
  if (!options) {
    return;
  }
  CompileOptions defaults;
  *options = jfaCompileOptions();
  options->struct_size = sizeof(jfaCompileOptions);
  options->stage = static_cast<int32_t>(defaults.stage);
  options->ptxas_timeout_seconds = defaults.ptxas.timeoutSeconds;
  options->opt_level = static_cast<int32_t>(defaults.ptx.optLevel);
}

jfaCompileStatus jfaCompile(const char *source, size_t length,
                            const jfaCompileOptions *options,
                            jfaDiagnosticCallback callback, void *userData,
                            jfaCompileResult **result) {
  Reporter reporter(callback, userData);
  if (!result) {
    return reporter.refuse(expected("result", "a pointer", "null"));
  }
  *result = nullptr;
  if (!source) {
    return reporter.refuse(expected("source", "a pointer", "null"));
  }
  if (!options) {
    return reporter.refuse(expected("options", "a pointer", "null"));
  }
  CompileOptions translated;
  if (std::string message = translate(*options, translated); !message.empty()) {
    return reporter.refuse(message);
  }
  StringRef name = options->source_name ? options->source_name : "source";
  auto compiled = std::make_unique<jfaCompileResult>();
  if (failed(compileText(StringRef(source, length), name, translated, reporter,
                         compiled->result))) {
    return JFA_COMPILE_STATUS_FAILED;
  }
  *result = compiled.release();
  return JFA_COMPILE_STATUS_SUCCESS;
}

/// Hands out `bytes`, or nothing for a null result.
static const char *getBytes(const std::string *bytes, size_t *size) {
  if (size) {
    *size = bytes ? bytes->size() : 0;
  }
  return bytes ? bytes->c_str() : "";
}

const char *jfaCompileResultGetOutput(const jfaCompileResult *result,
                                      size_t *size) {
  return getBytes(result ? &result->result.output : nullptr, size);
}

const char *jfaCompileResultGetManifest(const jfaCompileResult *result,
                                        size_t *size) {
  return getBytes(result ? &result->result.manifest : nullptr, size);
}

void jfaCompileResultDestroy(jfaCompileResult *result) { delete result; }
