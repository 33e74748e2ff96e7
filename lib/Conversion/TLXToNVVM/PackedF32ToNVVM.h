//===- PackedF32ToNVVM.h - Two f32 elements at a time -----------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums and products of f32 tiles, which some architectures compute in pairs.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_CONVERSION_TLXTONVVM_PACKEDF32TONVVM_H
#define JFA_LIB_CONVERSION_TLXTONVVM_PACKEDF32TONVVM_H

#include "jfa/Conversion/TLXToNVVM/TLXToNVVM.h"

namespace mlir::jfa::tlx {

/// Patterns that come before those of the same ops for scalars.
void populatePackedF32Patterns(const TLXTypeConverter &converter,
                               RewritePatternSet &patterns);

} // namespace mlir::jfa::tlx

#endif // JFA_LIB_CONVERSION_TLXTONVVM_PACKEDF32TONVVM_H
