//===- Semantics.h - What the families of semantics share -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_LIB_SIM_SEMANTICS_H
#define JFA_LIB_SIM_SEMANTICS_H

#include "jfa/Dialect/TLX/IR/SharedLayout.h"
#include "jfa/Dialect/TLX/IR/TensorMemory.h"
#include "jfa/Sim/SimInterfaces.h"

namespace mlir::jfa::sim {

/// Attaches a function to an op as its semantics.
template <typename Op, LogicalResult (*build)(Op, ProgramBuilder &)>
struct Semantics
    : SimulatableOpInterface::ExternalModel<Semantics<Op, build>, Op> {
  LogicalResult buildProgram(Operation *op, ProgramBuilder &builder) const {
    return build(cast<Op>(op), builder);
  }
};

template <typename Op, LogicalResult (*build)(Op, ProgramBuilder &)>
void attach(MLIRContext *context) {
  Op::template attachInterface<Semantics<Op, build>>(*context);
}

// One for each family.
void registerParamSemantics(MLIRContext *context);
void registerTaskSemantics(MLIRContext *context);
void registerMemorySemantics(MLIRContext *context);
void registerBarrierSemantics(MLIRContext *context);
void registerTMASemantics(MLIRContext *context);
void registerMMASemantics(MLIRContext *context);
void registerTensorMemorySemantics(MLIRContext *context);
void registerScaledMMASemantics(MLIRContext *context);
void registerTileSemantics(MLIRContext *context);
void registerClusterSemantics(MLIRContext *context);
void registerGridSemantics(MLIRContext *context);
void registerArithSemantics(DialectRegistry &registry);
void registerMathSemantics(DialectRegistry &registry);
void registerScfSemantics(DialectRegistry &registry);

/// What the source calls the result of an op, or which line it is on.
std::string getSourceName(Operation *op, StringRef what);

/// What is known of a view from its type alone. Fails after a diagnostic.
FailureOr<Geometry> getGeometry(Operation *op, tlx::MemDescType type);

/// A view in a slot.
inline View getView(const Geometry &geometry, const sim::Value &value) {
  return {geometry, value.integer, value.row, value.column};
}

inline Shape getShape(Type type) {
  auto tile = cast<RankedTensorType>(type);
  return Shape(tile.getShape().begin(), tile.getShape().end());
}

/// The element kind of a type, or a diagnostic.
FailureOr<ElementKind> getKind(Operation *op, Type type);

/// Where a buffer, or a view of one, is defined that an op uses.
Site getDefinition(Operation *op, mlir::Value buffer, ProgramBuilder &builder);

/// The tiles of a buffer that an index chooses from.
struct TileRing {
  std::string name;
  Site site;
  int64_t count;
  /// The index; 0, with a finding, if there is no such tile.
  int64_t check(Machine &machine, const Task &task, int64_t index) const;
};
TileRing getTileRing(Operation *op, mlir::Value buffer, int64_t count,
                     ProgramBuilder &builder);

/// One element of an array of mbarriers, as an op names it.
struct BarrierElement {
  Slot array;
  std::optional<Slot> index;
  int64_t count;
  /// The barrier's number; none, with a finding, if there is no such element.
  std::optional<int64_t> get(Machine &machine, Task &task) const;
};
/// Whose barrier an op signals.
enum class Signals { No, Own, Any };
/// Also notes that the task may signal it, if it does.
BarrierElement getBarrierElement(Operation *op, mlir::Value barrier,
                                 mlir::Value index, Signals signals,
                                 ProgramBuilder &builder);

/// The CTAs of a cluster that an op is about: those of a mask, or the task's
/// own.
struct Targets {
  std::optional<Slot> mask;
  /// Their ranks; none, with a finding, if the mask is not one of the
  /// cluster's.
  llvm::SmallVector<uint32_t, 8> get(Machine &machine, Task &task) const;
};
/// `mask` may be null.
Targets getTargets(Operation *op, mlir::Value mask, ProgramBuilder &builder);

/// What is known of a tile in tensor memory from its type alone. Fails after a
/// diagnostic.
FailureOr<TensorView> getTensorTile(Operation *op, tlx::MemDescType type);

/// A tile of tensor memory in a slot, which has its address.
inline TensorView getView(TensorView tile, const sim::Value &value) {
  constexpr int64_t kColumns = (int64_t(1) << tlx::kTensorLaneShift) - 1;
  tile.begin = value.integer & kColumns;
  tile.firstLane = value.integer >> tlx::kTensorLaneShift;
  return tile;
}

/// The elements of a buffer, the reading of which is an access of `op`; null if
/// values are not computed.
TileRef readShared(Machine &machine, AsyncOp &op, const View &view);
TileRef readTensor(Machine &machine, AsyncOp &op, const TensorView &view);

// The ops of the Memory and MMA families on buffers in tensor memory.
LogicalResult buildTensorAlloc(tlx::LocalAllocOp op, ProgramBuilder &builder);
LogicalResult buildTensorView(tlx::LocalViewOp op, ProgramBuilder &builder);
LogicalResult buildTensorSlice(tlx::LocalSliceOp op, ProgramBuilder &builder);
LogicalResult buildTensorLoad(tlx::LocalLoadOp op, ProgramBuilder &builder);
LogicalResult buildTensorStore(tlx::LocalStoreOp op, ProgramBuilder &builder);
LogicalResult buildTensorDot(tlx::AsyncDotOp op, ProgramBuilder &builder);

/// C, if there, plus the product of two stored matrices of which each may be
/// transposed.
TileRef multiply(const Tile &a, bool transposeA, const Tile &b, bool transposeB,
                 const Tile *c, int64_t rows, int64_t inner, int64_t columns);

} // namespace mlir::jfa::sim

#endif // JFA_LIB_SIM_SEMANTICS_H
