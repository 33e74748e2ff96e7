//===- ArithSemantics.cpp - arith in the simulator -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::sim;

FailureOr<ElementKind> sim::getKind(Operation *op, Type type) {
  std::optional<ElementKind> kind =
      type ? getElementKindOrSelf(type) : std::nullopt;
  if (kind) {
    return *kind;
  }
  return op->emitOpError("expected an element type that can be simulated "
                         "(f32, bf16, f16, f8E4M3FN, f8E5M2, i1, i8, i16, i32, "
                         "i64), but got ")
         << type;
}

FailureOr<std::optional<Elementwise>>
sim::getElementwise(Operation *op, ProgramBuilder &builder) {
  Type result = op->getResult(0).getType();
  bool isTile = isa<RankedTensorType>(result);
  FailureOr<ElementKind> from = getKind(op, op->getOperand(0).getType());
  FailureOr<ElementKind> to = getKind(op, result);
  if (failed(from) || failed(to)) {
    return failure();
  }
  if (isTile && !builder.computesValues()) {
    return std::optional<Elementwise>();
  }
  return std::optional<Elementwise>({builder.getSlots(op->getOperands()),
                                     builder.getSlot(op->getResult(0)), *from,
                                     *to, isTile});
}

//===----------------------------------------------------------------------===//
// Constants, selection and comparison
//===----------------------------------------------------------------------===//

/// The tile of an elements attribute.
static TileRef makeTile(ElementKind kind, DenseElementsAttr elements) {
  TileRef tile(new Tile(kind, getShape(elements.getType())));
  if (isReal(kind)) {
    for (auto [value, out] :
         llvm::zip_equal(elements.getValues<APFloat>(), tile->reals)) {
      out = float(value.convertToDouble());
    }
    return tile;
  }
  for (auto [value, out] :
       llvm::zip_equal(elements.getValues<APInt>(), tile->integers)) {
    out = wrapTo(kind, int64_t(value.sextOrTrunc(64).getSExtValue()));
  }
  return tile;
}

static LogicalResult buildConstant(arith::ConstantOp op,
                                   ProgramBuilder &builder) {
  FailureOr<ElementKind> kind = getKind(op, op.getType());
  if (failed(kind)) {
    return failure();
  }
  sim::Value value;
  if (auto real = dyn_cast<FloatAttr>(op.getValue())) {
    value.real = float(real.getValueAsDouble());
  } else if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    value.integer = wrapTo(*kind, integer.getValue().getSExtValue());
  } else if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue())) {
    if (!builder.computesValues()) {
      return success();
    }
    value.tile = makeTile(*kind, elements);
  } else {
    return op.emitOpError("expected a constant that can be simulated");
  }
  Slot result = builder.getSlot(op.getResult());
  builder.append(op, [=](Machine &, Task &task) { task[result] = value; });
  return success();
}

static LogicalResult buildSelect(arith::SelectOp op, ProgramBuilder &builder) {
  Slot condition = builder.getSlot(op.getCondition());
  Slot yes = builder.getSlot(op.getTrueValue());
  Slot no = builder.getSlot(op.getFalseValue());
  Slot result = builder.getSlot(op.getResult());
  if (!isa<RankedTensorType>(op.getCondition().getType())) {
    builder.append(op, [=](Machine &, Task &task) {
      task[result] = sim::Value(task[condition].integer ? task[yes] : task[no]);
    });
    return success();
  }
  if (!builder.computesValues()) {
    return success();
  }
  builder.append(op, [=](Machine &, Task &task) {
    const std::vector<int64_t> &which = task[condition].tile->integers;
    const Tile &a = *task[yes].tile, &b = *task[no].tile;
    TileRef tile(new Tile(a.kind, a.shape));
    for (size_t i = 0; i < tile->reals.size(); ++i) {
      tile->reals[i] = which[i] ? a.reals[i] : b.reals[i];
    }
    for (size_t i = 0; i < tile->integers.size(); ++i) {
      tile->integers[i] = which[i] ? a.integers[i] : b.integers[i];
    }
    task[result].tile = std::move(tile);
  });
  return success();
}

/// The value without a sign that the bits of `value` stand for.
static uint64_t toUnsigned(int64_t bits, int64_t value) {
  return bits >= 64 ? uint64_t(value)
                    : uint64_t(value) & ((uint64_t(1) << bits) - 1);
}

