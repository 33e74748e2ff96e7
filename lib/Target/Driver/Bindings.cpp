//===- Bindings.cpp - Values for the parameters of a kernel -----*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads bindings as they are written on a command line. Whether the kernel
// has such a parameter, and whether the value is legal, is for tlx-specialize
// to say.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/Driver/Compile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::jfa;

std::string mlir::jfa::addBinding(Bindings &bindings, StringRef text) {
  auto parts = text.split('=');
  StringRef name = parts.first.trim();
  StringRef value = parts.second.trim();
  if (name.empty() || value.empty()) {
    return ("expected NAME=VALUE, but got '" + text + "'").str();
  }
  auto *known = llvm::find_if(
      bindings, [&](const auto &binding) { return binding.first == name; });
  if (known == bindings.end()) {
    bindings.emplace_back(name.str(), value.str());
  } else if (known->second != value) {
    return ("expected one value for the parameter '" + name + "', but got '" +
            known->second + "' and '" + value + "'")
        .str();
  }
  return {};
}

std::string mlir::jfa::addBindings(Bindings &bindings, StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    if (std::string message = addBinding(bindings, part); !message.empty()) {
      return message;
    }
  }
  return {};
}

std::string Specialization::str() const {
  std::string text = arch;
  for (const auto &[name, value] : bindings) {
    text += " " + name + "=" + value;
  }
  return text;
}

std::optional<EmitStage> mlir::jfa::parseEmitStage(StringRef name) {
  static constexpr std::pair<StringLiteral, EmitStage> stages[] = {
      {"tlx", EmitStage::TLX},     {"nvvm", EmitStage::NVVM},
      {"llvm", EmitStage::LLVM},   {"ptx", EmitStage::PTX},
      {"cubin", EmitStage::Cubin}, {"bundle", EmitStage::Bundle}};
  for (auto [spelling, stage] : stages) {
    if (spelling == name) {
      return stage;
    }
  }
  return std::nullopt;
}

std::string mlir::jfa::listEmitStages() {
  return "tlx, nvvm, llvm, ptx, cubin, bundle";
}
