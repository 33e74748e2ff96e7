//===- TLXBase.td - The dialect and what every op family shares -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXBASE
#define JFA_DIALECT_TLX_IR_TLXBASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TLX_Dialect : Dialect {
  let name = "tlx";
  let cppNamespace = "::mlir::jfa::tlx";
  let summary = "Warp-specialised GPU kernels";
  let description = [{
    A kernel states *who* does the work (asynchronous tasks of warps), *where*
    data lives (shared memory, registers) and *what waits for what*
    (mbarriers). Everything that can be derived - byte counts, register
    layouts, shared-memory offsets, proxy fences - is derived by the passes.

    Spelling follows Meta's TLX wherever the meaning is the same.

    **Tiles** are builtin `tensor` values, so `arith` and `math` work on them
    unchanged. What authors write has no layout; `tlx-assign-layouts` gives
    every tile one as the encoding of its type.

    **Parameters** are part of the IR: `tlx.param` declares them, types name
    them in their dimensions, and `tlx-specialize` binds them.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Resources of memory effects
//===----------------------------------------------------------------------===//

// Each is a distinct resource so that a pass may move an access past accesses
// of the others, never past its own kind or past a barrier operation.
def TLX_SharedMemory : Resource<"::mlir::jfa::tlx::SharedMemoryResource">;
def TLX_GlobalMemory : Resource<"::mlir::jfa::tlx::GlobalMemoryResource">;
def TLX_BarrierState : Resource<"::mlir::jfa::tlx::BarrierResource">;
// The groups of matrix products in flight, which async_dot_wait counts.
def TLX_DotGroups : Resource<"::mlir::jfa::tlx::DotGroupResource">;
// The bulk groups of asynchronous stores in flight.
def TLX_StoreGroups : Resource<"::mlir::jfa::tlx::StoreGroupResource">;
// What a kernel declares: types may use it where no operand does.
def TLX_Declarations : Resource<"::mlir::jfa::tlx::DeclarationResource">;

// A synchronisation point: nothing that touches memory may cross it.
def TLX_Synchronizes : MemoryEffects<[
  MemRead<TLX_BarrierState>, MemWrite<TLX_BarrierState>,
  MemRead<TLX_SharedMemory>, MemWrite<TLX_SharedMemory>,
  MemRead<TLX_GlobalMemory>, MemWrite<TLX_GlobalMemory>]>;

//===----------------------------------------------------------------------===//
// Op base
//===----------------------------------------------------------------------===//

class TLX_Op<string mnemonic, list<Trait> traits = []>
    : Op<TLX_Dialect, mnemonic, traits>;

#endif // JFA_DIALECT_TLX_IR_TLXBASE
