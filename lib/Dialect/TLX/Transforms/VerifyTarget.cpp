//===- VerifyTarget.cpp - Check what an architecture has --------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each feature that only some architectures have.
//
//===----------------------------------------------------------------------===//

#include "jfa/Dialect/TLX/Transforms/Passes.h"

namespace mlir::jfa::tlx {
#define GEN_PASS_DEF_VERIFYTARGETPASS
#include "jfa/Dialect/TLX/Transforms/Passes.h.inc"
} // namespace mlir::jfa::tlx

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

namespace {
struct FeatureInfo {
  TargetFeature feature;
  StringRef name;
  /// Architectures that have it.
  ArrayRef<StringRef> archs;
  /// What to use where it is not.
  StringRef instead;
};
} // namespace

static constexpr StringRef kHopper[] = {"sm_90a"};
static constexpr StringRef kBlackwell[] = {"sm_100a", "sm_103a", "sm_110a"};

static const FeatureInfo kFeatures[] = {
    {TargetFeature::Wgmma, "products with sums in registers", kHopper,
     "a third operand in tensor memory and 'tlx.tcgen05_commit'"},
    {TargetFeature::TensorMemory, "tensor memory", kBlackwell,
     "products with sums in registers and 'tlx.async_dot_wait'"},
    {TargetFeature::CtaPair, "pairs of CTAs ('cta_group(2)')", kBlackwell,
     "products of one CTA, and copies with 'multicast'"},
    {TargetFeature::LaunchControl, "cluster launch control", kBlackwell,
     "a grid of as many CTAs as multiprocessors, each with its share of the "
     "work, found by 'tlx.cta_id'"},
};

static const FeatureInfo &getInfo(TargetFeature feature) {
  return *llvm::find_if(kFeatures, [&](const FeatureInfo &info) {
    return info.feature == feature;
  });
}

static LogicalResult verifyTarget(TargetOpInterface op, StringRef arch) {
  std::optional<TargetFeature> feature = op.getRequiredFeature();
  if (!feature) {
    return success();
  }
  const FeatureInfo &info = getInfo(*feature);
  if (llvm::is_contained(info.archs, arch)) {
    return success();
  }
  InFlightDiagnostic diag = op->emitOpError("expected an architecture with ")
                            << info.name << " (" << llvm::join(info.archs, ", ")
                            << "), but got " << arch;
  if (llvm::is_contained(kHopper, arch) ||
      llvm::is_contained(kBlackwell, arch)) {
    diag << "; it has " << info.instead;
  }
  return diag;
}

namespace {
struct VerifyTargetPass
    : public tlx::impl::VerifyTargetPassBase<VerifyTargetPass> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult walk = getOperation().walk([&](TargetOpInterface op) {
      return WalkResult(verifyTarget(op, arch));
    });
    if (walk.wasInterrupted()) {
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
