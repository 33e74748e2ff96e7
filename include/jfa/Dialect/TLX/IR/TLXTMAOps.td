//===- TLXTMAOps.td - TMA family: asynchronous copies -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXTMAOPS
#define JFA_DIALECT_TLX_IR_TLXTMAOPS

include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_TMADocs : OpDocGroup {
  let summary = "TMA: asynchronous copies between global and shared memory";
  let description = [{
    Coordinates are those of the tensor's axes, in elements, slowest first.
    Ragged maps take a segment of axis 0: `segment(%start, %length)`, and the
    coordinate of axis 0 counts from its start. Rows past the segment's end read
    as zero and are not written. A load has to begin inside of its segment:
    hardware faults on a box that is wholly out of bounds. One thread of the task
    issues each copy.

    `cache(evict_first)` and `cache(evict_last)` say what the L2 cache should drop
    before or after all else, of what a copy reads or writes:
    `.L2::cache_hint` with a policy that `createpolicy.fractional` makes for all
    of it (PTX ISA 9.7.9.18). Only time depends on it.
  }];
}

let opDocGroup = TLX_TMADocs in {

def TLX_AsyncDescriptorLoadOp : TLX_Op<"async_descriptor_load", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<TLX_AsyncOpInterface>,
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_BarrierOpInterface>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>]> {
  let summary = "Start a copy of a box of a tensor into a buffer";
  let description = [{
    Writes the buffer through the async proxy and delivers its bytes, also those
    out of bounds, to the barrier: `cp.async.bulk.tensor` with
    `mbarrier::complete_tx::bytes` (PTX ISA 9.7.9.27).

    With `multicast` it writes the same buffer of every CTA of the cluster whose
    rank is in the mask (`.multicast::cluster`), and delivers all of its bytes to
    the same barrier of each of them. Each expects the bytes of all copies that
    reach it, whoever has started them.

    With `cta_group(2)` it writes the CTA's own buffer and delivers the bytes to
    the barrier of the leader, the CTA of even rank of the pair
    (`.cta_group::2`): there the factors of a product of the pair are awaited.
    The leader expects the bytes of both CTAs (`tlx.barrier_expect_bytes` with
    `cta_group`). A copy is not `multicast` as well.

    Example:

    ```mlir
    tlx.kernel @k(%map: !tlx.tensormap<[128, 1, 64], bf16, ragged>, %start: i32, %length: i32) {
      %c0 = arith.constant 0 : i32
      %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
      %k = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
      tlx.async_descriptor_load %map[%c0, %c0, %c0] segment(%start, %length), %k signal %full : !tlx.tensormap<[128, 1, 64], bf16, ragged>, !tlx.memdesc<[128, 64], bf16>, !tlx.mbarrier<[1]>
    }
    ```
  }];
  let arguments = (ins
    Arg<TLX_TensorMapType, "", [MemRead<TLX_GlobalMemory>]>:$map,
    Variadic<I32>:$coordinates,
    Optional<I32>:$segment_start, Optional<I32>:$segment_length,
    Arg<TLX_MemDescType, "", [MemWrite<TLX_SharedMemory>]>:$destination,
    Arg<TLX_MBarrierType, "", [MemRead<TLX_BarrierState>, MemWrite<TLX_BarrierState>]>:$barrier,
    Optional<I32>:$index, Optional<I32>:$multicast,
    OptionalAttr<TLX_ExprAttr>:$cta_group,
    OptionalAttr<TLX_CacheHintAttr>:$cache);
  let assemblyFormat = [{
    $map `[` $coordinates `]`
    (`segment` `(` $segment_start^ `,` $segment_length `)`)? `,`
    $destination `signal` $barrier (`[` $index^ `]`)?
    (`multicast` `(` $multicast^ `)`)?
    (`cta_group` `(` custom<Expr>($cta_group)^ `)`)?
    (`cache` `(` custom<CacheHint>($cache)^ `)`)? attr-dict
    `:` qualified(type($map)) `,` qualified(type($destination)) `,`
    qualified(type($barrier))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// Whether it delivers its bytes to the leader of a pair of CTAs, as far as
    /// that is known.
    bool isOfPair() { return ::mlir::jfa::tlx::isPair(getCtaGroupAttr()); }
  }];
}

class TLX_AsyncDescriptorWriteOp<string mnemonic, dag more = (ins)>
    : TLX_Op<mnemonic, [
        AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<TLX_AsyncOpInterface>,
        DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
        MemoryEffects<[MemWrite<TLX_StoreGroups>]>]> {
  let arguments = !con((ins
    Arg<TLX_TensorMapType, "", [MemWrite<TLX_GlobalMemory>]>:$map,
    Variadic<I32>:$coordinates,
    Optional<I32>:$segment_start, Optional<I32>:$segment_length,
    Arg<TLX_MemDescType, "", [MemRead<TLX_SharedMemory>]>:$source,
    OptionalAttr<TLX_CacheHintAttr>:$cache), more);
  let assemblyFormat = [{
    $map `[` $coordinates `]`
    (`segment` `(` $segment_start^ `,` $segment_length `)`)? `,`
    $source (`cache` `(` custom<CacheHint>($cache)^ `)`)? attr-dict `:` qualified(type($map)) `,` qualified(type($source))
  }];
  let hasVerifier = 1;
}

