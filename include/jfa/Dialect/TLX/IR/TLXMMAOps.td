//===- TLXMMAOps.td - MMA family: asynchronous matrix products -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXMMAOPS
#define JFA_DIALECT_TLX_IR_TLXMMAOPS

include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_MMADocs : OpDocGroup {
  let summary = "MMA: asynchronous matrix products";
  let description = [{
    Where the result goes says which unit computes it: a tile in registers
    (Hopper's `wgmma`) or a buffer in tensor memory (Blackwell's `tcgen05`).

    In registers, each product is a group of its own; groups of a task complete
    in the order in which they were started.
  }];
}

let opDocGroup = TLX_MMADocs in {

def TLX_AsyncDotOp : TLX_Op<"async_dot", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<TLX_AsyncOpInterface>,
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>,
    DeclareOpInterfaceMethods<TLX_TileOpInterface, [
      "getRequiredOperandLayout", "getRequiredResultLayout"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Start the product of two matrices";
  let description = [{
    `A[M, K] * B[K, N] (+ C[M, N])`, one `wgmma.mma_async` for each 32 bytes
    of K and 64 of M (PTX ISA 9.7.15.5). A is a buffer or a tile, B a
    buffer; a tile A keeps its registers until the product has been waited for.
    Buffers must not be overwritten before. Without C the product replaces the
    result.

    Constraints:
    1. M is 64 for each warpgroup of the task; N is a multiple of 8 up to 256; K
       a multiple of 16, or of 32 where elements have 8 bits.
    2. A and B have the same 16-bit type, or each one of f8E4M3FN and f8E5M2; C
       and the result are f32.
    3. Of 8-bit elements A and B are buffers whose rows lie along K: B is a
       `tlx.local_trans` of [N, K] (PTX ISA 9.7.15.5.2). The unit adds up their
       products with 13 bits behind the point of the largest.
    4. The task has a multiple of 4 warps.

    With C in tensor memory there is no result: the product replaces C, or is
    added to it where `accumulate` is true. One thread of the task issues it,
    one `tcgen05.mma.kind::f16` for each 16 of K (PTX ISA 9.7.16.10); A is in
    shared or tensor memory. The products of a task are done in the order in
    which they were started; that they are, `tlx.tcgen05_commit` tells. Then
    constraint 1 is that M is 128 and N a multiple of 16 up to 256, or M is 64
    and N a multiple of 8, K is one of 16, A and B are of 16 bits, and any task
    will do. With M = 64 and A in tensor memory, A and C lie in the same lanes:
    both are even tiles of their rings, or lone ones, or both are odd ones, which
    the protocol verifier checks.

    With `cta_group(2)` two CTAs of a cluster, whose ranks differ in the lowest
    bit, compute one product together (`.cta_group::2`, PTX ISA 9.7.16.5). Types
    say what each of them has: A its half of the rows, B its half of the
    columns; the CTA of even rank, the *leader*, has the first ones. The leader
    starts the product for both, which then reads and writes the buffers of both
    CTAs; both learn of its end by a `tlx.tcgen05_commit` with `multicast`. M is
    256 or 128:

    * 256: A is [128, K], B [K, N / 2], C [128, N], the CTA's rows (layout A of
      PTX ISA 9.7.16.10.5);
    * 128: A is [64, K] in shared memory, B [K, N / 2], and C [128, N / 2]: row m
      of the CTA's 64 has the first half of its columns in lane m, the second
      one in lane m + 64 (layout B).

    Constraints of products of pairs:
    1. The cluster has an even number of CTAs.
    2. All products of a kernel in tensor memory are of one CTA, or all of two.
    3. No task of the kernel meets the cluster (`tlx.cluster_arrive`): its threads
       do so at the end, where they free tensor memory together.

    Example:

    ```mlir
    %q = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
    %k = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
    %kt = tlx.local_trans %k : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 128], bf16, transposed>
    %s = tlx.async_dot %q, %kt : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16, transposed> -> tensor<64x128xf32>
    %done = tlx.async_dot_wait %s pending(0) : tensor<64x128xf32>
    ```

    ```mlir
    %q = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
    %k = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
    %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
    %more = arith.constant true
    tlx.async_dot %q, %k, %s : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
    tlx.async_dot %q, %k, %s accumulate(%more) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
    ```

    ```mlir
    tlx.kernel @k() cluster(2) {
      %q = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
      %k = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
      %s = tlx.local_alloc : !tlx.memdesc<[128, 128], f32, tensor>
      %c0 = arith.constant 0 : i32
      %rank = tlx.cluster_rank : i32
      %leads = arith.cmpi eq, %rank, %c0 : i32
      tlx.async_tasks {
        tlx.async_task @multiply warps(1) {
          scf.if %leads {
            tlx.async_dot %q, %k, %s cta_group(2) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
          }
        }
      }
    }
    ```
  }];
  let arguments = (ins
    AnyTypeOf<[TLX_MemDescType, AnyRankedTensor]>:$a,
    TLX_MemDescType:$b,
    Optional<AnyTypeOf<[TLX_MemDescType, AnyRankedTensor]>>:$c,
    Optional<I1>:$accumulate, OptionalAttr<TLX_ExprAttr>:$cta_group);
  let results = (outs Optional<TLX_PendingType>:$result);
  let assemblyFormat = [{
    $a `,` $b (`,` $c^)? (`accumulate` `(` $accumulate^ `)`)?
    (`cta_group` `(` custom<Expr>($cta_group)^ `)`)? attr-dict
    `:` qualified(type($a)) `,` qualified(type($b)) ``
    custom<DotResult>(type($result), ref($c), type($c))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the sums are in tensor memory; otherwise in registers.
    bool isInTensorMemory() {
      return getC() && ::llvm::isa<MemDescType>(getC().getType());
    }
    /// Whether two CTAs compute it together, as far as that is known.
    bool isOfPair() { return ::mlir::jfa::tlx::isPair(getCtaGroupAttr()); }
    /// The extents of the product, of a pair the whole one: its rows, its
    /// columns and the depth. Parameters have to be bound.
    struct Extents { int64_t m, n, k; };
    Extents getExtents();
  }];
}