static int64_t getBits(mlir::Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// Predicates are sets of the outcomes of a comparison.
enum Outcome : int64_t { kEqual = 1, kGreater = 2, kLess = 4, kUnordered = 8 };

template <typename T>
static int64_t getOutcome(T x, T y) {
  return x == y ? kEqual : x > y ? kGreater : x < y ? kLess : kUnordered;
}

static int64_t getOutcomes(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return kEqual;
  case arith::CmpIPredicate::ne:
    return kLess | kGreater;
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return kLess;
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return kLess | kEqual;
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return kGreater;
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return kGreater | kEqual;
  }
  return 0;
}

static LogicalResult buildCmpI(arith::CmpIOp op, ProgramBuilder &builder) {
  int64_t outcomes = getOutcomes(op.getPredicate());
  int64_t bits = getBits(op.getLhs());
  bool isUnsigned = op.getPredicate() >= arith::CmpIPredicate::ult;
  return appendMap<int64_t, int64_t, 2>(
      op, builder, [=](int64_t x, int64_t y) -> int64_t {
        int64_t outcome =
            isUnsigned ? getOutcome(toUnsigned(bits, x), toUnsigned(bits, y))
                       : getOutcome(x, y);
        return (outcomes & outcome) != 0;
      });
}

static LogicalResult buildCmpF(arith::CmpFOp op, ProgramBuilder &builder) {
  // The numbers of predicates are such sets, but for outcome 8: from UEQ on
  // they hold of not-a-number too, and UNO of nothing else.
  auto predicate = int64_t(op.getPredicate());
  if (op.getPredicate() == arith::CmpFPredicate::UNO) {
    predicate = kUnordered;
  } else if (predicate >= int64_t(arith::CmpFPredicate::UEQ) &&
             predicate < int64_t(arith::CmpFPredicate::UNO)) {
    ++predicate;
  }
  return appendMap<int64_t, float, 2>(
      op, builder, [=](float x, float y) -> int64_t {
        return (predicate & getOutcome(x, y)) != 0;
      });
}

//===----------------------------------------------------------------------===//
// Maps of elements
//===----------------------------------------------------------------------===//

template <typename Op, typename T, T (*map)(T, T)>
static LogicalResult buildBinary(Op op, ProgramBuilder &builder) {
  return appendMap<T, T, 2>(op, builder, [](T x, T y) { return map(x, y); });
}

/// Operands as numbers without a sign.
template <typename Op, uint64_t (*map)(uint64_t, uint64_t)>
static LogicalResult buildUnsigned(Op op, ProgramBuilder &builder) {
  int64_t bits = getBits(op.getLhs());
  return appendMap<int64_t, int64_t, 2>(op, builder, [=](int64_t x, int64_t y) {
    return int64_t(map(toUnsigned(bits, x), toUnsigned(bits, y)));
  });
}

static float add(float x, float y) { return x + y; }
static float subtract(float x, float y) { return x - y; }
static float multiply(float x, float y) { return x * y; }
static float divide(float x, float y) { return x / y; }
static float maxNumber(float x, float y) { return std::fmax(x, y); }
static float minNumber(float x, float y) { return std::fmin(x, y); }
static float maximum(float x, float y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmax(x, y);
}
static float minimum(float x, float y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::fmin(x, y);
}

