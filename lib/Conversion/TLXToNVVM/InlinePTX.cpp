//===- InlinePTX.cpp - Instructions for which NVVM has no op -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
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

Value tlx::buildFirstCta(LoweringBuilder &b, Value response) {
  Type i64 = b.builder.getI64Type();
  Value shift = b.create<LLVM::ConstantOp>(
      response.getType(), b.builder.getIntegerAttr(response.getType(), 64));
  Value low = b.create<LLVM::TruncOp>(i64, response);
  Value high = b.create<LLVM::TruncOp>(
      i64, b.create<LLVM::LShrOp>(response, shift).getResult());
  return buildAsm(
             b,
             "{ .reg .b128 response; .reg .pred canceled; "
             "mov.b128 response, {$1, $2}; "
             "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 "
             "canceled, response; mov.b32 $0, 0; "
             "@canceled clusterlaunchcontrol.query_cancel.get_first_ctaid::x"
             ".b32.b128 $0, response; }",
             "=&r,l,l", {low, high}, b.builder.getI32Type(),
             /*sideEffects=*/false)
      .front();
}

void tlx::buildScaledDotStep(LoweringBuilder &b, const ScaledDotStep &step) {
  Value accumulate =
      b.create<LLVM::ZExtOp>(b.builder.getI32Type(), step.accumulate);
  buildAsm(b,
           "{ .reg .pred adds; setp.ne.b32 adds, $6, 0; "
           "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X "
           "[$0], $1, $2, $3, [$4], [$5], adds; }",
           "r,l,l,r,r,r,r",
           {step.sums, step.a, step.b, step.instruction, step.aScale,
            step.bScale, accumulate},
           TypeRange());
}

Value tlx::buildCachePolicy(LoweringBuilder &b, std::optional<CacheHint> hint) {
  if (!hint) {
    return Value();
  }
  return buildAsm(b,
                  "createpolicy.fractional.L2::" + stringifyCacheHint(*hint) +
                      ".b64 $0;",
                  "=l", ValueRange(), b.builder.getI64Type(),
                  /*sideEffects=*/false)
      .front();
}

void tlx::buildBarrierWait(LoweringBuilder &b, Value address, Value parity) {
  buildAsm(b,
           "{ .reg .pred complete; WAIT_${:uid}: "
           "mbarrier.try_wait.parity.shared::cta.b64 complete, [$0], $1; "
           "@complete bra DONE_${:uid}; bra WAIT_${:uid}; DONE_${:uid}: }",
           "r,r,~{memory}", {address, parity}, {});
}

void tlx::buildSemaphoreWait(LoweringBuilder &b, Value address, Value count) {
  buildAsm(b,
           "{ .reg .pred reached; .reg .s32 counter; WAIT_${:uid}: "
           "ld.acquire.gpu.global.s32 counter, [$0]; "
           "setp.ge.s32 reached, counter, $1; "
           "@reached bra DONE_${:uid}; bra WAIT_${:uid}; DONE_${:uid}: "
           "fence.proxy.async.global; }",
           "l,r,~{memory}", {address, count}, {});
}

void tlx::buildSemaphorePost(LoweringBuilder &b, Value address) {
  buildAsm(b, "red.release.gpu.global.add.s32 [$0], 1;", "l,~{memory}",
           {address}, {});
}

/// The name of a factor's type (PTX ISA 9.7.15.5.2).
static StringRef getFactorType(Type element) {
  return TypeSwitch<Type, StringRef>(element)
      .Case<BFloat16Type>([](Type) { return "bf16"; })
      .Case<Float8E4M3FNType>([](Type) { return "e4m3"; })
      .Case<Float8E5M2Type>([](Type) { return "e5m2"; })
      .Default([](Type) { return "f16"; });
}

/// How instruction `k` names its descriptor of `factor`, the first of which is
/// operand `first`; adds to `text` what computes it in the register `sum`.
static std::string nameDescriptor(const DotFactor &factor, size_t k,
                                  size_t first, StringRef sum,
                                  std::string &text) {
  if (factor.distances.empty()) {
    return numbered("$", first + k, 1);
  }
  if (factor.distances[k] == 0) {
    return numbered("$", first, 1);
  }
  text += llvm::formatv("add.s64 {0}, ${1}, {2}; ", sum, first,
                        factor.distances[k]);
  return sum.str();
}

/// The text of `dot`: operands are the accumulators (twice, as results and as
/// what is tied to them), B's descriptors, then A's descriptors or registers.
static std::string dotText(const DotInstructions &dot, size_t accumulators) {
  // Only factors of 16-bit elements may lie along M or N, and say whether.
  int64_t bits = dot.elementB.getIntOrFloatBitWidth();
  std::string registers = numbered("$", 0, accumulators);
  size_t firstB = 2 * accumulators, firstA = firstB + dot.b.descriptors.size();
  bool isInRegisters = dot.a.descriptors.empty();
  std::string text =
      llvm::formatv("{{ .reg .pred keep, all; {0}"
                    "setp.ne.b32 keep, {1}, 0; "
                    "setp.ne.b32 all, 1, 0; ",
                    dot.b.distances.empty() ? "" : ".reg .b64 desc_a, desc_b; ",
                    dot.accumulate ? 1 : 0);
  for (size_t k = 0; k < dot.getNumInstructions(); ++k) {
    std::string b = nameDescriptor(dot.b, k, firstB, "desc_b", text);
    std::string a = isInRegisters
                        ? "{" + numbered("$", firstA + 4 * k, 4) + "}"
                        : nameDescriptor(dot.a, k, firstA, "desc_a", text);
    std::string lies = isInRegisters ? "" : dot.transposeA ? ", 1" : ", 0";
    lies += dot.transposeB ? ", 1" : ", 0";
    text +=
        llvm::formatv("wgmma.mma_async.sync.aligned.m64n{0}k{1}.f32.{2}.{3} "
                      "{{{4}}, {5}, {6}, {7}, 1, 1{8}; ",
                      dot.n, 256 / bits, getFactorType(dot.elementA),
                      getFactorType(dot.elementB), registers, a, b,
                      k == 0 ? "keep" : "all", bits == 16 ? lies : "");
  }
  return text + "}";
}

SmallVector<Value> tlx::buildDot(LoweringBuilder &b, const DotInstructions &dot,
                                 ArrayRef<Value> accumulators) {
  std::string constraints = tiedConstraints(accumulators.size());
  SmallVector<Value> operands = llvm::to_vector(accumulators);
  auto add = [&](ArrayRef<Value> values, StringRef constraint) {
    llvm::append_range(operands, values);
    for (size_t i = 0; i < values.size(); ++i) {
      constraints += constraint;
    }
  };
  add(dot.b.descriptors, ",l");
  add(dot.a.descriptors, ",l");
  add(asRegisters(b, dot.aRegisters), ",r");
  return buildAsm(b, dotText(dot, accumulators.size()),
                  constraints + ",~{memory}", operands,
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

/// Calls `visit` with the parts of `columns` columns that one instruction each
/// moves: powers of two, up to what ptxas finds neighbouring registers for.
static void forEachPart(int64_t columns,
                        function_ref<void(int64_t, int64_t)> visit) {
  constexpr int64_t kLimit = 32;
  for (int64_t begin = 0; begin < columns;) {
    int64_t count =
        std::min<int64_t>(kLimit, llvm::bit_floor(uint64_t(columns - begin)));
    visit(begin, count);
    begin += count;
  }
}

SmallVector<Value> tlx::buildTensorLoad(LoweringBuilder &b, Value address,
                                        int64_t columns, bool isOfHalves) {
  std::string text, constraints;
  std::string split = isOfHalves ? ", " + std::to_string(columns) : "";
  StringRef shape = isOfHalves ? "16x32bx2" : "32x32b";
  forEachPart(columns, [&](int64_t begin, int64_t count) {
    text += llvm::formatv("tcgen05.ld.sync.aligned.{0}.x{1}.b32 {{{2}}, "
                          "[${3}+{4}]{5}; ",
                          shape, count, numbered("$", begin, count), columns,
                          begin, split);
  });
  for (int64_t i = 0; i < columns; ++i) {
    constraints += "=r,";
  }
  SmallVector<Type> types(columns, b.builder.getI32Type());
  return buildAsm(b, text + "tcgen05.wait::ld.sync.aligned;",
                  constraints + "r,~{memory}", {address}, types);
}

void tlx::buildTensorStore(LoweringBuilder &b, Value address,
                           ArrayRef<Value> registers, bool isOfHalves) {
  SmallVector<Value> all = asRegisters(b, registers);
  std::string split = isOfHalves ? ", " + std::to_string(all.size()) : "";
  StringRef shape = isOfHalves ? "16x32bx2" : "32x32b";
  forEachPart(all.size(), [&](int64_t begin, int64_t count) {
    SmallVector<Value> operands(ArrayRef<Value>(all).slice(begin, count));
    operands.push_back(address);
    std::string constraints;
    for (int64_t i = 0; i < count; ++i) {
      constraints += "r,";
    }
    buildAsm(b,
             llvm::formatv("tcgen05.st.sync.aligned.{0}.x{1}.b32 "
                           "[${1}+{2}]{3}, {{{4}};",
                           shape, count, begin, split, numbered("$", 0, count))
                 .str(),
             constraints + "r,~{memory}", operands, {});
  });
}

void tlx::buildTensorMapPrefetch(LoweringBuilder &b, Value map) {
  buildAsm(b, "prefetch.tensormap [$0];", "l,~{memory}", {map}, {});
}

Value tlx::buildLog2(LoweringBuilder &b, Value x) {
  return buildAsm(b, "lg2.approx.ftz.f32 $0, $1;", "=f,f", {x}, {x.getType()},
                  /*sideEffects=*/false)[0];
}
