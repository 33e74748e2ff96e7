//===- Tcgen05MMA.cpp - Products are issued, and their end -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 9.7.16.10 and 9.7.16.12. One thread issues a product, which reads its
// operands, then writes D, then is done; tcgen05.commit makes the end of all
// that its thread has issued arrive at an mbarrier.
//
//===----------------------------------------------------------------------===//

#include "Tcgen05.h"
#include "Tcgen05Product.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

bool emu::checkRunning(Machine &machine, const AsyncWork &work,
                       const Cta &cta) {
  for (const auto &warp : machine.warps) {
    if (&warp->cta == &cta && !warp->isFinished()) {
      return true;
    }
  }
  machine.fault(Fault::Illegal, work.line,
                "an operation of warp " + std::to_string(work.warp) +
                    " uses the memory of CTA " + std::to_string(cta.rank) +
                    " of the cluster, which has ended");
  return false;
}

void emu::reachAll(Warp &warp, const AsyncWorkRef &work,
                   llvm::ArrayRef<Cta *> ctas) {
  for (Cta *cta : ctas) {
    warp.machine.reach(warp, cta->rank, work->epoch);
  }
}

/// The chains that work of a kind follows.
static llvm::SmallVector<uint64_t, 3> getFollowed(TensorWork kind,
                                                  uint64_t chain) {
  constexpr uint64_t kCopies = 1, kShifts = 2;
  switch (kind) {
  case TensorWork::Copy:
    return {kCopies, kShifts};
  case TensorWork::Shift:
    return {kShifts};
  case TensorWork::Product:
    break;
  }
  return {3 + chain, kCopies, kShifts};
}