static uint64_t addI(uint64_t x, uint64_t y) { return x + y; }
static uint64_t subtractI(uint64_t x, uint64_t y) { return x - y; }
static uint64_t multiplyI(uint64_t x, uint64_t y) { return x * y; }
static uint64_t divideU(uint64_t x, uint64_t y) { return y ? x / y : 0; }
static uint64_t remainderU(uint64_t x, uint64_t y) { return y ? x % y : 0; }
static uint64_t ceilDivideU(uint64_t x, uint64_t y) {
  return y ? x / y + (x % y != 0) : 0;
}
static uint64_t maximumU(uint64_t x, uint64_t y) { return std::max(x, y); }
static uint64_t minimumU(uint64_t x, uint64_t y) { return std::min(x, y); }
static uint64_t andI(uint64_t x, uint64_t y) { return x & y; }
static uint64_t orI(uint64_t x, uint64_t y) { return x | y; }
static uint64_t xorI(uint64_t x, uint64_t y) { return x ^ y; }
static uint64_t shiftLeft(uint64_t x, uint64_t y) {
  return y < 64 ? x << y : 0;
}
static uint64_t shiftRight(uint64_t x, uint64_t y) {
  return y < 64 ? x >> y : 0;
}
static int64_t divideS(int64_t x, int64_t y) {
  return y == 0 ? 0 : y == -1 ? int64_t(-uint64_t(x)) : x / y;
}
static int64_t remainderS(int64_t x, int64_t y) {
  return y == 0 || y == -1 ? 0 : x % y;
}
static int64_t floorDivideS(int64_t x, int64_t y) {
  int64_t quotient = divideS(x, y);
  return quotient - (remainderS(x, y) != 0 && (x < 0) != (y < 0));
}
static int64_t ceilDivideS(int64_t x, int64_t y) {
  int64_t quotient = divideS(x, y);
  return quotient + (remainderS(x, y) != 0 && (x < 0) == (y < 0));
}
static int64_t shiftRightS(int64_t x, int64_t y) {
  return x >> std::min<int64_t>(std::max<int64_t>(y, 0), 63);
}
static int64_t maximumS(int64_t x, int64_t y) { return std::max(x, y); }
static int64_t minimumS(int64_t x, int64_t y) { return std::min(x, y); }

