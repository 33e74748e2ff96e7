//===- MMAOps.cpp - MMA family: asynchronous matrix products -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpVerification.h"
#include "jfa/Dialect/TLX/IR/RegisterLayout.h"
#include "jfa/Dialect/TLX/IR/TensorMemory.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// AsyncDotOp
//===----------------------------------------------------------------------===//

namespace {
/// One operand or the result of a product.
struct Matrix {
  SmallVector<ExprAttr> dims;
  /// Null while a parameter stands for it.
  Type element;
};
} // namespace

static Matrix matrixOf(Type type) {
  if (auto buffer = dyn_cast<MemDescType>(type)) {
    return {llvm::to_vector(buffer.getShape()), buffer.getElementType()};
  }
  auto tile = cast<RankedTensorType>(type);
  auto dims = dyn_cast_or_null<DimsAttr>(tile.getEncoding());
  // A parameter can only stand for an operand's element: results are f32.
  bool symbolic = dims && dims.getElement() && !tile.getElementType().isF32();
  return {getTileDims(tile), symbolic ? Type() : tile.getElementType()};
}

LogicalResult tlx::verifyExtent(Operation *op, ExprAttr extent, StringRef name,
                                int64_t step, int64_t last, StringRef section) {
  std::optional<int64_t> value = extent.getConstant();
  if (!value || (*value % step == 0 && *value >= step && *value <= last)) {
    return success();
  }
  InFlightDiagnostic diag = op->emitOpError("expected ") << name << " to be ";
  if (step == last) {
    diag << step;
  } else {
    diag << "a multiple of " << step << " from " << step << " to " << last;
  }
  return diag << " (PTX ISA " << section << "), but got " << *value;
}

/// Checks that the task is of whole warpgroups with 64 rows each.
static LogicalResult verifyTask(AsyncDotOp op, ExprAttr rows) {
  AsyncTaskOp task = getEnclosingTask(op);
  std::optional<int64_t> warps, extent = rows.getConstant();
  if (task) {
    warps = task.getWarps().getConstant();
  }
  if (!warps) {
    return success();
  }
  if (*warps % 4 != 0) {
    InFlightDiagnostic diag =
        op.emitOpError("expected a task of whole warpgroups, since 4 warps "
                       "issue a product together (PTX ISA 9.7.15.1)");
    diag.attachNote(task.getLoc()) << "this task has " << *warps << " warps";
    return diag;
  }
  if (extent && *extent != 16 * *warps) {
    InFlightDiagnostic diag =
        op.emitOpError("expected M to be 64 for each warpgroup of the task, ")
        << 16 * *warps << ", but got " << *extent;
    diag.attachNote(task.getLoc()) << "this task has " << *warps << " warps";
    return diag;
  }
  return success();
}

/// What a product is added to or replaces, and what it becomes.
static Type getSumsType(AsyncDotOp op) {
  return op.isInTensorMemory() ? op.getC().getType()
                               : Type(op.getResult().getType().getTile());
}

/// Checks which operands and results the two forms have.
static LogicalResult verifyForm(AsyncDotOp op) {
  if (!op.isInTensorMemory()) {
    if (!op.getResult()) {
      return op.emitOpError(
          "expected a result where the sums are in registers");
    }
    if (op.getAccumulate()) {
      return op.emitOpError("expected 'accumulate' only with sums in tensor "
                            "memory; in registers, C is what is added to");
    }
    if (op.getCtaGroupAttr()) {
      return op.emitOpError("expected 'cta_group' only with sums in tensor "
                            "memory (PTX ISA 9.7.16.10)");
    }
    for (Value factor : {op.getA(), Value(op.getB())}) {
      if (isInTensorMemory(factor.getType())) {
        return op.emitOpError("expected a factor in tensor memory only with "
                              "sums in tensor memory, but got ")
               << factor.getType();
      }
    }
    return success();
  }
  if (op.getResult()) {
    return op.emitOpError("expected no result where the sums are a buffer");
  }
  if (!isInTensorMemory(op.getC().getType())) {
    return op.emitOpError("expected the sums in tensor memory or in registers, "
                          "but got ")
           << op.getC().getType();
  }
  if (isa<RankedTensorType>(op.getA().getType())) {
    return op.emitOpError("expected A in shared or tensor memory where the "
                          "sums are in tensor memory (PTX ISA 9.7.16.10), but "
                          "got ")
           << op.getA().getType();
  }
  if (isInTensorMemory(op.getB().getType())) {
    return op.emitOpError("expected B in shared memory (PTX ISA 9.7.16.10), "
                          "but got ")
           << op.getB().getType();
  }
  return success();
}