AsyncWorkRef emu::issueTensorWork(Warp &warp, unsigned lane,
                                  llvm::ArrayRef<AsyncWork::Stage> stages,
                                  TensorWork kind, uint64_t chain) {
  TensorQueue &queue = warp.tensorQueues[lane];
  AsyncWorkRef work = warp.machine.issue(warp, lane, stages);
  work->tensorKnowledge.happened = warp.tensorVisible;
  llvm::SmallVector<uint64_t, 3> followed = getFollowed(kind, chain);
  if (warp.machine.options.fences == Fences::Hardware) {
    followed = {0};
  } else if (kind == TensorWork::Shift) {
    for (const auto &[other, epoch] : queue.chains) {
      followed.push_back(other);
    }
  }
  for (uint64_t other : followed) {
    work->tensorKnowledge.happened.advance(queue.chains[other]);
  }
  Epoch &last = queue.chains[followed[0]];
  work->epoch = warp.machine.continueChain(work, last);
  last = work->epoch;
  // It may read what it has just written.
  work->tensorKnowledge.happened.advance(work->epoch);
  if (queue.last && !queue.last->isDone()) {
    work->previous = queue.last;
    work->startsLast = queue.isLastCopy || kind != TensorWork::Product;
  }
  queue.last = work;
  queue.isLastCopy = kind != TensorWork::Product;
  queue.ends.join(work->knowledge);
  queue.ends.advance(work->epoch);
  return work;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Flags: kPair, then these.
static constexpr uint64_t kAInTensor = 2, kMask = 4, kKindShift = 8;

static bool fail(Warp &warp, const std::string &text) {
  warp.fault(Fault::Illegal, text);
  return false;
}

static bool readDescriptor(Warp &warp, uint64_t bits, const char *operand,
                           bool isMN, const TensorProduct &product,
                           MatrixDescriptor &descriptor) {
  std::string wrong = MatrixDescriptor::makeBlackwell(bits, descriptor);
  if (wrong.empty() && isMN) {
    bool isWide = product.shape.getElementBytes() == 4;
    if (isWide != descriptor.hasWideAtom) {
      wrong = isWide
                  ? "of swizzle 1 (128 bytes in units of 32), as tf32 has it "
                    "unless k is contiguous"
                  : "of another swizzle than 1, which is for tf32";
    }
  } else if (wrong.empty() && descriptor.hasWideAtom) {
    wrong = "of another swizzle than 1 where k is contiguous";
  }
  return wrong.empty() ||
         fail(warp, std::string("expects a matrix descriptor of ") + operand +
                        " " + wrong + ", but got " + toHex(bits));
}

/// Where D and A lie (PTX ISA 9.7.16.10.5).
static bool checkPlaces(Warp &warp, const TensorProduct &product) {
  bool isQuarters = product.getLayout() == AccumulatorLayout::Quarters;
  uint32_t lane = getTensorLane(product.d);
  if (lane != 0 && !(isQuarters && lane == 16)) {
    return fail(warp, std::string("expects D at lane 0") +
                          (isQuarters ? " or 16" : "") + ", but got lane " +
                          std::to_string(lane));
  }
  if (product.isAInTensor && getTensorLane(product.addressA) != lane) {
    return fail(warp, "expects A at the same lane as D, " +
                          std::to_string(lane) + ", but got lane " +
                          std::to_string(getTensorLane(product.addressA)));
  }
  return true;
}

static bool checkTensorOperand(Warp &warp, const TensorProduct &product) {
  const Format &format = *product.shape.a;
  if (1 + format.exponentBits + format.fractionBits < 8) {
    warp.fault(Fault::Unsupported,
               "A in tensor memory of a type of less than 8 bits is not "
               "supported");
    return false;
  }
  return !product.shape.isMNA ||
         fail(warp, "expects A in tensor memory with k contiguous (bit 15 of "
                    "the instruction descriptor is 0)");
}

/// The operands of one thread's product; null after a finding.
static std::shared_ptr<TensorProduct>
makeProduct(Warp &warp, const Instruction &i, unsigned lane) {
  auto product = std::make_shared<TensorProduct>();
  product->kind = TensorKind(i.flags >> kKindShift & 3);
  product->isPair = i.flags & kPair;
  product->isAInTensor = i.flags & kAInTensor;
  product->d = uint32_t(warp.getAddress(i[0], lane));
  std::string wrong =
      decodeInstruction(uint32_t(warp.get(i[3], lane)), product->kind,
                        product->isPair, product->shape);
  if (!wrong.empty()) {
    fail(warp, "expects an instruction descriptor " + wrong);
    return nullptr;
  }
  const InstructionDescriptor &shape = product->shape;
  bool isGood = readDescriptor(warp, warp.get(i[2], lane), "B", shape.isMNB,
                               *product, product->b);
  if (product->isAInTensor) {
    product->addressA = uint32_t(warp.getAddress(i[1], lane));
    isGood = isGood && checkTensorOperand(warp, *product);
  } else {
    isGood = isGood && readDescriptor(warp, warp.get(i[1], lane), "A",
                                      shape.isMNA, *product, product->a);
  }
  if (!isGood || !checkPlaces(warp, *product)) {
    return nullptr;
  }
  product->ctas = {&warp.cta};
  if (product->isPair) {
    Cta *peer = findPeer(warp);
    if (!peer) {
      return nullptr;
    }
    product->ctas.insert(
        warp.cta.rank & 1 ? product->ctas.begin() : product->ctas.end(), peer);
  }
  return product;
}

/// Products on the same accumulator and of the same shape follow each other.
static uint64_t getChain(const TensorProduct &product) {
  return uint64_t(product.d) << 24 | uint64_t(product.shape.m) << 12 |
         product.shape.n << 1 | uint64_t(product.isPair);
}

static void runProduct(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    std::shared_ptr<TensorProduct> product = makeProduct(warp, i, lane);
    if (!product) {
      return;
    }
    size_t next = 4;
    if (product->kind == TensorKind::MXF8F6F4) {
      product->scaleA = uint32_t(warp.getAddress(i[next++], lane));
      product->scaleB = uint32_t(warp.getAddress(i[next++], lane));
    }
    if (i.flags & kMask) {
      const Argument &mask = i[next++];
      for (size_t k = 0; k < mask.parts.size(); ++k) {
        product->disabled[k] = uint32_t(warp.get(mask.parts[k], lane));
      }
    }
    const Argument &accumulates = i[next++];
    product->accumulates = accumulates.isRegister()
                               ? warp.getPredicate(accumulates, lane)
                               : accumulates.value != 0;
    product->scaleD = next < i.arguments.size() && !i[next].isSink
                          ? unsigned(i[next].value)
                          : 0;
    Machine &machine = warp.machine;
    AsyncWorkRef work =
        issueTensorWork(warp, lane,
                        {[=, &machine](AsyncWork &work) {
                           readSources(machine, work, *product);
                         },
                         [=, &machine](AsyncWork &work) {
                           writeProduct(machine, work, *product);
                         }},
                        TensorWork::Product, getChain(*product));
    reachAll(warp, work, product->ctas);
  });
}