def TLX_AsyncDotScaledOp : TLX_Op<"async_dot_scaled", [
    DeclareOpInterfaceMethods<TLX_AsyncOpInterface>,
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>,
    MemoryEffects<[MemRead<TLX_SharedMemory>, MemWrite<TLX_SharedMemory>]>]> {
  let summary = "Start the product of two matrices whose blocks have scales";
  let description = [{
    `(A * scale of A)[M, K] (B * scale of B)[K, N] (+ C[M, N])`, where 32
    elements side by side along K share a scale, a power of two of type ue8m0
    (the MX format). C is in tensor memory and replaced, or added to where
    `accumulate` is true. One thread of the task issues it, one
    `tcgen05.mma.kind::mxf8f6f4.block_scale` for each 32 of K (PTX ISA
    9.7.16.10); `tlx.tcgen05_commit` tells that it is done.

    Scales are in tensor memory, four of them in a cell of 32 bits: element
    (row, block of K) of the scales of A, or (column, block of K) of those of B,
    is byte `block mod 4` of column `row floordiv 32 + w * (block floordiv 4)`,
    w being 4 for each 128 rows, in lane `row mod 32` and in the three lanes 32, 64
    and 96 after that (PTX ISA 9.7.16.10.7). `tlx.tmem_copy` puts them there.

    Constraints:
    1. M is 128; N a multiple of 16 up to 256; K a multiple of 32.
    2. A and B are in shared memory, each with elements of f8E4M3FN or f8E5M2,
       in rows along K: B is a `tlx.local_trans` of [N, K].
    3. The scales of A are `!tlx.memdesc<[128, 4 * ceil(K / 128)], i32, tensor>`,
       those of B have `ceil(N / 128)` times as many columns.

    Example:

    ```mlir
    !tile = !tlx.memdesc<[128, 128], f8E4M3FN>
    !trans = !tlx.memdesc<[128, 128], f8E4M3FN, transposed>
    !scales = !tlx.memdesc<[128, 4], i32, tensor>
    !sums = !tlx.memdesc<[128, 128], f32, tensor>
    %a = tlx.local_alloc : !tile
    %b = tlx.local_alloc : !tile
    %bt = tlx.local_trans %b : !tile -> !trans
    %sa = tlx.local_alloc : !scales
    %sb = tlx.local_alloc : !scales
    %c = tlx.local_alloc : !sums
    tlx.async_dot_scaled %a scale(%sa), %bt scale(%sb), %c : !tile, !scales, !trans, !scales, !sums
    ```
  }];
  let arguments = (ins
    TLX_MemDescType:$a, TLX_MemDescType:$a_scale,
    TLX_MemDescType:$b, TLX_MemDescType:$b_scale,
    TLX_MemDescType:$c, Optional<I1>:$accumulate);
  let assemblyFormat = [{
    $a `scale` `(` $a_scale `)` `,` $b `scale` `(` $b_scale `)` `,` $c
    (`accumulate` `(` $accumulate^ `)`)? attr-dict
    `:` qualified(type($a)) `,` qualified(type($a_scale)) `,`
    qualified(type($b)) `,` qualified(type($b_scale)) `,` qualified(type($c))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The elements of K that share a scale, and the scales in a cell.
    static constexpr int64_t kBlock = 32, kScalesInCell = 4;
    /// The extents of the product. Parameters have to be bound.
    AsyncDotOp::Extents getExtents();
  }];
}

def TLX_AsyncDotWaitOp : TLX_Op<"async_dot_wait", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>,
    DeclareOpInterfaceMethods<TLX_TileOpInterface, [
      "inferResultLayout", "inferOperandLayout"]>,
    MemoryEffects<[MemRead<TLX_DotGroups>, MemWrite<TLX_DotGroups>,
                   MemRead<TLX_SharedMemory>, MemWrite<TLX_SharedMemory>]>]> {
  let summary = "Wait for products and take their results";
  let description = [{
    Waits until all but the newest `pending` products that the task has started
    are done, and yields the results of those named, which have to be among
    them (`wgmma.wait_group`, PTX ISA 9.7.15.7). Then their buffers may be
    overwritten and their tiles used.

    `keep` names tiles that the products read from registers, which have to stay
    as they are until then; the lowering adds them.

    Constraints:
    1. Every product named was started in the same block, so that none is in
       flight across a branch (ptxas would serialise it). An `scf.if` on a
       `tlx.param` may choose between two: it is gone once the parameter is bound.
    2. At least `pending` products were started after the newest one named, so
       that this one is not among those still in flight.

    Example:

    ```mlir
    %q = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
    %v = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
    %s = tlx.async_dot %q, %v : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
    %done = tlx.async_dot_wait %s pending(0) : tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Variadic<TLX_PendingType>:$products,
                       Variadic<AnyRankedTensor>:$kept, I32Attr:$pending);
  let results = (outs Variadic<AnyRankedTensor>:$tiles);
  let assemblyFormat = [{
    $products `pending` `(` $pending `)`
    (`keep` `(` $kept^ `:` type($kept) `)`)? attr-dict
    `:` custom<PendingTypes>(type($products), type($tiles))
  }];
  let hasVerifier = 1;
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXMMAOPS
