//===- MathSemantics.cpp - math in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

template <typename Op, float (*map)(float)>
static LogicalResult buildReal(Op op, ProgramBuilder &builder) {
  return appendMap<float, float, 1>(op, builder,
                                    [](float x) { return map(x); });
}

static float exp2OfReal(float x) { return std::exp2(x); }
static float expOfReal(float x) { return std::exp(x); }
static float log2OfReal(float x) { return std::log2(x); }
static float logOfReal(float x) { return std::log(x); }
static float sqrtOfReal(float x) { return std::sqrt(x); }
static float rsqrtOfReal(float x) { return 1.0f / std::sqrt(x); }
static float absOfReal(float x) { return std::fabs(x); }
static float tanhOfReal(float x) { return std::tanh(x); }

void sim::registerMathSemantics(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attach<Exp2Op, buildReal<Exp2Op, exp2OfReal>>(context);
    attach<ExpOp, buildReal<ExpOp, expOfReal>>(context);
    attach<Log2Op, buildReal<Log2Op, log2OfReal>>(context);
    attach<LogOp, buildReal<LogOp, logOfReal>>(context);
    attach<SqrtOp, buildReal<SqrtOp, sqrtOfReal>>(context);
    attach<RsqrtOp, buildReal<RsqrtOp, rsqrtOfReal>>(context);
    attach<AbsFOp, buildReal<AbsFOp, absOfReal>>(context);
    attach<TanhOp, buildReal<TanhOp, tanhOfReal>>(context);
  });
}