static bool is8Bit(Type element) {
  return isa_and_nonnull<Float8E4M3FNType, Float8E5M2Type>(element);
}

/// Checks the elements of the factors, as far as they are known.
static LogicalResult verifyElements(AsyncDotOp op, Type a, Type b) {
  for (auto [name, element] : {std::pair("A", a), {"B", b}}) {
    bool isKnown = !element || element.isBF16() || element.isF16();
    if (isKnown || (is8Bit(element) && !op.isInTensorMemory())) {
      continue;
    }
    return op.emitOpError("expected ")
           << name << " to have "
           << (op.isInTensorMemory()
                   ? "bf16 or f16 elements where the sums are in tensor memory"
                   : "bf16, f16, f8E4M3FN or f8E5M2 elements")
           << ", but got " << element;
  }
  if (a && b && a != b && !(is8Bit(a) && is8Bit(b))) {
    return op.emitOpError("expected A and B to have the same element type, or "
                          "both one of 8 bits, but got ")
           << a << " and " << b;
  }
  return success();
}

/// Checks that factors of 8-bit elements lie as wgmma reads them.
static LogicalResult verify8BitFactors(AsyncDotOp op, Type a, Type b) {
  if (is8Bit(a) && isa<RankedTensorType>(op.getA().getType())) {
    return op.emitOpError("expected A in shared memory where its elements have "
                          "8 bits: in registers no result of a product lies as "
                          "it would have to (PTX ISA 9.7.15.5.1), but got ")
           << op.getA().getType();
  }
  auto left = dyn_cast<MemDescType>(op.getA().getType());
  if (is8Bit(a) && left.getTransposed()) {
    return op.emitOpError("expected A to lie in rows along K where its "
                          "elements have 8 bits (PTX ISA 9.7.15.5.2), but got ")
           << left;
  }
  if (is8Bit(b) && !op.getB().getType().getTransposed()) {
    return op.emitOpError("expected B to lie in rows along K where its "
                          "elements have 8 bits, as a tlx.local_trans of a "
                          "buffer [N, K] does (PTX ISA 9.7.15.5.2), but got ")
           << op.getB().getType();
  }
  return success();
}

/// Checks the extents, as far as they are known.
static LogicalResult verifyExtents(AsyncDotOp op, ExprAttr m, ExprAttr n,
                                   ExprAttr k, bool is8Bit) {
  bool isTensor = op.isInTensorMemory();
  // Where the rows take all lanes, columns come in sixteens.
  bool isWide = isTensor && m.getConstant().value_or(0) == kTensorLanes;
  StringRef section = isTensor ? "9.7.16.10.1" : "9.7.15.2";
  return success(
      succeeded(verifyExtent(op, m, "M", 64, isTensor ? kTensorLanes : 1024,
                             section)) &&
      succeeded(verifyExtent(op, n, "N", isWide ? 16 : 8, 256, section)) &&
      succeeded(verifyExtent(op, k, "K", is8Bit ? 32 : 16, 1 << 16, section)));
}

/// Rows of A that a CTA of a pair has, of 256 and of 128.
static constexpr int64_t kPairRows = 128, kFewPairRows = 64;

/// Checks the extents of a product of a pair, as far as they are known. Each
/// CTA has half of A's rows and half of B's columns.
static LogicalResult verifyPair(AsyncDotOp op, const Matrix &a, const Matrix &b,
                                const Matrix &d) {
  std::optional<int64_t> rows = a.dims[0].getConstant();
  std::optional<int64_t> half = b.dims[1].getConstant();
  std::optional<int64_t> lanes = d.dims[0].getConstant();
  std::optional<int64_t> columns = d.dims[1].getConstant();
  constexpr StringLiteral section = "9.7.16.10.1";
  if (rows == std::optional<int64_t>(kFewPairRows) &&
      isInTensorMemory(op.getA().getType())) {
    // Its rows would lie in lanes twice (layout B).
    return op.emitOpError("expected A in shared memory, or of 128 rows, where "
                          "a pair computes the product, but got ")
           << op.getA().getType();
  }
  if (rows && *rows != kPairRows && *rows != kFewPairRows) {
    return op.emitOpError("expected A to have 128 rows, half of a pair's 256, "
                          "or 64, half of 128 (PTX ISA ")
           << section << "), but got " << *rows;
  }
  if (half && (*half < 8 || *half > 128 || *half % 8 != 0)) {
    return op.emitOpError(
               "expected B to have a multiple of 8 columns from 8 to "
               "128, half of a pair's (PTX ISA ")
           << section << "), but got " << *half;
  }
  bool isDepth = a.dims[1] == b.dims[0];
  bool isWide = rows == std::optional<int64_t>(kPairRows);
  bool fits = !rows || !half || !columns || !lanes ||
              (*lanes == kTensorLanes && *columns == (isWide ? 2 : 1) * *half);
  if (isDepth && fits) {
    return verifyExtent(op, a.dims[1], "K", 16, 1 << 16, section);
  }
  InFlightDiagnostic diag = op.emitOpError(
      "expected each CTA of a pair to have [128, K], [K, N / 2] and [128, N], "
      "or "
      "[64, K], [K, N / 2] and [128, N / 2] (PTX ISA 9.7.16.10.5)");
  diag.attachNote() << "A is " << op.getA().getType();
  diag.attachNote() << "B is " << op.getB().getType();
  diag.attachNote() << "the result is " << getSumsType(op);
  return diag;
}

/// Whether it is known that one CTA computes the product.
static bool isOfOneCta(AsyncDotOp op) {
  ExprAttr group = op.getCtaGroupAttr();
  return !group || group.getConstant() == std::optional<int64_t>(1);
}

static LogicalResult verifyShapes(AsyncDotOp op, const Matrix &a,
                                  const Matrix &b, const Matrix &d) {
  if (op.isOfPair()) {
    return verifyPair(op, a, b, d);
  }
  if (!isOfOneCta(op)) {
    return success();
  }
  if (a.dims[1] != b.dims[0] || a.dims[0] != d.dims[0] ||
      b.dims[1] != d.dims[1]) {
    InFlightDiagnostic diag =
        op.emitOpError("expected shapes [M, K], [K, N] and [M, N]");
    diag.attachNote() << "A is " << op.getA().getType();
    diag.attachNote() << "B is " << op.getB().getType();
    diag.attachNote() << "the result is " << getSumsType(op);
    return diag;
  }
  return success();
}

LogicalResult AsyncDotOp::verify() {
  if (failed(verifyForm(*this)) ||
      failed(verifyCtaGroup(*this, getCtaGroupAttr()))) {
    return failure();
  }
  Matrix a = matrixOf(getA().getType()), b = matrixOf(getB().getType());
  Matrix d = matrixOf(getSumsType(*this));
  if (a.dims.size() != 2 || b.dims.size() != 2 || d.dims.size() != 2) {
    return emitOpError("expected matrices of 2 dimensions");
  }
  if (failed(verifyShapes(*this, a, b, d)) ||
      failed(verifyElements(*this, a.element, b.element)) ||
      failed(verify8BitFactors(*this, a.element, b.element)) ||
      (isOfOneCta(*this) &&
       failed(verifyExtents(*this, d.dims[0], d.dims[1], a.dims[1],
                            is8Bit(a.element) || is8Bit(b.element))))) {
    return failure();
  }
  if (!d.element || !d.element.isF32()) {
    return emitOpError("expected a result of f32, but got ")
           << getSumsType(*this);
  }
  if (isInTensorMemory()) {
    return success();
  }
  if (getC() && getC().getType() != getResult().getType().getTile()) {
    return emitOpError("expected C to be of the result's type ")
           << getResult().getType().getTile() << ", but got "
           << getC().getType();
  }
  return verifyTask(*this, d.dims[0]);
}

AsyncDotOp::Extents AsyncDotOp::getExtents() {
  Matrix a = matrixOf(getA().getType()), b = matrixOf(getB().getType());
  int64_t ctas = isOfPair() ? 2 : 1;
  return {*a.dims[0].getConstant() * ctas, *b.dims[1].getConstant() * ctas,
          *b.dims[0].getConstant()};
}

AsyncIssuer AsyncDotOp::getIssuer() {
  return isInTensorMemory() ? AsyncIssuer::OneThread : AsyncIssuer::EveryThread;
}

AsyncCompletion AsyncDotOp::getCompletion() {
  return isInTensorMemory() ? AsyncCompletion::Commit
                            : AsyncCompletion::DotGroup;
}

std::optional<TargetFeature> AsyncDotOp::getRequiredFeature() {
  if (isOfPair()) {
    return TargetFeature::CtaPair;
  }
  return isInTensorMemory() ? TargetFeature::TensorMemory
                            : TargetFeature::Wgmma;
}

void AsyncDotOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), SharedMemoryResource::get());
  if (isInTensorMemory()) {
    effects.emplace_back(MemoryEffects::Write::get(),
                         SharedMemoryResource::get());
    return;
  }
  effects.emplace_back(MemoryEffects::Read::get(), DotGroupResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), DotGroupResource::get());
}

