//===- Wgmma.cpp - Matrix products of warpgroups -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.15. Each warp computes its own 16 rows: in hardware the four of a
// warpgroup go together, which is checked.
//
//===----------------------------------------------------------------------===//

#include "WgmmaProduct.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

/// Flags: n in bits 0 to 8, then these.
static constexpr uint64_t kRegistersA = 1 << 9;

static ProductShape getShape(const Instruction &i) {
  ProductShape shape;
  shape.n = unsigned(i.flags & 0x1ff);
  shape.isDescriptorA = !(i.flags & kRegistersA);
  shape.a = i.fromType;
  shape.b = i.type;
  shape.d = parseType(i.flags >> 10 & 1 ? ".f16" : ".f32");
  shape.elementBytes = std::max(1u, unsigned(i.type.bits) / 8);
  shape.k = 32 / shape.elementBytes;
  shape.negA = i[4].value != 1;
  shape.negB = i[5].value != 1;
  size_t next = 6;
  shape.transA = shape.isDescriptorA && !i[next].isSink && i[next].value & 1;
  next += shape.isDescriptorA;
  shape.transB =
      next < i.arguments.size() && !i[next].isSink && (i[next].value & 1);
  return shape;
}

/// The 16 rows of a warp out of its registers (PTX ISA 9.7.15.5.1.1).
static std::vector<uint32_t> collectOperand(Warp &warp, const Argument &a,
                                            const ProductShape &shape) {
  std::vector<uint32_t> elements(size_t(16) * shape.k, 0);
  unsigned perRegister = 4 / shape.elementBytes, bits = shape.elementBytes * 8;
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned reg = 0; reg < 4; ++reg) {
      auto value = uint32_t(warp.get(a.parts[reg], lane));
      for (unsigned e = 0; e < perRegister; ++e) {
        unsigned row = lane / 4 + 8 * (reg % 2);
        unsigned k = perRegister * (lane % 4) + e + 4 * perRegister * (reg / 2);
        uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
        elements[row * shape.k + k] = value >> (e * bits) & mask;
      }
    }
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

static void checkDescriptor(Warp &warp, uint64_t bits) {
  constexpr uint64_t kReserved = (uint64_t(3) << 14) | (uint64_t(3) << 30) |
                                 (uint64_t(7) << 46) | (uint64_t(0x3ff) << 52);
  if (bits & kReserved) {
    warp.fault(Fault::Illegal, "expects a matrix descriptor of sm_90a, whose "
                               "reserved bits are zero, but got " +
                                   toHex(bits));
  }
}

/// The warps of a warpgroup execute the same products in the same order.
static void checkWarpgroup(Warp &warp, const Product &product) {
  auto &products = warp.cta.products[warp.indexInCta / 4];
  std::array<uint64_t, 3> mine = {warp.getLine(), product.descriptorA,
                                  product.descriptorB};
  uint64_t number = warp.numProducts++;
  if (number == products.size()) {
    products.push_back(mine);
  } else if (products[number] != mine) {
    warp.fault(Fault::Convergence,
               "expects the warps of a warpgroup to execute the same product "
               "with the same descriptors");
  }
}

/// A wgmma.fence has to come before the first product, and between ordinary
/// accesses and a product of the same registers (9.7.15.7.1). Reading A twice
/// does no harm.
static void checkFence(Warp &warp, llvm::ArrayRef<uint32_t> registers,
                       bool isAccumulator) {
  for (uint32_t reg : registers) {
    bool isWritten = warp.writtenAt[reg] > warp.fencedAt;
    bool isRead = isAccumulator && warp.readAt[reg] > warp.fencedAt;
    if (isWritten || isRead) {
      warp.fault(Fault::MissingFence,
                 "uses '" + warp.machine.code.function->registers[reg].name +
                     "', which has been " + (isWritten ? "written" : "read") +
                     " since the last wgmma.fence");
      return;
    }
  }
  if (warp.fencedAt == 0) {
    warp.fault(Fault::MissingFence,
               "expects a wgmma.fence before the first product");
  }
}

static llvm::SmallVector<uint32_t, 0> getRegisters(const Argument &argument) {
  llvm::SmallVector<uint32_t, 0> registers;
  for (const Argument &part : argument.parts) {
    if (part.isRegister()) {
      registers.push_back(part.reg);
    }
  }
  return registers;
}

