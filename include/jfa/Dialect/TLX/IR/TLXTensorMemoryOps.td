//===- TLXTensorMemoryOps.td - TensorMemory family: tcgen05's order -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXTENSORMEMORYOPS
#define JFA_DIALECT_TLX_IR_TLXTENSORMEMORYOPS

include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_TensorMemoryDocs : OpDocGroup {
  let summary = "TensorMemory: the order of what happens in tensor memory";
  let description = [{
    Tensor memory is allocated, viewed, read and written by the ops of the
    Memory family and computed in by those of the MMA family. What is here
    orders that (PTX ISA 9.7.16.6).
  }];
}

let opDocGroup = TLX_TensorMemoryDocs in {

def TLX_Tcgen05CommitOp : TLX_Op<"tcgen05_commit", [
    AttrSizedOperandSegments, TLX_Synchronizes,
    DeclareOpInterfaceMethods<TLX_BarrierOpInterface>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>]> {
  let summary = "Arrive at an mbarrier when the products started so far are done";
  let description = [{
    One arrival, made when all products that this replica of the task has
    started into tensor memory are done: they have read their factors, and their
    sums are there. It returns at once, and says nothing of what else the task
    did before. The thread that issues the products issues it:
    `tcgen05.commit.mbarrier::arrive::one` (PTX ISA 9.7.16.12).

    With `multicast` the arrival is made at the same barrier of every CTA of the
    cluster whose rank is in the mask (`.multicast::cluster`). That is how both
    CTAs of a pair learn of a product that one of them has started.

    Example:

    ```mlir
    %done = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
    %i = arith.constant 0 : i32
    tlx.tcgen05_commit %done[%i] : !tlx.mbarrier<[2]>
    ```

    ```mlir
    tlx.kernel @k() cluster(2) {
      %done = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
      %both = arith.constant 3 : i32
      tlx.async_tasks {
        tlx.async_task @multiply warps(1) {
          tlx.tcgen05_commit %done multicast(%both) : !tlx.mbarrier<[1]>
        }
      }
    }
    ```
  }];
  let arguments = (ins TLX_MBarrierType:$barrier, Optional<I32>:$index,
                       Optional<I32>:$multicast);
  let assemblyFormat = [{
    $barrier (`[` $index^ `]`)? (`multicast` `(` $multicast^ `)`)? attr-dict
    `:` qualified(type($barrier))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def TLX_Tcgen05FenceOp : TLX_Op<"tcgen05_fence", [
    MemoryEffects<[MemRead<TLX_SharedMemory>, MemWrite<TLX_SharedMemory>]>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>]> {
  let summary = "Order accesses to tensor memory around a synchronisation";
  let description = [{
    What a thread does in tensor memory comes before what another one does there
    after a synchronisation of the two if the former executes
    `tlx.tcgen05_fence before` ahead of it and the latter `tlx.tcgen05_fence
    after` behind it (`tcgen05.fence`, PTX ISA 9.7.16.11). `before` also waits
    until the thread's own writes are done (`tcgen05.wait::st`). The end of
    products, learnt from a barrier that `tlx.tcgen05_commit` arrives at, needs
    only the latter. `tlx-insert-fences` adds both.

    Example:

    ```mlir
    tlx.tcgen05_fence before
    tlx.tcgen05_fence after
    ```
  }];
  let arguments = (ins TLX_Tcgen05FenceKindAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

def TLX_TmemCopyOp : TLX_Op<"tmem_copy", [
    DeclareOpInterfaceMethods<TLX_AsyncOpInterface>,
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>,
    MemoryEffects<[MemRead<TLX_SharedMemory>, MemWrite<TLX_SharedMemory>]>]> {
  let summary = "Start a copy of scales into tensor memory";
  let description = [{
    Copies blocks of 128 cells of 32 bits, the scales of 128 rows for 4 blocks of
    K, to 4 columns each: cell `4 * l + c` goes to column c of lane l and of
    lanes l + 32, l + 64 and l + 96, as `tlx.async_dot_scaled` wants them. One
    `tcgen05.cp.32x128b.warpx4` for each block (PTX ISA 9.7.16.9), issued by one
    thread of the task. Products that the same thread starts later come after
    it, and `tlx.tcgen05_commit` tells when it is done.

    Constraint: the source is `!tlx.memdesc<[128 * n], i32>`, the destination
    `!tlx.memdesc<[128, 4 * n], i32, tensor>`.

    Example:

    ```mlir
    %from = tlx.local_alloc : !tlx.memdesc<[256], i32>
    %to = tlx.local_alloc : !tlx.memdesc<[128, 8], i32, tensor>
    tlx.tmem_copy %from, %to : !tlx.memdesc<[256], i32>, !tlx.memdesc<[128, 8], i32, tensor>
    ```
  }];
  let arguments = (ins TLX_MemDescType:$source, TLX_MemDescType:$destination);
  let assemblyFormat = [{
    $source `,` $destination attr-dict
    `:` qualified(type($source)) `,` qualified(type($destination))
  }];
  let hasVerifier = 1;
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXTENSORMEMORYOPS
