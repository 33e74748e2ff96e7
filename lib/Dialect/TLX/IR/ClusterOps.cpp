//===- ClusterOps.cpp - Cluster family: CTAs that work together -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

/// 32-bit words of a response of cluster launch control.
static constexpr int64_t kResponseWords = 4;

//===----------------------------------------------------------------------===//
// What ops of several families say of clusters
//===----------------------------------------------------------------------===//

std::optional<int64_t> KernelOp::getClusterSize() {
  ExprAttr cluster = getClusterAttr();
  return cluster ? cluster.getConstant() : 1;
}

LogicalResult tlx::verifyInCluster(Operation *op) {
  // A helper is checked where it is inlined.
  auto kernel = op->getParentOfType<KernelOp>();
  if (!kernel || kernel.getClusterAttr()) {
    return success();
  }
  InFlightDiagnostic diag =
      op->emitOpError("expected a kernel with clusters, since it is about the "
                      "other CTAs of one");
  diag.attachNote(kernel.getLoc()) << "'cluster(n)' after the arguments of '"
                                   << kernel.getSymName() << "' makes them";
  return diag;
}

LogicalResult tlx::verifyMask(Operation *op, Value mask) {
  if (failed(verifyInCluster(op))) {
    return failure();
  }
  auto kernel = op->getParentOfType<KernelOp>();
  std::optional<int64_t> size = kernel ? kernel.getClusterSize() : std::nullopt;
  APInt value;
  if (!size || !matchPattern(mask, m_ConstantInt(&value))) {
    return success();
  }
  int64_t last = (int64_t(1) << *size) - 1;
  if (value.isZero() || value.ugt(static_cast<uint64_t>(last))) {
    InFlightDiagnostic diag = op->emitOpError("expected a mask from 1 to ")
                              << last << ", a bit for each of the " << *size
                              << " CTAs of a cluster, but got "
                              << value.getZExtValue();
    diag.attachNote(kernel.getLoc()) << "the cluster's size is given here";
    return diag;
  }
  return success();
}

LogicalResult tlx::verifyCtaGroup(Operation *op, ExprAttr group) {
  std::optional<int64_t> ctas = group ? group.getConstant() : 1;
  if (ctas == std::optional<int64_t>(1)) {
    return success();
  }
  if (ctas && *ctas != 2) {
    return op->emitOpError("expected 'cta_group' to be 1 or 2 (PTX ISA "
                           "9.7.16.5), but got ")
           << *ctas;
  }
  if (failed(verifyInCluster(op))) {
    return failure();
  }
  auto kernel = op->getParentOfType<KernelOp>();
  std::optional<int64_t> size = kernel ? kernel.getClusterSize() : std::nullopt;
  if (!ctas || !size || *size % 2 == 0) {
    return success();
  }
  InFlightDiagnostic diag =
      op->emitOpError("expected a cluster of 2, 4 or 8 CTAs, since two whose "
                      "ranks differ in the lowest bit make a pair (PTX ISA "
                      "9.7.16.5.1), but got ")
      << *size;
  diag.attachNote(kernel.getLoc()) << "the cluster's size is given here";
  return diag;
}

bool tlx::isAloneInCluster(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel && kernel.getClusterAttr() &&
         kernel.getClusterSize() == std::optional<int64_t>(1);
}

bool tlx::isOnlyOwnCta(Operation *op, Value mask) {
  return isAloneInCluster(op) && matchPattern(mask, m_One());
}

//===----------------------------------------------------------------------===//
// ClusterRankOp
//===----------------------------------------------------------------------===//

LogicalResult ClusterRankOp::verify() { return verifyInCluster(*this); }

OpFoldResult ClusterRankOp::fold(FoldAdaptor) {
  if (isAloneInCluster(*this)) {
    return IntegerAttr::get(getRank().getType(), 0);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// The cluster's barrier
//===----------------------------------------------------------------------===//

LogicalResult ClusterArriveOp::verify() { return verifyInCluster(*this); }

LogicalResult ClusterWaitOp::verify() { return verifyInCluster(*this); }

//===----------------------------------------------------------------------===//
// RemoteBarrierArriveOp
//===----------------------------------------------------------------------===//

LogicalResult RemoteBarrierArriveOp::verify() {
  return success(succeeded(verifyBarrierIndex(*this, getBarrier().getType(),
                                              getIndex())) &&
                 succeeded(verifyMask(*this, getMask())));
}

void RemoteBarrierArriveOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Arrive});
}

LogicalResult RemoteBarrierArriveOp::canonicalize(RemoteBarrierArriveOp op,
                                                  PatternRewriter &rewriter) {
  if (!isOnlyOwnCta(op, op.getMask())) {
    return failure();
  }
  rewriter.replaceOpWithNewOp<BarrierArriveOp>(op, op.getBarrier(),
                                               op.getIndex());
  return success();
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

/// Checks that `type` is that of a response's buffer.
static LogicalResult verifyResponse(Operation *op, MemDescType type) {
  Type element = type.getElementType();
  bool isResponse = type.getRank() == 1 && !type.isInTensorMemory() &&
                    type.getShape().front().getConstant() == kResponseWords &&
                    element && element.isInteger(32);
  if (isResponse) {
    return success();
  }
  return op->emitOpError("expected a response of 16 bytes, !tlx.memdesc<[4], "
                         "i32> (PTX ISA 9.7.13.17), but got ")
         << type;
}

LogicalResult ClcTryCancelOp::verify() {
  if (failed(verifyResponse(*this, getResponse().getType())) ||
      failed(verifyBarrierIndex(*this, getBarrier().getType(), getIndex()))) {
    return failure();
  }
  return getMulticast() ? verifyInCluster(*this) : success();
}

LogicalResult ClcTryCancelOp::canonicalize(ClcTryCancelOp op,
                                           PatternRewriter &rewriter) {
  if (!op.getMulticast() || !isAloneInCluster(op)) {
    return failure();
  }
  rewriter.modifyOpInPlace(op, [&] { op.setMulticast(false); });
  return success();
}

AsyncIssuer ClcTryCancelOp::getIssuer() { return AsyncIssuer::OneThread; }

AsyncCompletion ClcTryCancelOp::getCompletion() {
  return AsyncCompletion::Barrier;
}

void ClcTryCancelOp::getBufferAccesses(
    SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getResponseMutable(), /*isWrite=*/true, Proxy::Async});
}

void ClcTryCancelOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Deliver});
}

std::optional<TargetFeature> ClcTryCancelOp::getRequiredFeature() {
  return TargetFeature::LaunchControl;
}

LogicalResult ClcQueryOp::verify() {
  return verifyResponse(*this, getResponse().getType());
}

void ClcQueryOp::getBufferAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back(
      {&getResponseMutable(), /*isWrite=*/false, Proxy::Response});
}

std::optional<TargetFeature> ClcQueryOp::getRequiredFeature() {
  return TargetFeature::LaunchControl;
}

//===----------------------------------------------------------------------===//
// AsyncRemoteCopyOp
//===----------------------------------------------------------------------===//

/// Checks that a rank, as far as it is known, is one of the cluster's.
static LogicalResult verifyRank(Operation *op, Value rank) {
  auto kernel = op->getParentOfType<KernelOp>();
  std::optional<int64_t> size = kernel ? kernel.getClusterSize() : std::nullopt;
  APInt value;
  if (!size || !matchPattern(rank, m_ConstantInt(&value)) ||
      value.ult(static_cast<uint64_t>(*size))) {
    return success();
  }
  InFlightDiagnostic diag = op->emitOpError("expected a rank from 0 to ")
                            << *size - 1 << ", of one of the " << *size
                            << " CTAs of a cluster, but got "
                            << value.getSExtValue();
  diag.attachNote(kernel.getLoc()) << "the cluster's size is given here";
  return diag;
}

/// Checks that a buffer lies in one piece.
static LogicalResult verifyWholeTile(AsyncRemoteCopyOp op, MemDescType type) {
  if (type.isInTensorMemory()) {
    return op.emitOpError("expected buffers in shared memory, since tensor "
                          "memory is a CTA's own, but got ")
           << type;
  }
  if (type.getTransposed() || !type.getAllocShape().empty()) {
    return op.emitOpError("expected whole tiles, whose bytes lie in a row, but "
                          "got ")
           << type;
  }
  // An mbarrier counts so many bytes (PTX ISA 9.7.13.15.2).
  constexpr int64_t kMaxBytes = (int64_t(1) << 20) - 1;
  FailureOr<int64_t> bytes = type.getSizeInBytes();
  if (succeeded(bytes) && (*bytes % 16 != 0 || *bytes > kMaxBytes)) {
    return op.emitOpError("expected a multiple of 16 bytes (PTX ISA "
                          "9.7.9.25.5.2) of at most ")
           << kMaxBytes << " (9.7.13.15.2), but got " << *bytes << " of "
           << type;
  }
  return success();
}

LogicalResult AsyncRemoteCopyOp::verify() {
  MemDescType source = getSource().getType();
  if (failed(verifyInCluster(*this)) ||
      failed(verifyBarrierIndex(*this, getBarrier().getType(), getIndex())) ||
      failed(verifyRank(*this, getRank())) ||
      failed(verifyWholeTile(*this, source))) {
    return failure();
  }
  if (source != getDestination().getType()) {
    return emitOpError("expected a source and a destination of one type, so "
                       "that their bytes lie alike, but got ")
           << source << " and " << getDestination().getType();
  }
  return success();
}

AsyncIssuer AsyncRemoteCopyOp::getIssuer() { return AsyncIssuer::OneThread; }

AsyncCompletion AsyncRemoteCopyOp::getCompletion() {
  return AsyncCompletion::Barrier;
}

void AsyncRemoteCopyOp::getBufferAccesses(
    SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({&getSourceMutable(), /*isWrite=*/false, Proxy::Async});
  accesses.push_back(
      {&getDestinationMutable(), /*isWrite=*/true, Proxy::Async});
}

void AsyncRemoteCopyOp::getBarrierUses(SmallVectorImpl<BarrierUse> &uses) {
  uses.push_back({getBarrier(), getIndex(), BarrierAction::Deliver});
}
