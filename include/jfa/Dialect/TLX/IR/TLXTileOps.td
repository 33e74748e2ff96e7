//===- TLXTileOps.td - Tile family: tiles in registers -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXTILEOPS
#define JFA_DIALECT_TLX_IR_TLXTILEOPS

include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_TileDocs : OpDocGroup {
  let summary = "Tile: tiles in registers";
  let description = [{
    What `arith` and `math` lack for tiles.
  }];
}

let opDocGroup = TLX_TileDocs in {

// An op whose tiles' layouts are related by the given interface methods.
class TLX_TileOp<string mnemonic, list<string> relations = []>
    : TLX_Op<mnemonic, [
        Pure, DeclareOpInterfaceMethods<TLX_TileOpInterface, relations>]>;

def TLX_ReduceOp : TLX_TileOp<"reduce", [
    "inferResultLayout"]> {
  let summary = "Combine the elements along a dimension";
  let description = [{
    The result lacks the dimension. The order of combination is unspecified but
    fixed for a layout. Maximum and minimum ignore NaN where another element is
    none, as `arith.maxnumf` does.

    Example:

    ```mlir
    %s = arith.constant dense<1.0> : tensor<64x128xf32>
    %m = tlx.reduce max %s dim 1 : tensor<64x128xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins TLX_ReduceKindAttr:$kind, AnyRankedTensor:$source,
                       I32Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $kind $source `dim` $dim attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TLX_PartialReduceOp : TLX_TileOp<"partial_reduce", [
    "inferResultLayout"]> {
  let summary = "Combine the elements along a dimension into a few groups";
  let description = [{
    Element `c` of the dimension belongs to group `(c floordiv run) mod groups`;
    the dimension's extent becomes `groups`. With four groups in runs of two, a
    row of an accumulator needs no exchange between threads: each of the four
    threads that hold it sums its own. A loop keeps such partial sums and
    reduces them once, after it.

    Example:

    ```mlir
    %p = arith.constant dense<1.0> : tensor<64x128xf32>
    %l = tlx.partial_reduce add %p dim 1 groups(4) run(2) : tensor<64x128xf32> -> tensor<64x4xf32>
    %sum = tlx.reduce add %l dim 1 : tensor<64x4xf32> -> tensor<64xf32>
    ```
  }];
  let arguments = (ins TLX_ReduceKindAttr:$kind, AnyRankedTensor:$source,
                       I32Attr:$dim, I32Attr:$groups, I32Attr:$run);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $kind $source `dim` $dim `groups` `(` $groups `)` `run` `(` $run `)`
    attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TLX_ExpandDimsOp : TLX_TileOp<"expand_dims", [
    "inferResultLayout", "inferOperandLayout"]> {
  let summary = "Insert a dimension of extent 1";
  let description = [{
    Example:

    ```mlir
    %m = arith.constant dense<1.0> : tensor<64xf32>
    %c = tlx.expand_dims %m dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I32Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `dim` $dim attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TLX_BroadcastOp : TLX_TileOp<"broadcast", [
    "inferOperandLayout"]> {
  let summary = "Repeat a tile along its dimensions of extent 1";
  let description = [{
    Example:

    ```mlir
    %c = arith.constant dense<1.0> : tensor<64x1xf32>
    %b = tlx.broadcast %c : tensor<64x1xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TLX_IotaOp : TLX_TileOp<"iota"> {
  let summary = "0, 1, 2, … along a dimension";
  let description = [{
    Example:

    ```mlir
    %columns = tlx.iota dim 1 : tensor<64x128xi32>
    ```
  }];
  let arguments = (ins I32Attr:$dim);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TLX_PrefixMaskOp : TLX_TileOp<"prefix_mask", [
    "inferOperandLayout"]> {
  let summary = "Which elements come before a limit along a dimension";
  let description = [{
    Element `c` along `dim` is true where `c < limit` of its place in the other
    dimensions. It says the same as comparing an `iota` with a broadcast, and
    costs one comparison with a constant for each element.

    Example:

    ```mlir
    %limit = arith.constant dense<100> : tensor<64xi32>
    %mask = tlx.prefix_mask %limit dim 1 : tensor<64xi32> -> tensor<64x128xi1>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$limit, I32Attr:$dim);
  let results = (outs RankedTensorOf<[I1]>:$result);
  let assemblyFormat = [{
    $limit `dim` $dim attr-dict `:` type($limit) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TLX_SplatOp : TLX_TileOp<"splat"> {
  let summary = "A tile whose elements are all one scalar";
  let description = [{
    Example:

    ```mlir
    %x = arith.constant 1.0 : f32
    %t = tlx.splat %x : f32 -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnySignlessInteger, AnyFloat]>:$scalar);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar) `->` type($result)";
  let hasVerifier = 1;
}

def TLX_ConvertLayoutOp : TLX_TileOp<"convert_layout"> {
  let summary = "Move a tile's elements to the threads of another layout";
  let description = [{
    Inserted by `tlx-assign-layouts` where two uses of a tile need different
    layouts. Where the elements change threads it costs a round trip through
    shared memory, at `offset`, which `tlx-allocate-memory` sets; the pass
    remarks on each one. Replica r of a task uses the `getScratchBytes()` bytes
    at `offset` + r * `getScratchBytes()`.

    Example:

    ```mlir
    #rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
    #pairs = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
    %x = arith.constant dense<1.0> : tensor<64xf32, #rows>
    %y = tlx.convert_layout %x : tensor<64xf32, #rows> -> tensor<64xf32, #pairs>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, OptionalAttr<I64Attr>:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source (`at` $offset^)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The shared memory that one replica needs for it, a multiple of 16 bytes:
    /// the whole tile, or nothing if no element changes threads.
    int64_t getScratchBytes();
  }];
}

def TLX_GlobalLoadOp : TLX_Op<"global_load", [AttrSizedOperandSegments]> {
  let summary = "Read elements of an array in global memory";
  let description = [{
    `index` is a scalar or a tile of indices, in elements; the result is a
    scalar or a tile of the same shape. Where `mask` is false nothing is read
    and the result is `other`, by default zero.

    Example:

    ```mlir
    tlx.kernel @k(%p: !tlx.ptr<f32>, %i: i64) {
      %x = tlx.global_load %p[%i] : !tlx.ptr<f32>, i64 -> f32
      tlx.async_tasks {
        tlx.async_task @read warps(1) {
          %rows = tlx.iota dim 0 : tensor<64xi32>
          %t = tlx.global_load %p[%rows] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32>
        }
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<TLX_PointerType, "", [MemRead<TLX_GlobalMemory>]>:$pointer,
    AnyTypeOf<[I32, I64, RankedTensorOf<[I32, I64]>]>:$index,
    Optional<AnyTypeOf<[I1, RankedTensorOf<[I1]>]>>:$mask,
    Optional<AnyType>:$other);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $pointer `[` $index `]` (`mask` $mask^)? (`other` $other^)? attr-dict
    `:` qualified(type($pointer)) `,` type($index) `->` type($result)
    (`mask` type($mask)^)? (`other` type($other)^)?
  }];
  let hasVerifier = 1;
}

def TLX_GlobalStoreOp : TLX_Op<"global_store"> {
  let summary = "Write elements of an array in global memory";
  let description = [{
    As `tlx.global_load`. Elements that several threads hold are written once.
    Scalars are written by one thread of the task.

    Example:

    ```mlir
    tlx.kernel @k(%p: !tlx.ptr<f32>, %x: f32) {
      tlx.async_tasks {
        tlx.async_task @write warps(1) {
          %rows = tlx.iota dim 0 : tensor<64xi32>
          %t = tlx.splat %x : f32 -> tensor<64xf32>
          tlx.global_store %t, %p[%rows] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
        }
      }
    }
    ```
  }];
  let arguments = (ins
    AnyType:$value,
    Arg<TLX_PointerType, "", [MemWrite<TLX_GlobalMemory>]>:$pointer,
    AnyTypeOf<[I32, I64, RankedTensorOf<[I32, I64]>]>:$index,
    Optional<AnyTypeOf<[I1, RankedTensorOf<[I1]>]>>:$mask);
  let assemblyFormat = [{
    $value `,` $pointer `[` $index `]` (`mask` $mask^)? attr-dict
    `:` type($value) `,` qualified(type($pointer)) `,` type($index)
    (`mask` type($mask)^)?
  }];
  let hasVerifier = 1;
}

def TLX_InMaskedTailOp : TLX_Op<"in_masked_tail", [
    Pure, AllTypesMatch<["induction", "first"]>]> {
  let summary = "Whether a loop has reached the iterations that need a mask";
  let description = [{
    `induction >= first`. `tlx-peel-masked-tail` splits the loop in two at
    `first`, so that the bulk of the iterations has no mask and no branch.
    `first` has to be the same in every iteration.

    Example:

    ```mlir
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c7 = arith.constant 7 : i32
    %c8 = arith.constant 8 : i32
    scf.for %j = %c0 to %c8 step %c1 : i32 {
      %masked = tlx.in_masked_tail %j from %c7 : i32
    }
    ```
  }];
  let arguments = (ins AnySignlessIntegerOrIndex:$induction,
                       AnySignlessIntegerOrIndex:$first);
  let results = (outs I1:$masked);
  let assemblyFormat = [{
    $induction `from` $first attr-dict `:` type($induction)
  }];
  let hasFolder = 1;
}

def TLX_VoteAnyOp : TLX_TileOp<"vote_any"> {
  let summary = "Whether an element of a warp's part of a tile is true";
  let description = [{
    True if any element that the warp's threads hold is true; it may be true
    otherwise. Every thread of a warp gets the same answer, other warps may get
    another one, so what depends on it must be right to do for any warp, and
    must not synchronise: it saves work that changes nothing. `vote.sync.any`
    (PTX ISA 9.7.13.9).

    Example:

    ```mlir
    %t = arith.constant dense<true> : tensor<128xi1>
    %any = tlx.vote_any %t : tensor<128xi1>
    ```
  }];
  let arguments = (ins RankedTensorOf<[I1]>:$source);
  let results = (outs I1:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXTILEOPS
