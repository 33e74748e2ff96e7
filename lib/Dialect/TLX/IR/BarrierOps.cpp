//===- BarrierOps.cpp - Barrier family: mbarriers and named barriers -*- C++
//-*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// The largest count of arrivals, and of bytes in flight (PTX ISA 9.7.13.15.2).
static constexpr int64_t kMaxCount = (1 << 20) - 1;

LogicalResult tlx::verifyBarrierIndex(Operation *op, MBarrierType type,
                                      Value index) {
  std::optional<int64_t> count = type.getCount().getConstant();
  if (!index && (!count || *count != 1)) {
    return op->emitOpError("expected an index, since ")
           << type << " may be more than one barrier";
  }
  APInt value;
  if (index && count && matchPattern(index, m_ConstantInt(&value)) &&
      (value.isNegative() || value.sge(*count))) {
    return op->emitOpError("expected the index to be from 0 to ")
           << *count - 1 << ", but got " << value.getSExtValue();
  }
  return success();
}

static LogicalResult verifyRange(Operation *op, ExprAttr expr, StringRef what,
                                 int64_t first, int64_t last) {
  std::optional<int64_t> value = expr.getConstant();
  if (value && (*value < first || *value > last)) {
    return op->emitOpError("expected ")
           << what << " to be from " << first << " to " << last << ", but got "
           << *value;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

LogicalResult AllocBarriersOp::verify() {
  return verifyRange(*this, getArrivals(), "'arrivals'", 1, kMaxCount);
}

void AllocBarriersOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), Value(), BarrierAction::Init});
}

LogicalResult BarrierExpectBytesOp::verify() {
  if (failed(verifyBarrierIndex(*this, getBarrier().getType(), getIndex()))) {
    return failure();
  }
  if (getBuffers().empty() == !getBytesAttr()) {
    return emitOpError("expected either buffers or 'bytes'");
  }
  if (getCtaGroupAttr() && getBytesAttr()) {
    return emitOpError(
        "expected 'cta_group' only with buffers, which both CTAs "
        "of a pair have");
  }
  if (failed(verifyCtaGroup(*this, getCtaGroupAttr()))) {
    return failure();
  }
  FailureOr<int64_t> bytes = getExpectedBytes();
  if (succeeded(bytes) && (*bytes < 1 || *bytes > kMaxCount)) {
    return emitOpError("expected from 1 to ")
           << kMaxCount << " bytes, but got " << *bytes;
  }
  return success();
}

FailureOr<int64_t> BarrierExpectBytesOp::getExpectedBytes() {
  if (ExprAttr bytes = getBytesAttr()) {
    std::optional<int64_t> value = bytes.getConstant();
    if (!value) {
      return failure();
    }
    return *value;
  }
  ExprAttr group = getCtaGroupAttr();
  std::optional<int64_t> ctas = group ? group.getConstant() : 1;
  if (!ctas) {
    return failure();
  }
  int64_t sum = 0;
  for (Value buffer : getBuffers()) {
    FailureOr<int64_t> bytes =
        cast<MemDescType>(buffer.getType()).getSizeInBytes();
    if (failed(bytes)) {
      return failure();
    }
    if (llvm::AddOverflow(sum, *bytes, sum)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  if (llvm::MulOverflow(sum, *ctas, sum)) {
    return std::numeric_limits<int64_t>::max();
  }
  return sum;
}

void BarrierExpectBytesOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Expect});
}

LogicalResult BarrierWaitOp::verify() {
  APInt phase;
  if (matchPattern(getPhase(), m_ConstantInt(&phase)) && phase.ugt(1)) {
    return emitOpError("expected the phase to be 0 or 1, but got ")
           << phase.getSExtValue();
  }
  return verifyBarrierIndex(*this, getBarrier().getType(), getIndex());
}

void BarrierWaitOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Wait});
}

LogicalResult BarrierArriveOp::verify() {
  return verifyBarrierIndex(*this, getBarrier().getType(), getIndex());
}

void BarrierArriveOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Arrive});
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

static LogicalResult verifyNamedBarrier(Operation *op, Value id,
                                        ExprAttr threads) {
  APInt value;
  if (matchPattern(id, m_ConstantInt(&value)) && value.ugt(15)) {
    return op->emitOpError("expected the id to be from 0 to 15 (PTX ISA "
                           "9.7.13.1), but got ")
           << value.getSExtValue();
  }
  std::optional<int64_t> count = threads.getConstant();
  if (count && (*count < 32 || *count > 1024 || *count % 32 != 0)) {
    return op->emitOpError("expected 'threads' to be a multiple of 32 from 32 "
                           "to 1024, but got ")
           << *count;
  }
  return success();
}

LogicalResult NamedBarrierWaitOp::verify() {
  return verifyNamedBarrier(*this, getId(), getThreads());
}

LogicalResult NamedBarrierArriveOp::verify() {
  return verifyNamedBarrier(*this, getId(), getThreads());
}

//===----------------------------------------------------------------------===//
// RingOp
//===----------------------------------------------------------------------===//

LogicalResult RingOp::verify() {
  return verifyRange(*this, getStages(), "'stages'", 1, 1024);
}

LogicalResult RingOp::fold(FoldAdaptor adaptor,
                           SmallVectorImpl<OpFoldResult> &results) {
  std::optional<int64_t> stages = getStages().getConstant();
  auto count = dyn_cast_or_null<IntegerAttr>(adaptor.getCount());
  if (!stages || !count || count.getInt() < 0) {
    return failure();
  }
  Type type = getSlot().getType();
  results.push_back(IntegerAttr::get(type, count.getInt() % *stages));
  results.push_back(IntegerAttr::get(type, count.getInt() / *stages % 2));
  return success();
}
