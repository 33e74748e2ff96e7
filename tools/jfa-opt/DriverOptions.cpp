//===- DriverOptions.cpp - The options of jfa-opt's driver ------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the options before anything is read or compiled, so that a wrong
// command line fails at once and names what it should have been.
//
//===----------------------------------------------------------------------===//

#include "DriverOptions.h"

#include "jfa/Target/PTX/Arch.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::jfa;

DriverOptions &DriverOptions::get() {
  static DriverOptions options;
  return options;
}

/// Whether two specializations would give the same kernel.
static bool isSame(const Specialization &a, const Specialization &b) {
  auto sorted = [](Bindings bindings) {
    llvm::sort(bindings);
    return bindings;
  };
  return a.arch == b.arch && sorted(a.bindings) == sorted(b.bindings);
}

std::string
DriverOptions::translateSpecializations(CompileOptions &options) const {
  Bindings common;
  for (const std::string &define : defines) {
    if (std::string message = addBinding(common, define); !message.empty()) {
      return "-D: " + message;
    }
  }
  std::vector<Bindings> variants;
  for (const std::string &specialization : specializations) {
    variants.push_back(common);
    if (std::string message = addBindings(variants.back(), specialization);
        !message.empty()) {
      return "--specialize: " + message;
    }
  }
  if (variants.empty()) {
    variants.push_back(common);
  }
  if (archs.empty()) {
    return "expected --arch with one of " + listKnownArchs() +
           ", but got no --arch";
  }
  for (const std::string &arch : archs) {
    if (!findArch(arch)) {
      return "--arch: expected one of " + listKnownArchs() + ", but got '" +
             arch + "'";
    }
    for (const Bindings &bindings : variants) {
      Specialization added{arch, bindings};
      for (const Specialization &other : options.specializations) {
        if (isSame(added, other)) {
          return "expected every kernel to be asked for once, but got twice: " +
                 added.str();
        }
      }
      options.specializations.push_back(std::move(added));
    }
  }
  return {};
}

std::string DriverOptions::translateStage(CompileOptions &options) const {
  bool several = options.specializations.size() > 1;
  options.stage = several ? EmitStage::Bundle : EmitStage::Cubin;
  if (emulate) {
    if (several) {
      return "--emulate: expected one kernel, but there are " +
             std::to_string(options.specializations.size()) + " to compile";
    }
    if (emit.getNumOccurrences() && emit != "ptx") {
      return "--emit: expected ptx with --emulate, which executes that, but "
             "got "
             "'" +
             emit + "'";
    }
    options.stage = EmitStage::PTX;
    options.describesPTX = true;
  } else if (emit.getNumOccurrences()) {
    std::optional<EmitStage> stage = parseEmitStage(emit);
    if (!stage) {
      return "--emit: expected one of " + listEmitStages() + ", but got '" +
             emit + "'";
    }
    options.stage = *stage;
  }
  if (several && options.stage != EmitStage::Bundle) {
    return "--emit: expected bundle, because there are " +
           std::to_string(options.specializations.size()) +
           " kernels to compile, but got '" + emit + "'";
  }
  if (options.stage < EmitStage::Cubin && manifest.getNumOccurrences()) {
    return "--manifest: expected --emit=cubin or --emit=bundle, because a "
           "manifest describes assembled code, but got '" +
           emit + "'";
  }
  return {};
}

std::string DriverOptions::translate(CompileOptions &options) const {
  if (std::string message = translateSpecializations(options);
      !message.empty()) {
    return message;
  }
  if (std::string message = translateStage(options); !message.empty()) {
    return message;
  }
  if (optLevel > 3) {
    return "--opt-level: expected 0 to 3, but got " + std::to_string(optLevel);
  }
  // LLVM's NVPTX backend knows no others.
  if (ptxVersion && (ptxVersion < 80 || ptxVersion > 90)) {
    return "--ptx-version: expected 80 to 90, but got " +
           std::to_string(ptxVersion);
  }
  if (options.stage >= EmitStage::Cubin) {
    std::string message;
    options.ptxas.path = findPtxas(ptxas, message);
    if (!message.empty()) {
      return message;
    }
  }
  auto verification =
      llvm::StringSwitch<std::optional<sim::Verification>>(verifyProtocol)
          .Case("off", sim::Verification::Off)
          .Case("on", sim::Verification::On)
          .Case("strict", sim::Verification::Strict)
          .Default(std::nullopt);
  if (!verification) {
    return "--verify-protocol: expected on, strict or off, but got '" +
           verifyProtocol + "'";
  }
  options.verifyProtocol = *verification;
  options.ptx.optLevel = optLevel;
  options.ptx.ptxVersion = ptxVersion;
  // What the emulator finds it names by lines of the source.
  options.ptx.lineInfo = lineInfo || emulate;
  options.ptx.recoverFromFatalErrors = true;
  options.ptxas.lineInfo = lineInfo;
  options.ptxas.timeoutSeconds = ptxasTimeout;
  options.policy.allowSpills = allowSpills;
  options.policy.allowPerformanceLoss = allowPerformanceLoss;
  return {};
}
