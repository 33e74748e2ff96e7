//===- PeelMaskedTail.cpp - Placeholder -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_PEELMASKEDTAILPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa::tlx;

namespace {
struct PeelMaskedTail : public mlir::jfa::tlx::impl::PeelMaskedTailPassBase<PeelMaskedTail> {
  using PeelMaskedTailPassBase::PeelMaskedTailPassBase;
  void runOnOperation() final {}
};
} // namespace