def TLX_AsyncDescriptorStoreOp
    : TLX_AsyncDescriptorWriteOp<"async_descriptor_store"> {
  let summary = "Start a copy of a buffer to a box of a tensor";
  let description = [{
    Waits until every thread of the task has arrived here, then one thread
    starts the copy as a bulk group of its own (PTX ISA 9.7.9.27). The buffer is
    read until `tlx.async_descriptor_store_wait` says so.

    Example:

    ```mlir
    tlx.kernel @k(%map: !tlx.tensormap<[64, 64], bf16>) {
      %c0 = arith.constant 0 : i32
      %o = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
      tlx.async_descriptor_store %map[%c0, %c0], %o : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
      tlx.async_descriptor_store_wait pending(0)
    }
    ```
  }];
}

def TLX_AsyncDescriptorReduceOp
    : TLX_AsyncDescriptorWriteOp<"async_descriptor_reduce",
                                 (ins UnitAttr:$ordered)> {
  let summary = "Start adding a buffer to a box of a tensor";
  let description = [{
    As `tlx.async_descriptor_store`, with an atomic addition of each element, in
    any order: `cp.reduce.async.bulk.tensor.add` (PTX ISA 9.7.9.27). With
    `ordered` the kernel sees to the order, so that sums are the same bits in
    each run: the simulator takes two additions to an element that nothing orders
    for a data race. The instruction is the same.

    Example:

    ```mlir
    tlx.kernel @k(%map: !tlx.tensormap<[64, 32], f32>) {
      %c0 = arith.constant 0 : i32
      %o = tlx.local_alloc : !tlx.memdesc<[64, 32], f32>
      tlx.async_descriptor_reduce %map[%c0, %c0], %o : !tlx.tensormap<[64, 32], f32>, !tlx.memdesc<[64, 32], f32>
      tlx.async_descriptor_store_wait pending(0) written
      tlx.async_descriptor_reduce %map[%c0, %c0], %o {ordered} : !tlx.tensormap<[64, 32], f32>, !tlx.memdesc<[64, 32], f32>
    }
    ```
  }];
}

def TLX_AsyncDescriptorStoreWaitOp : TLX_Op<"async_descriptor_store_wait", [
    MemoryEffects<[MemWrite<TLX_StoreGroups>, MemRead<TLX_SharedMemory>,
                   MemWrite<TLX_SharedMemory>]>]> {
  let summary = "Wait until stores have read their buffers";
  let description = [{
    Every thread of the task waits until all but the newest `pending` stores
    that the task has started have read their sources, which may then be
    overwritten. With `written`, until their results are in global memory too.
    The thread that issued the stores waits (`cp.async.bulk.wait_group`, PTX ISA
    9.7.9.25.5), then the task's threads meet.

    Example:

    ```mlir
    tlx.async_descriptor_store_wait pending(0)
    tlx.async_descriptor_store_wait pending(1) written
    ```
  }];
  let arguments = (ins I32Attr:$pending, UnitAttr:$written);
  let assemblyFormat = "`pending` `(` $pending `)` (`written` $written^)? attr-dict";
  let hasVerifier = 1;
}

def TLX_AsyncDescriptorPrefetchOp : TLX_Op<"async_descriptor_prefetch", [
    AttrSizedOperandSegments,
    MemoryEffects<[MemRead<TLX_GlobalMemory>, MemWrite<TLX_GlobalMemory>]>]> {
  let summary = "Start bringing a box of a tensor into the L2 cache";
  let description = [{
    `cp.async.bulk.prefetch.tensor` (PTX ISA 9.7.9.27).

    Example:

    ```mlir
    tlx.kernel @k(%map: !tlx.tensormap<[64, 64], bf16>) {
      %c0 = arith.constant 0 : i32
      tlx.async_descriptor_prefetch %map[%c0, %c0] : !tlx.tensormap<[64, 64], bf16>
    }
    ```
  }];
  let arguments = (ins TLX_TensorMapType:$map, Variadic<I32>:$coordinates,
    Optional<I32>:$segment_start, Optional<I32>:$segment_length);
  let assemblyFormat = [{
    $map `[` $coordinates `]`
    (`segment` `(` $segment_start^ `,` $segment_length `)`)?
    attr-dict `:` qualified(type($map))
  }];
  let hasVerifier = 1;
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXTMAOPS
