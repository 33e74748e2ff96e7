//===- TLXTypes.td - Types of the tlx dialect -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXTYPES
#define JFA_DIALECT_TLX_IR_TLXTYPES

include "jfa/Dialect/TLX/IR/TLXAttrs.td"

class TLX_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<TLX_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def TLX_MemDescType : TLX_Type<"MemDesc", "memdesc"> {
  let summary = "A buffer in on-chip memory, or a view of one";
  let description = [{
    `shape` may name parameters; `element` is a type or the parameter that gives
    it. A rank-3 buffer is a ring of rank-2 tiles that `tlx.local_view` selects
    from. A view made by `tlx.local_slice` keeps the shape of the tile it was
    cut from (`of`), since that fixes where its rows lie; `transposed` views
    have their two dimensions swapped.

    How a tile of R rows and C columns lies in shared memory: in panels of 128
    bytes (64 elements of 16 bits) of columns, each panel R rows of 128 bytes,
    with the 128-byte swizzle (PTX ISA 5.5.7) on absolute address bits; narrower
    tiles use the 64- or 32-byte swizzle. This is what a TMA box writes and
    what the matrix units read. Rank-1 buffers are plain arrays.

    `tensor` puts the buffer into tensor memory (Blackwell; PTX ISA 9.7.16.1):
    tiles of 128 rows, one for each lane, or of 64. Of 64 rows, row r lies in
    lane 32 * (r / 16) + r % 16, where products of 64 rows put it (9.7.16.10.5,
    layout F); in a ring the tiles of odd numbers lie 16 lanes further on, in
    the columns of the tiles before them, and a lone tile leaves those lanes
    unused. Elements of 32 bits take a column each, two of 16 bits share one.
    Their columns need not be contiguous with anything, so views of them are
    buffers like any other and have no `of`.

    Examples:

    ```mlir
    !tlx.memdesc<[STAGES, BLOCK_N, HEAD_DIM], ELEMENT>
    !tlx.memdesc<[64, 128], bf16, of = [128, 128]>
    !tlx.memdesc<[128, 64], bf16, transposed>
    !tlx.memdesc<[2, 128, BLOCK_N], f32, tensor>
    !tlx.memdesc<[2, 64, BLOCK_N], f32, tensor>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::jfa::tlx::ExprAttr">:$shape,
    "::mlir::Attribute":$element,
    ArrayRefParameter<"::mlir::jfa::tlx::ExprAttr">:$allocShape,
    "bool":$transposed,
    "::mlir::jfa::tlx::MemorySpace":$memorySpace);
  let builders = [
    TypeBuilderWithInferredContext<(ins
      "::llvm::ArrayRef<::mlir::jfa::tlx::ExprAttr>":$shape,
      "::mlir::Attribute":$element,
      CArg<"::llvm::ArrayRef<::mlir::jfa::tlx::ExprAttr>", "{}">:$allocShape,
      CArg<"bool", "false">:$transposed,
      CArg<"::mlir::jfa::tlx::MemorySpace",
           "::mlir::jfa::tlx::MemorySpace::Shared">:$memorySpace), [{
      return $_get(element.getContext(), shape, element, allocShape, transposed,
                   memorySpace);
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    bool isInTensorMemory() const {
      return getMemorySpace() == MemorySpace::Tensor;
    }
    /// The shape, once every parameter is bound.
    FailureOr<SmallVector<int64_t>> getStaticShape() const;
    /// The element type, or null while a parameter still stands for it.
    Type getElementType() const;
    /// Bytes that the buffer occupies; fails while parameters are unbound.
    FailureOr<int64_t> getSizeInBytes() const;
  }];
}

def TLX_MBarrierType : TLX_Type<"MBarrier", "mbarrier"> {
  let summary = "An array of mbarriers in shared memory";
  let description = [{
    Example: `!tlx.mbarrier<[STAGES]>`. PTX ISA 9.7.13.15.
  }];
  let parameters = (ins "::mlir::jfa::tlx::ExprAttr":$count);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TLX_TensorMapType : TLX_Type<"TensorMap", "tensormap"> {
  let summary = "A tensor in global memory as the TMA unit sees it";
  let description = [{
    `tile` is the box that one copy moves, one extent for each axis of the
    tensor; the last axis is contiguous. Unit extents do not appear in the
    buffer. `ragged` maps take a segment of axis 0 with every copy: rows past
    its end read as zero and are not written. The host builds the map from the
    recipe in the manifest.

    Example: `!tlx.tensormap<[BLOCK_N, 1, HEAD_DIM], ELEMENT, ragged>`, tiles of
    a `[tokens, heads, HEAD_DIM]` tensor.
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::jfa::tlx::ExprAttr">:$tile,
    "::mlir::Attribute":$element,
    "bool":$ragged);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getTile().size(); }
    FailureOr<SmallVector<int64_t>> getStaticTile() const;
    Type getElementType() const;
  }];
}

def TLX_PointerType : TLX_Type<"Pointer", "ptr"> {
  let summary = "The address of an array in global memory";
  let description = "Example: `!tlx.ptr<f32>`, `!tlx.ptr<ELEMENT>`.";
  let parameters = (ins "::mlir::Attribute":$element);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    Type getElementType() const;
  }];
}

def TLX_PendingType : TLX_Type<"Pending", "pending"> {
  let summary = "A tile that a matrix product in flight still writes";
  let description = [{
    The result of `tlx.async_dot`. Only `tlx.async_dot_wait` turns it into a
    tile, so no tile can be read before its product is done.

    Example: `!tlx.pending<tensor<64x128xf32>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
}

//===----------------------------------------------------------------------===//
// Constraints used by the ops
//===----------------------------------------------------------------------===//

def TLX_Tile : TypeConstraint<IsTensorTypePred, "tile", "::mlir::RankedTensorType">;
def TLX_FloatTile : RankedTensorOf<[AnyFloat]>;

#endif // JFA_DIALECT_TLX_IR_TLXTYPES
