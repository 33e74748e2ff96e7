//===- TMAOps.cpp - TMA family: asynchronous copies -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpAssembly.h"
#include "OpVerification.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static LogicalResult verifyCoordinates(Operation *op, TensorMapType map,
                                       ValueRange coordinates, Value start,
                                       Value length) {
  if (static_cast<int64_t>(coordinates.size()) != map.getRank()) {
    return op->emitOpError("expected one coordinate for each of the ")
           << map.getRank() << " axes of " << map << ", but got "
           << coordinates.size();
  }
  if (!start != !length) {
    return op->emitOpError("expected a segment's start and length together");
  }
  if (bool(start) != map.getRagged()) {
    return op->emitOpError("expected ")
           << (map.getRagged() ? "a" : "no") << " segment, since " << map
           << " is " << (map.getRagged() ? "" : "not ") << "ragged";
  }
  return success();
}

/// The buffer is the box without its unit extents.
static LogicalResult verifyBox(Operation *op, TensorMapType map,
                               MemDescType buffer) {
  if (buffer.getTransposed() || !buffer.getAllocShape().empty()) {
    return op->emitOpError("expected a whole tile, since a copy writes it as "
                           "one, but got ")
           << buffer;
  }
  SmallVector<ExprAttr> box;
  for (ExprAttr extent : map.getTile()) {
    if (extent.getConstant() != std::optional<int64_t>(1)) {
      box.push_back(extent);
    }
  }
  if (ArrayRef(box) != buffer.getShape() ||
      map.getElement() != buffer.getElement()) {
    return op->emitOpError("expected a buffer of the extents (other than 1) "
                           "and element of ")
           << map << ", but got " << buffer;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Cache hints
//===----------------------------------------------------------------------===//

ParseResult tlx::parseCacheHint(OpAsmParser &parser, CacheHintAttr &hint) {
  FailureOr<CacheHint> value = FieldParser<CacheHint, CacheHint>::parse(parser);
  if (failed(value)) {
    return failure();
  }
  hint = CacheHintAttr::get(parser.getContext(), *value);
  return success();
}

void tlx::printCacheHint(OpAsmPrinter &printer, Operation *,
                         CacheHintAttr hint) {
  printer << stringifyCacheHint(hint.getValue());
}

//===----------------------------------------------------------------------===//
// AsyncDescriptorLoadOp
//===----------------------------------------------------------------------===//

LogicalResult AsyncDescriptorLoadOp::verify() {
  std::optional<int64_t> count =
      getBarrier().getType().getCount().getConstant();
  if (!getIndex() && (!count || *count != 1)) {
    return emitOpError("expected the barrier to have an index, since ")
           << getBarrier().getType() << " may be more than one barrier";
  }
  if (failed(verifyCtaGroup(*this, getCtaGroupAttr()))) {
    return failure();
  }
  if (isOfPair() && getMulticast()) {
    return emitOpError("expected either 'multicast' or the 'cta_group' of a "
                       "pair, each CTA of which copies its own part");
  }
  return success(
      succeeded(verifyCoordinates(*this, getMap().getType(), getCoordinates(),
                                  getSegmentStart(), getSegmentLength())) &&
      succeeded(
          verifyBox(*this, getMap().getType(), getDestination().getType())) &&
      (!getMulticast() || succeeded(verifyMask(*this, getMulticast()))));
}

std::optional<TargetFeature> AsyncDescriptorLoadOp::getRequiredFeature() {
  return isOfPair() ? std::optional(TargetFeature::CtaPair) : std::nullopt;
}

LogicalResult AsyncDescriptorLoadOp::canonicalize(AsyncDescriptorLoadOp op,
                                                  PatternRewriter &rewriter) {
  return dropOwnMulticast(op, rewriter);
}

AsyncIssuer AsyncDescriptorLoadOp::getIssuer() {
  return AsyncIssuer::OneThread;
}

AsyncCompletion AsyncDescriptorLoadOp::getCompletion() {
  return AsyncCompletion::Barrier;
}

void AsyncDescriptorLoadOp::getBufferAccesses(
    SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back(
      {&getDestinationMutable(), /*isWrite=*/true, Proxy::Async});
}

void AsyncDescriptorLoadOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Deliver});
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

template <typename Op>
static LogicalResult verifyWrite(Op op) {
  return success(succeeded(verifyCoordinates(
                     op, op.getMap().getType(), op.getCoordinates(),
                     op.getSegmentStart(), op.getSegmentLength())) &&
                 succeeded(verifyBox(op, op.getMap().getType(),
                                     op.getSource().getType())));
}

LogicalResult AsyncDescriptorStoreOp::verify() { return verifyWrite(*this); }

AsyncIssuer AsyncDescriptorStoreOp::getIssuer() {
  return AsyncIssuer::OneThread;
}

AsyncCompletion AsyncDescriptorStoreOp::getCompletion() {
  return AsyncCompletion::StoreGroup;
}

void AsyncDescriptorStoreOp::getBufferAccesses(
    SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getSourceMutable(), /*isWrite=*/false, Proxy::Async});
}

LogicalResult AsyncDescriptorReduceOp::verify() {
  Type element = getMap().getType().getElementType();
  if (element && !element.isF32() && !element.isBF16() && !element.isF16()) {
    return emitOpError("expected elements that TMA can add (f32, f16 or bf16, "
                       "PTX ISA 9.7.9.27), but got ")
           << element;
  }
  return verifyWrite(*this);
}

AsyncIssuer AsyncDescriptorReduceOp::getIssuer() {
  return AsyncIssuer::OneThread;
}

AsyncCompletion AsyncDescriptorReduceOp::getCompletion() {
  return AsyncCompletion::StoreGroup;
}

void AsyncDescriptorReduceOp::getBufferAccesses(
    SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getSourceMutable(), /*isWrite=*/false, Proxy::Async});
}

LogicalResult AsyncDescriptorStoreWaitOp::verify() {
  int32_t pending = getPending();
  if (pending < 0 || pending > 63) {
    return emitOpError("expected 'pending' to be from 0 to 63, but got ")
           << pending;
  }
  return success();
}

LogicalResult AsyncDescriptorPrefetchOp::verify() {
  return verifyCoordinates(*this, getMap().getType(), getCoordinates(),
                           getSegmentStart(), getSegmentLength());
}