static void runProduct(Warp &warp, const Instruction &i, uint32_t) {
  auto product = std::make_shared<Product>();
  product->shape = getShape(i);
  product->accumulators = getRegisters(i[0]);
  product->firstRow = warp.indexInCta % 4 * 16;
  product->descriptorB = getUniform(warp, i[2], "descriptor");
  product->accumulates =
      i[3].isRegister() ? warp.getPredicate(i[3], 0) : i[3].value != 0;
  checkDescriptor(warp, product->descriptorB);
  checkFence(warp, product->accumulators, true);
  llvm::SmallVector<uint32_t, 0> operands;
  if (product->shape.isDescriptorA) {
    product->descriptorA = getUniform(warp, i[1], "descriptor");
    checkDescriptor(warp, product->descriptorA);
  } else {
    operands = getRegisters(i[1]);
    checkFence(warp, operands, false);
    product->a = collectOperand(warp, i[1], product->shape);
  }
  checkWarpgroup(warp, *product);
  uint32_t time = warp.time;
  AsyncWorkRef work = warp.machine.issue(
      warp, 0,
      {[product, &warp](AsyncWork &work) { multiply(warp, work, *product); }});
  work->epoch = {warp.machine.getNumWarps() + warp.index, time};
  if (warp.lastProduct && !warp.lastProduct->isDone()) {
    work->previous = warp.lastProduct;
  }
  warp.lastProduct = work;
  WgmmaGroup &group = warp.openGroup;
  group.work.push_back(work);
  for (uint32_t reg : product->accumulators) {
    warp.inFlight[reg] |= 1;
    group.accumulators.push_back(reg);
  }
  for (uint32_t reg : operands) {
    warp.inFlight[reg] |= 2;
    group.operands.push_back(reg);
  }
  warp.anyInFlight = true;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

static void runFence(Warp &warp, const Instruction &, uint32_t) {
  warp.fencedAt = warp.writes++;
}

static void runCommit(Warp &warp, const Instruction &, uint32_t) {
  warp.wgmmaGroups.push_back(std::move(warp.openGroup));
  warp.openGroup = {};
}

static void markFlight(Warp &warp) {
  auto mark = [&](const WgmmaGroup &group, uint8_t accumulator,
                  uint8_t operand) {
    for (uint32_t reg : group.accumulators) {
      warp.inFlight[reg] |= accumulator;
    }
    for (uint32_t reg : group.operands) {
      warp.inFlight[reg] |= operand;
    }
  };
  for (const WgmmaGroup &group : warp.wgmmaGroups) {
    mark(group, 1, 2);
  }
  mark(warp.openGroup, 1, 2);
  warp.anyInFlight = !warp.wgmmaGroups.empty() || !warp.openGroup.work.empty();
}

static void runWait(Warp &warp, const Instruction &i, uint32_t) {
  uint64_t pending = i[0].value;
  auto isTrue = [=, &warp] {
    const auto &groups = warp.wgmmaGroups;
    for (size_t g = 0; g + pending < groups.size(); ++g) {
      if (!groups[g].isDone()) {
        return false;
      }
    }
    return true;
  };
  if (!isTrue()) {
    Condition condition;
    condition.isTrue = isTrue;
    condition.describe = [] { return std::string("products in flight"); };
    warp.retry(std::move(condition));
    return;
  }
  while (warp.wgmmaGroups.size() > pending) {
    const WgmmaGroup &group = warp.wgmmaGroups.front();
    for (const AsyncWorkRef &work : group.work) {
      warp.knowledge.advance(work->epoch);
    }
    for (const auto *registers : {&group.accumulators, &group.operands}) {
      for (uint32_t reg : *registers) {
        warp.inFlight[reg] = 0;
      }
    }
    warp.wgmmaGroups.pop_front();
  }
  markFlight(warp);
}

static Run chooseProduct(const Match &match, Instruction &i,
                         std::string &error) {
  unsigned n = 0;
  llvm::StringRef shape = match.modifiers[3];
  shape.substr(5).split('k').first.getAsInteger(10, n);
  bool isF16 = match.modifiers[4] == ".f16";
  size_t registers = isF16 ? n / 4 : n / 2;
  bool fromRegisters = !i[1].parts.empty();
  i.fromType = parseType(match.modifiers[5]);
  i.flags = n | (fromRegisters ? kRegistersA : 0) | uint64_t(isF16) << 10;
  i.usesFlight = true;
  if (i[0].parts.size() != registers) {
    error = "expected " + std::to_string(registers) +
            " accumulators, but got " + std::to_string(i[0].parts.size());
    return nullptr;
  }
  if (fromRegisters && i[1].parts.size() != 4) {
    error = "expected 4 registers of A, but got " +
            std::to_string(i[1].parts.size());
    return nullptr;
  }
  for (size_t k : {4, 5}) {
    if (i[k].value != 1 && i[k].value != ~uint64_t(0)) {
      error = "expected 1 or -1 as the sign of an operand";
      return nullptr;
    }
  }
  for (const Argument &part : i[0].parts) {
    if (!part.isRegister()) {
      error = "expected registers as accumulators";
      return nullptr;
    }
  }
  return runProduct;
}

void mlir::jfa::emu::registerWgmma(OpcodeTable &table) {
  auto shapes = [](const char *k) {
    std::string text = ".mma_async.sync.aligned(";
    for (unsigned n = 8; n <= 256; n += 8) {
      text += (n > 8 ? "|.m64n" : ".m64n") + std::to_string(n) + k;
    }
    return text + ")";
  };
  const char *operands = "D32 S0 s64 sp i i i? i?";
  const std::pair<std::string, const char *> forms[] = {
      {shapes("k16"), "(.f32|.f16).f16.f16"},
      {shapes("k16"), ".f32.bf16.bf16"},
      {shapes("k8"), ".f32.tf32.tf32"},
      {shapes("k32"), "(.f32|.f16)(.e4m3|.e5m2)(.e4m3|.e5m2)"}};
  for (const auto &[shape, types] : forms) {
    table.add("wgmma", {shape + types, operands, chooseProduct, true, true,
                        Architecture::Hopper});
  }
  auto add = [&](const char *pattern, const char *arguments, Run run,
                 bool isVisible) {
    table.add("wgmma", {pattern, arguments,
                        [run](const Match &, Instruction &, std::string &) {
                          return run;
                        },
                        isVisible, true, Architecture::Hopper});
  };
  add(".fence.sync.aligned", "", runFence, false);
  add(".commit_group.sync.aligned", "", runCommit, false);
  add(".wait_group.sync.aligned", "i", runWait, true);
}
