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
static constexpr uint64_t kAInTensor = 2, kMask = 4, kStationary = 8,
                          kKindShift = 8, kScalesShift = 12;

static bool fail(Warp &warp, const std::string &text) {
  warp.fault(Fault::Illegal, text);
  return false;
}

static bool readDescriptor(Warp &warp, uint64_t bits, const char *operand,
                           bool isMN, const TensorProduct &product,
                           MatrixDescriptor &descriptor) {
  std::string wrong = MatrixDescriptor::makeBlackwell(bits, descriptor);
  if (wrong.empty() && isMN) {
    bool isWide = product.shape.elementBits == 32;
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
  // In fourths and halves all lanes are used.
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
  if (product.shape.a->getBits() < 8 && product.shape.elementBits == 8) {
    warp.fault(Fault::Unsupported,
               "A in tensor memory of a type of less than 8 bits is not "
               "supported");
    return false;
  }
  if (product.form.isStationary && product.shape.m != 128) {
    warp.fault(Fault::Unsupported,
               "A in tensor memory with .ws and M other than 128 is not "
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
  TensorForm &form = product->form;
  form.kind = TensorKind(i.flags >> kKindShift & 15);
  form.isPair = i.flags & kPair;
  form.isStationary = i.flags & kStationary;
  form.scales = unsigned(i.flags >> kScalesShift & 7);
  product->isAInTensor = i.flags & kAInTensor;
  product->d = uint32_t(warp.getAddress(i[0], lane));
  std::string wrong =
      decodeInstruction(uint32_t(warp.get(i[3], lane)), form, product->shape);
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
  if (form.isPair) {
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
         product.shape.n << 1 | uint64_t(product.form.isPair);
}

static void runProduct(Warp &warp, const Instruction &i, uint32_t lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    std::shared_ptr<TensorProduct> product = makeProduct(warp, i, lane);
    if (!product) {
      return;
    }
    size_t next = 4;
    if (product->form.scales) {
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

/// Scales of one row that an instruction uses at once.
static unsigned countScales(const Match &match, TensorKind kind) {
  if (kind == TensorKind::MXF8F6F4) {
    return 1;
  }
  return match.has(".scale_vec::4X") || match.has(".block16") ? 4 : 2;
}

namespace {
/// A family of forms of products.
struct ProductForms {
  /// From `.mma` to what caches may keep.
  std::string pattern;
  TensorKind kind;
  uint64_t flags = 0;
  bool isScaled = false;
  /// Whether lanes can be left out, and whether D can be scaled.
  bool allowsMask = true, allowsScaleD = false;
  Architecture architecture = Architecture::Blackwell;
};
} // namespace

static void addProducts(OpcodeTable &table, const ProductForms &forms) {
  for (bool isAInTensor : {false, true}) {
    for (bool hasMask : {false, true}) {
      if (hasMask && !forms.allowsMask) {
        continue;
      }
      std::string operands = std::string("m ") + (isAInTensor ? "m" : "s64") +
                             " s64 s32" + (forms.isScaled ? " m m" : "") +
                             (hasMask ? " S32" : "") + " sp" +
                             (forms.allowsScaleD ? " i?" : "");
      uint64_t flags = (isAInTensor ? kAInTensor : 0) | (hasMask ? kMask : 0) |
                       forms.flags | uint64_t(forms.kind) << kKindShift;
      auto set = [=](const Match &match, Instruction &i, std::string &error) {
        i.flags |= flags;
        if (forms.isScaled) {
          i.flags |= uint64_t(countScales(match, forms.kind)) << kScalesShift;
        }
        size_t wanted = i.flags & kPair ? 8 : 4;
        if (hasMask && i[4].parts.size() != wanted) {
          error = "expected " + std::to_string(wanted) +
                  " registers of lanes that are not written";
          return false;
        }
        const Argument &scale = i.arguments.back();
        if (forms.allowsScaleD && !scale.isSink && scale.value > 15) {
          error = "expected a scale of D from 0 to 15, but got " +
                  std::to_string(scale.value);
          return false;
        }
        return true;
      };
      addTcgen05(table, forms.pattern, operands.c_str(), runProduct, false, set,
                 forms.architecture);
    }
  }
}

static void addKind(OpcodeTable &table, const char *name, TensorKind kind) {
  ProductForms forms;
  forms.kind = kind;
  forms.allowsScaleD = kind == TensorKind::F16 || kind == TensorKind::TF32;
  if (kind == TensorKind::I8) {
    forms.architecture = Architecture::BlackwellOnly;
  }
  forms.pattern =
      std::string(".mma(.cta_group::1|.cta_group::2).kind::") + name +
      "{.collector::a::fill|.collector::a::use|.collector::a::lastuse|"
      ".collector::a::discard}";
  addProducts(table, forms);
  // With B in the collector (PTX ISA 9.7.16.10.9.3).
  std::string buffers;
  for (const char *buffer : {"b0", "b1", "b2", "b3"}) {
    for (const char *use : {"fill", "use", "lastuse", "discard"}) {
      buffers += std::string(buffers.empty() ? "{" : "|") +
                 ".collector::" + buffer + "::" + use;
    }
  }
  forms.pattern =
      std::string(".mma.ws.cta_group::1.kind::") + name + buffers + "}";
  forms.flags = kStationary;
  forms.allowsMask = forms.allowsScaleD = false;
  addProducts(table, forms);
}

static void addScaledKind(OpcodeTable &table, const char *pattern,
                          TensorKind kind, Architecture architecture) {
  ProductForms forms;
  forms.kind = kind;
  forms.isScaled = true;
  forms.allowsMask = false;
  forms.architecture = architecture;
  forms.pattern =
      std::string(".mma(.cta_group::1|.cta_group::2).kind::") + pattern +
      "{.collector::a::fill|.collector::a::use|.collector::a::lastuse|"
      ".collector::a::discard}";
  addProducts(table, forms);
}

void mlir::jfa::emu::registerTcgen05MMA(OpcodeTable &table) {
  addKind(table, "f16", TensorKind::F16);
  addKind(table, "tf32", TensorKind::TF32);
  addKind(table, "f8f6f4", TensorKind::F8F6F4);
  addKind(table, "i8", TensorKind::I8);
  // sm_100f has blocks only, sm_100a numbers of scales too.
  auto family = Architecture::Blackwell, one = Architecture::BlackwellOnly;
  addScaledKind(table, "mxf8f6f4.block_scale{.block32}", TensorKind::MXF8F6F4,
                family);
  addScaledKind(table, "mxf8f6f4.block_scale.scale_vec::1X",
                TensorKind::MXF8F6F4, one);
  addScaledKind(table, "mxf4.block_scale{.block32}", TensorKind::MXF4, family);
  addScaledKind(table, "mxf4.block_scale.scale_vec::2X", TensorKind::MXF4, one);
  addScaledKind(table, "mxf4nvf4.block_scale(.block16|.block32)",
                TensorKind::MXF4NVF4, family);
  addScaledKind(table, "mxf4nvf4.block_scale(.scale_vec::2X|.scale_vec::4X)",
                TensorKind::MXF4NVF4, one);
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