//===----------------------------------------------------------------------===//
// Commit
//===----------------------------------------------------------------------===//

/// Flags: kPair, then whether the address is of shared::cluster.
static constexpr uint64_t kSharedAddress = 2, kMulticast = 4;

static void runCommit(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    uint64_t address = warp.getAddress(i[0], lane);
    uint64_t generic = i.flags & kSharedAddress
                           ? kSharedWindow + (address & 0xffffffff)
                           : address;
    llvm::SmallVector<uint64_t, 2> targets = {generic};
    if (i.flags & kMulticast) {
      targets.clear();
      uint64_t mask = warp.get(i[1], lane) & 0xffff;
      uint64_t offset = generic & ((uint64_t(1) << kRankShift) - 1);
      for (uint64_t rank = 0; rank < 16; ++rank) {
        if (mask >> rank & 1) {
          targets.push_back(kSharedWindow + (rank << kRankShift) + offset);
        }
      }
    }
    TensorQueue &queue = warp.tensorQueues[lane];
    Machine &machine = warp.machine;
    // What precedes the arrival is more than what it makes known.
    Knowledge ends = queue.ends;
    ends.preceded.join(warp.know().preceded);
    AsyncWorkRef work =
        machine.issue(warp, lane, {[=, &machine](AsyncWork &work) {
                        for (uint64_t target : targets) {
                          arriveOnce(machine, work, target, ends);
                        }
                      }});
    if (queue.last && !queue.last->isDone()) {
      work->previous = queue.last;
      work->startsLast = true;
    }
  });
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static void addProducts(OpcodeTable &table, const std::string &kind,
                        TensorKind code, const std::string &more) {
  const std::string pattern =
      ".mma(.cta_group::1|.cta_group::2)" + kind +
      "{.collector::a::fill|.collector::a::use|.collector::a::lastuse|"
      ".collector::a::discard}";
  bool isScaled = code == TensorKind::MXF8F6F4;
  for (bool isAInTensor : {false, true}) {
    for (bool hasMask : {false, true}) {
      if (hasMask && isScaled) {
        continue;
      }
      std::string operands = std::string("m ") + (isAInTensor ? "m" : "s64") +
                             " s64 s32" + (isScaled ? " m m" : "") +
                             (hasMask ? " S32" : "") + " sp" + more;
      uint64_t flags = (isAInTensor ? kAInTensor : 0) | (hasMask ? kMask : 0) |
                       uint64_t(code) << kKindShift;
      addTcgen05(table, pattern, operands.c_str(), runProduct, false,
                 [=](const Match &, Instruction &i, std::string &error) {
                   i.flags |= flags;
                   size_t wanted = i.flags & kPair ? 8 : 4;
                   if (hasMask && i[4].parts.size() != wanted) {
                     error = "expected " + std::to_string(wanted) +
                             " registers of lanes that are not written";
                     return false;
                   }
                   const Argument &scale = i.arguments.back();
                   if (!more.empty() && !scale.isSink && scale.value > 15) {
                     error = "expected a scale of D from 0 to 15, but got " +
                             std::to_string(scale.value);
                     return false;
                   }
                   return true;
                 });
    }
  }
}

void mlir::jfa::emu::registerTcgen05MMA(OpcodeTable &table) {
  addProducts(table, ".kind::f16", TensorKind::F16, " i?");
  addProducts(table, ".kind::tf32", TensorKind::TF32, " i?");
  addProducts(table, ".kind::f8f6f4", TensorKind::F8F6F4, "");
  addProducts(table, ".kind::mxf8f6f4.block_scale{.scale_vec::1X|.block32}",
              TensorKind::MXF8F6F4, "");
  const std::string commit =
      ".commit(.cta_group::1|.cta_group::2).mbarrier::arrive::one"
      "{.shared::cluster}";
  auto setCommit = [](const Match &match, Instruction &i, std::string &) {
    i.flags |= (match.has(".shared::cluster") ? kSharedAddress : 0) |
               (match.has(".multicast::cluster") ? kMulticast : 0);
    return true;
  };
  addTcgen05(table, commit + ".b64", "m", runCommit, false, setCommit);
  addTcgen05(table, commit + ".multicast::cluster.b64", "m s0", runCommit,
             false, setCommit);
}