void AsyncDotOp::getBufferAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()}) {
    auto buffer = dyn_cast<MemDescType>(operand->get().getType());
    if (buffer) {
      accesses.push_back(
          {operand, /*isWrite=*/false,
           buffer.isInTensorMemory() ? Proxy::Tensor : Proxy::Async});
    }
  }
  if (isInTensorMemory()) {
    accesses.push_back(
        {&*getCMutable().begin(), /*isWrite=*/true, Proxy::Tensor});
  }
}

LayoutAttr AsyncDotOp::getRequiredOperandLayout(unsigned operand,
                                                int64_t threads) {
  auto tile = dyn_cast<RankedTensorType>(getOperand(operand).getType());
  // The A operand in registers lies as an accumulator of its shape would.
  return tile ? getAccumulatorLayout(getContext(), tile.getShape(), threads)
              : LayoutAttr();
}

LayoutAttr AsyncDotOp::getRequiredResultLayout(unsigned, int64_t threads) {
  assert(getResult() && "only sums in registers have a layout");
  return getAccumulatorLayout(
      getContext(), getResult().getType().getTile().getShape(), threads);
}

//===----------------------------------------------------------------------===//
// AsyncDotWaitOp
//===----------------------------------------------------------------------===//

/// Whether an operation starts a product in registers, be it in a branch.
static bool startsProduct(Operation *op) {
  return llvm::any_of(op->getResultTypes(), llvm::IsaPred<PendingType>);
}

/// The operation of `block` that starts a product: itself or, before parameters
/// are bound, the choice between two of them by one. Null if there is none.
static Operation *getStart(Value product, Block *block) {
  Operation *start = product.getDefiningOp();
  if (!start || start->getBlock() != block) {
    return nullptr;
  }
  auto choice = dyn_cast<scf::IfOp>(start);
  if (!choice) {
    return isa<AsyncDotOp>(start) ? start : nullptr;
  }
  Operation *condition = choice.getCondition().getDefiningOp();
  if (!isa_and_nonnull<ParamOp, arith::ConstantOp>(condition)) {
    return nullptr;
  }
  unsigned number = cast<OpResult>(product).getResultNumber();
  bool isProduct = llvm::all_of(choice->getRegions(), [&](Region &region) {
    Operation *yield = region.front().getTerminator();
    return getStart(yield->getOperand(number), &region.front()) != nullptr;
  });
  return isProduct ? start : nullptr;
}

LogicalResult AsyncDotWaitOp::verify() {
  int32_t pending = getPending();
  if (pending < 0 || pending > 7) {
    return emitOpError("expected 'pending' to be from 0 to 7 (PTX ISA "
                       "9.7.15.7.3), but got ")
           << pending;
  }
  if (getProducts().size() != getTiles().size()) {
    return emitOpError("expected one tile for each product");
  }
  for (auto [product, tile] : llvm::zip_equal(getProducts(), getTiles())) {
    if (cast<PendingType>(product.getType()).getTile() != tile.getType()) {
      return emitOpError("expected a result of type ")
             << cast<PendingType>(product.getType()).getTile() << ", but got "
             << tile.getType();
    }
    Operation *dot = getStart(product, (*this)->getBlock());
    if (!dot) {
      InFlightDiagnostic diag = emitOpError(
          "expected a product that was started in the same block, since ptxas "
          "serialises products in flight across a branch");
      diag.attachNote(product.getLoc()) << "the product comes from here";
      return diag;
    }
    int64_t younger = 0;
    // A wait before its product, which dominance forbids, is verified first.
    for (Operation *op = dot->getNextNode(); op && op != getOperation();
         op = op->getNextNode()) {
      younger += startsProduct(op);
    }
    if (younger < pending) {
      InFlightDiagnostic diag = emitOpError("expected at least ")
                                << pending
                                << " products to have been started after the "
                                   "one waited for, but got "
                                << younger;
      diag.attachNote(dot->getLoc()) << "the product was started here";
      return diag;
    }
  }
  return success();
}

std::optional<TargetFeature> AsyncDotWaitOp::getRequiredFeature() {
  return TargetFeature::Wgmma;
}

LayoutAttr AsyncDotWaitOp::inferResultLayout(unsigned operand,
                                             LayoutAttr layout,
                                             unsigned result) {
  return operand == result ? layout : LayoutAttr();
}

LayoutAttr AsyncDotWaitOp::inferOperandLayout(unsigned result,
                                              LayoutAttr layout,
                                              unsigned operand) {
  return operand == result ? layout : LayoutAttr();
}