static LogicalResult buildNegF(arith::NegFOp op, ProgramBuilder &builder) {
  return appendMap<float, float, 1>(op, builder, [](float x) { return -x; });
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Conversions that rounding or wrapping to the result's type does.
template <typename Op, typename T>
static LogicalResult buildConvert(Op op, ProgramBuilder &builder) {
  return appendMap<T, T, 1>(op, builder, [](T x) { return x; });
}

template <typename Op>
static LogicalResult buildZeroExtend(Op op, ProgramBuilder &builder) {
  int64_t bits = getBits(op.getIn());
  return appendMap<int64_t, int64_t, 1>(
      op, builder, [=](int64_t x) { return int64_t(toUnsigned(bits, x)); });
}

static LogicalResult buildSignExtend(arith::ExtSIOp op,
                                     ProgramBuilder &builder) {
  // Only i1 is kept without its sign.
  bool isBool = getBits(op.getIn()) == 1;
  return appendMap<int64_t, int64_t, 1>(
      op, builder, [=](int64_t x) { return isBool ? -x : x; });
}

template <typename Op, bool isSigned>
static LogicalResult buildToReal(Op op, ProgramBuilder &builder) {
  int64_t bits = getBits(op.getIn());
  return appendMap<float, int64_t, 1>(op, builder, [=](int64_t x) {
    return isSigned ? float(x) : float(toUnsigned(bits, x));
  });
}

template <typename Op>
static LogicalResult buildToInteger(Op op, ProgramBuilder &builder) {
  return appendMap<int64_t, float, 1>(op, builder, [](float x) {
    return std::isfinite(x) && std::fabs(x) < 0x1p62f ? int64_t(x) : 0;
  });
}

/// The same bits as another type of as many.
static LogicalResult buildBitcast(arith::BitcastOp op,
                                  ProgramBuilder &builder) {
  FailureOr<ElementKind> from = getKind(op, op.getIn().getType());
  FailureOr<ElementKind> to = getKind(op, op.getType());
  if (failed(from) || failed(to)) {
    return failure();
  }
  if (isReal(*from) == isReal(*to)) {
    return op.emitOpError("expected a floating-point type on one side where it "
                          "is simulated, but got ")
           << op.getIn().getType() << " and " << op.getType();
  }
  if (isReal(*to)) {
    return appendMap<float, int64_t, 1>(op, builder,
                                        [=, from = *from, to = *to](int64_t x) {
                                          uint8_t bytes[8] = {};
                                          encode(from, x, bytes);
                                          return decodeReal(to, bytes);
                                        });
  }
  return appendMap<int64_t, float, 1>(op, builder,
                                      [=, from = *from, to = *to](float x) {
                                        uint8_t bytes[8] = {};
                                        encode(from, x, bytes);
                                        return decodeInteger(to, bytes);
                                      });
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

static void attachReals(MLIRContext *context) {
  using namespace arith;
  attach<AddFOp, buildBinary<AddFOp, float, add>>(context);
  attach<SubFOp, buildBinary<SubFOp, float, subtract>>(context);
  attach<MulFOp, buildBinary<MulFOp, float, ::multiply>>(context);
  attach<DivFOp, buildBinary<DivFOp, float, divide>>(context);
  attach<MaxNumFOp, buildBinary<MaxNumFOp, float, maxNumber>>(context);
  attach<MinNumFOp, buildBinary<MinNumFOp, float, minNumber>>(context);
  attach<MaximumFOp, buildBinary<MaximumFOp, float, maximum>>(context);
  attach<MinimumFOp, buildBinary<MinimumFOp, float, minimum>>(context);
  attach<NegFOp, buildNegF>(context);
  attach<CmpFOp, buildCmpF>(context);
}

static void attachIntegers(MLIRContext *context) {
  using namespace arith;
  attach<AddIOp, buildUnsigned<AddIOp, addI>>(context);
  attach<SubIOp, buildUnsigned<SubIOp, subtractI>>(context);
  attach<MulIOp, buildUnsigned<MulIOp, multiplyI>>(context);
  attach<DivUIOp, buildUnsigned<DivUIOp, divideU>>(context);
  attach<RemUIOp, buildUnsigned<RemUIOp, remainderU>>(context);
  attach<CeilDivUIOp, buildUnsigned<CeilDivUIOp, ceilDivideU>>(context);
  attach<MaxUIOp, buildUnsigned<MaxUIOp, maximumU>>(context);
  attach<MinUIOp, buildUnsigned<MinUIOp, minimumU>>(context);
  attach<AndIOp, buildUnsigned<AndIOp, andI>>(context);
  attach<OrIOp, buildUnsigned<OrIOp, orI>>(context);
  attach<XOrIOp, buildUnsigned<XOrIOp, xorI>>(context);
  attach<ShLIOp, buildUnsigned<ShLIOp, shiftLeft>>(context);
  attach<ShRUIOp, buildUnsigned<ShRUIOp, shiftRight>>(context);
  attach<DivSIOp, buildBinary<DivSIOp, int64_t, divideS>>(context);
  attach<RemSIOp, buildBinary<RemSIOp, int64_t, remainderS>>(context);
  attach<FloorDivSIOp, buildBinary<FloorDivSIOp, int64_t, floorDivideS>>(
      context);
  attach<CeilDivSIOp, buildBinary<CeilDivSIOp, int64_t, ceilDivideS>>(context);
  attach<ShRSIOp, buildBinary<ShRSIOp, int64_t, shiftRightS>>(context);
  attach<MaxSIOp, buildBinary<MaxSIOp, int64_t, maximumS>>(context);
  attach<MinSIOp, buildBinary<MinSIOp, int64_t, minimumS>>(context);
  attach<CmpIOp, buildCmpI>(context);
}

static void attachConversions(MLIRContext *context) {
  using namespace arith;
  attach<ExtFOp, buildConvert<ExtFOp, float>>(context);
  attach<TruncFOp, buildConvert<TruncFOp, float>>(context);
  attach<TruncIOp, buildConvert<TruncIOp, int64_t>>(context);
  attach<IndexCastOp, buildConvert<IndexCastOp, int64_t>>(context);
  attach<IndexCastUIOp, buildZeroExtend<IndexCastUIOp>>(context);
  attach<ExtUIOp, buildZeroExtend<ExtUIOp>>(context);
  attach<ExtSIOp, buildSignExtend>(context);
  attach<BitcastOp, buildBitcast>(context);
  attach<SIToFPOp, buildToReal<SIToFPOp, true>>(context);
  attach<UIToFPOp, buildToReal<UIToFPOp, false>>(context);
  attach<FPToSIOp, buildToInteger<FPToSIOp>>(context);
  attach<FPToUIOp, buildToInteger<FPToUIOp>>(context);
}

void sim::registerArithSemantics(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::ConstantOp, buildConstant>(context);
    attach<arith::SelectOp, buildSelect>(context);
    attachReals(context);
    attachIntegers(context);
    attachConversions(context);
  });
}
