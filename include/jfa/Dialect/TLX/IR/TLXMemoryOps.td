//===- TLXMemoryOps.td - Memory family: buffers in shared memory -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXMEMORYOPS
#define JFA_DIALECT_TLX_IR_TLXMEMORYOPS

include "mlir/Interfaces/ViewLikeInterface.td"
include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_MemoryDocs : OpDocGroup {
  let summary = "Memory: buffers in shared and tensor memory";
  let description = [{
    Buffers are allocated in the kernel's body and viewed in its tasks. The type
    says in which memory they are; the ops are the same.
  }];
}

let opDocGroup = TLX_MemoryDocs in {

def TLX_LocalAllocOp : TLX_Op<"local_alloc", [
    MemoryEffects<[MemAlloc<TLX_SharedMemory>]>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>]> {
  let summary = "Allocate a buffer in shared or tensor memory";
  let description = [{
    The buffer lives as long as the kernel. `alias(%other)` states that the two
    may share storage: the author answers for their never being in use at the
    same time. `tlx-allocate-memory` sets `offset`, in bytes from the start of
    the CTA's dynamic shared memory; swizzled tiles start at multiples of 1024.

    In tensor memory `offset` counts columns from the start of what the kernel
    allocates there. A kernel with such buffers begins with warp 0 allocating
    the columns of all of them, a power of two from 32 to 512, and giving up the
    right to allocate more (`tcgen05.alloc`, `tcgen05.relinquish_alloc_permit`),
    and ends with the same warp freeing them once all tasks are done
    (`tcgen05.dealloc`, PTX ISA 9.7.16.7). Both use named barrier 0.

    Constraints:
    1. The type is no view: neither `of` nor `transposed`.
    2. `alias` names a buffer that another `tlx.local_alloc` made, in the same
       memory.
    3. A buffer in tensor memory has 2 or 3 dimensions, 128 or 64 rows, and rows
       of whole columns of 32 bits.

    Example:

    ```mlir
    %k = tlx.local_alloc : !tlx.memdesc<[2, 128, 64], bf16>
    %o = tlx.local_alloc alias(%k) : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[2, 128, 64], bf16>
    %s = tlx.local_alloc : !tlx.memdesc<[2, 128, 128], f32, tensor>
    ```
  }];
  let arguments = (ins Optional<TLX_MemDescType>:$alias,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs TLX_MemDescType:$buffer);
  let assemblyFormat = [{
    (`alias` `(` $alias^ `)`)? (`at` $offset^)? attr-dict
    `:` qualified(type($buffer)) (`,` qualified(type($alias))^)?
  }];
  let hasVerifier = 1;
}

def TLX_LocalViewOp : TLX_Op<"local_view", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "Select one tile of a ring of tiles";
  let description = [{
    Drops the leading dimension. The index must be less than its extent.

    Example:

    ```mlir
    %k = tlx.local_alloc : !tlx.memdesc<[2, 128, 64], bf16>
    %i = arith.constant 1 : i32
    %tile = tlx.local_view %k[%i] : !tlx.memdesc<[2, 128, 64], bf16> -> !tlx.memdesc<[128, 64], bf16>
    ```
  }];
  let arguments = (ins TLX_MemDescType:$source, I32:$index);
  let results = (outs TLX_MemDescType:$view);
  let assemblyFormat = [{
    $source `[` $index `]` attr-dict
    `:` qualified(type($source)) `->` qualified(type($view))
  }];
  let hasVerifier = 1;
}

def TLX_LocalSliceOp : TLX_Op<"local_slice", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "A rectangular part of a tile";
  let description = [{
    The result type gives the extents and, in `of`, the tile's shape. Row
    offsets are multiples of 8 and column offsets multiples of a panel, so that
    the part lies as the swizzle expects.

    A part of a tile in tensor memory has all its rows; it is a buffer like any
    other, without `of`. Its first element begins a column of 32 bits.

    Example:

    ```mlir
    %q = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
    %row = arith.constant 64 : i32
    %col = arith.constant 0 : i32
    %half = tlx.local_slice %q[%row, %col] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>
    ```
  }];
  let arguments = (ins TLX_MemDescType:$source, Variadic<I32>:$offsets);
  let results = (outs TLX_MemDescType:$view);
  let assemblyFormat = [{
    $source `[` $offsets `]` attr-dict
    `:` qualified(type($source)) `->` qualified(type($view))
  }];
  let hasVerifier = 1;
}

def TLX_LocalTransOp : TLX_Op<"local_trans", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "A tile with rows and columns exchanged";
  let description = [{
    Moves nothing: `wgmma` reads 16-bit operands in either order. Twice is the
    tile itself.

    Example:

    ```mlir
    %k = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
    %t = tlx.local_trans %k : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 128], bf16, transposed>
    ```
  }];
  let arguments = (ins TLX_MemDescType:$source);
  let results = (outs TLX_MemDescType:$view);
  let assemblyFormat = [{
    $source attr-dict `:` qualified(type($source)) `->` qualified(type($view))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TLX_LocalReinterpretOp : TLX_Op<"local_reinterpret", [
    Pure, DeclareOpInterfaceMethods<ViewLikeOpInterface>]> {
  let summary = "The same bytes as another shape and element type";
  let description = [{
    Both have the same number of bytes; in tensor memory, in each row.

    Example:

    ```mlir
    %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
    %b = tlx.local_reinterpret %a : !tlx.memdesc<[64, 64], bf16> -> !tlx.memdesc<[2048], f32>
    ```
  }];
  let arguments = (ins TLX_MemDescType:$source);
  let results = (outs TLX_MemDescType:$view);
  let assemblyFormat = [{
    $source attr-dict `:` qualified(type($source)) `->` qualified(type($view))
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TLX_LocalLoadOp : TLX_Op<"local_load", [
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_TileOpInterface, [
      "getRequiredResultLayout"]>]> {
  let summary = "Read a buffer into a tile";
  let description = [{
    Every thread reads the elements that the tile's layout gives it, through the
    generic proxy. 16-bit tiles that lie as accumulators do are read by
    `ldmatrix`, from transposed views by its `.trans` form (PTX ISA
    9.7.15.5.15).

    From tensor memory each thread reads a row, or an equal part of one where
    the task has several warpgroups, and waits for it (`tcgen05.ld.32x32b`,
    `tcgen05.wait::ld`, PTX ISA 9.7.16.8). Of 64 rows, two threads of a warp
    read the halves of one (`tcgen05.ld.16x32bx2`): thread t, of 16, that of the
    lower columns, thread t + 16 the other. The task has a multiple of 4 warps.

    With `fragments` the buffer holds sums as threads hold them (Fragments.h).

    An asynchronous access that writes to the buffer afterwards needs a
    `tlx.fence_async_shared` by each thread that has read, which
    `tlx-insert-fences` adds before others may learn that it has; with
    `unfenced` the kernel has the fence where it is needed.

    Example:

    ```mlir
    %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
    %x = tlx.local_load %b : !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xbf16>
    ```
  }];
  let arguments = (ins
    Arg<TLX_MemDescType, "", [MemRead<TLX_SharedMemory>]>:$source,
    UnitAttr:$fragments, UnitAttr:$unfenced);
  let results = (outs AnyRankedTensor:$tile);
  let assemblyFormat = [{
    $source (`fragments` $fragments^)? (`unfenced` $unfenced^)?
    attr-dict `:` qualified(type($source)) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def TLX_LocalStoreOp : TLX_Op<"local_store", [
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_TileOpInterface, [
      "getRequiredOperandLayout"]>]> {
  let summary = "Write a tile into a buffer";
  let description = [{
    Every thread writes its elements, through the generic proxy. Before TMA or
    the matrix units read them, each writing thread needs
    `tlx.fence_async_shared`, which `tlx-insert-fences` adds. 16-bit tiles that
    lie as accumulators do are stored by `stmatrix`, into transposed views by
    its `.trans` form (PTX ISA 9.7.15.5.16).

    Into tensor memory each thread writes a row, or an equal part of one, as it
    would read it (`tcgen05.st.32x32b`, or of 64 rows `tcgen05.st.16x32bx2`; PTX
    ISA 9.7.16.8). The write is done after the `tlx.tcgen05_fence before` that
    `tlx-insert-fences` adds.

    With `fragments` a tile of sums in f32 is written as threads hold it
    (Fragments.h). With `unfenced` the task that reads the buffer fences these
    writes itself, after the barrier that it waits for (PTX ISA 8.9.5), which
    spares the writers the fence.

    Example:

    ```mlir
    %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
    %x = arith.constant dense<0.0> : tensor<64x64xbf16>
    tlx.local_store %x, %b : tensor<64x64xbf16>, !tlx.memdesc<[64, 64], bf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tile,
    Arg<TLX_MemDescType, "", [MemWrite<TLX_SharedMemory>]>:$destination,
    UnitAttr:$fragments, UnitAttr:$unfenced);
  let assemblyFormat = [{
    $tile `,` $destination (`fragments` $fragments^)? (`unfenced` $unfenced^)?
    attr-dict
    `:` type($tile) `,` qualified(type($destination))
  }];
  let hasVerifier = 1;
}

def TLX_FenceAsyncSharedOp : TLX_Op<"fence_async_shared", [MemoryEffects<[
    MemRead<TLX_SharedMemory>, MemWrite<TLX_SharedMemory>]>]> {
  let summary = "Make this thread's writes visible to TMA and wgmma";
  let description = [{
    `fence.proxy.async.shared::cta` (PTX ISA 9.7.13.4): orders the thread's
    generic accesses to shared memory before later asynchronous ones.

    Example:

    ```mlir
    tlx.fence_async_shared
    ```
  }];
  let assemblyFormat = "attr-dict";
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXMEMORYOPS
