//===- InlinePTX.cpp - Instructions for which NVVM has no op -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// Builds an inline-assembly call with any number of results.
static SmallVector<Value> buildAsm(LoweringBuilder &b, const Twine &text,
                                   StringRef constraints, ValueRange operands,
                                   TypeRange results, bool sideEffects = true) {
  MLIRContext *context = b.builder.getContext();
  Type type = LLVM::LLVMVoidType::get(context);
  if (results.size() == 1) {
    type = results.front();
  } else if (results.size() > 1) {
    type = LLVM::LLVMStructType::getLiteral(context, llvm::to_vector(results));
  }
  auto call = b.create<LLVM::InlineAsmOp>(
      results.empty() ? TypeRange() : TypeRange(type), operands, text.str(),
      constraints, sideEffects, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  SmallVector<Value> values;
  if (results.size() == 1) {
    values.push_back(call.getResult(0));
  } else {
    for (size_t i = 0; i < results.size(); ++i) {
      values.push_back(b.create<LLVM::ExtractValueOp>(call.getResult(0), i));
    }
  }
  return values;
}

/// Packed pairs as the 32-bit registers that instructions take.
static SmallVector<Value> asRegisters(LoweringBuilder &b,
                                      ArrayRef<Value> values) {
  Type i32 = b.builder.getI32Type();
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    return value.getType() == i32 ? value
                                  : b.create<LLVM::BitcastOp>(i32, value);
  });
}

/// `prefix0, prefix1, …` starting at `first`.
static std::string numbered(StringRef prefix, size_t first, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += (i ? ", " : "") + prefix.str() + std::to_string(first + i);
  }
  return text;
}

/// Constraints of `count` f32 results and of operands tied to them.
static std::string tiedConstraints(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += (i ? ",=f" : "=f");
  }
  for (size_t i = 0; i < count; ++i) {
    text += "," + std::to_string(i);
  }
  return text;
}

void tlx::buildBarrierWait(LoweringBuilder &b, Value address, Value parity) {
  buildAsm(b,
           "{ .reg .pred complete; WAIT_${:uid}: "
           "mbarrier.try_wait.parity.shared::cta.b64 complete, [$0], $1; "
           "@complete bra DONE_${:uid}; bra WAIT_${:uid}; DONE_${:uid}: }",
           "r,r,~{memory}", {address, parity}, {});
}

SmallVector<Value> tlx::buildDotRegisterA(LoweringBuilder &b, ArrayRef<Value> a,
                                          Value descriptor,
                                          ArrayRef<Value> accumulators,
                                          bool accumulate, int64_t n,
                                          Type element, bool transposeB) {
  size_t count = accumulators.size();
  std::string type = element.isBF16() ? "bf16" : "f16";
  std::string text = llvm::formatv(
      "{{ .reg .pred accumulate; setp.ne.b32 accumulate, {0}, 0; "
      "wgmma.mma_async.sync.aligned.m64n{1}k16.f32.{2}.{2} "
      "{{{3}}, {{{4}}, ${5}, accumulate, 1, 1, {6}; }",
      accumulate ? 1 : 0, n, type, numbered("$", 0, count),
      numbered("$", 2 * count + 1, a.size()), 2 * count, transposeB ? 1 : 0);
  std::string constraints = tiedConstraints(count) + ",l";
  for (size_t i = 0; i < a.size(); ++i) {
    constraints += ",r";
  }
  SmallVector<Value> operands = llvm::to_vector(accumulators);
  operands.push_back(descriptor);
  llvm::append_range(operands, asRegisters(b, a));
  return buildAsm(b, text, constraints + ",~{memory}", operands,
                  ValueRange(accumulators).getTypes());
}

SmallVector<Value> tlx::buildDotWait(LoweringBuilder &b, int64_t pending,
                                     ArrayRef<Value> accumulators,
                                     ArrayRef<Value> kept) {
  std::string constraints = tiedConstraints(accumulators.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    constraints += ",r";
  }
  SmallVector<Value> operands = llvm::to_vector(accumulators);
  llvm::append_range(operands, asRegisters(b, kept));
  return buildAsm(b, "wgmma.wait_group.sync.aligned " + Twine(pending) + ";",
                  constraints + ",~{memory}", operands,
                  ValueRange(accumulators).getTypes());
}

void tlx::buildTensorMapPrefetch(LoweringBuilder &b, Value map) {
  buildAsm(b, "prefetch.tensormap [$0];", "l,~{memory}", {map}, {});
}

Value tlx::buildLog2(LoweringBuilder &b, Value x) {
  return buildAsm(b, "lg2.approx.ftz.f32 $0, $1;", "=f,f", {x}, {x.getType()},
                  /*sideEffects=*/false)[0];
}
