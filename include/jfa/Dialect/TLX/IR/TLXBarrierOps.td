//===- TLXBarrierOps.td - Barrier family: mbarriers and named barriers -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXBARRIEROPS
#define JFA_DIALECT_TLX_IR_TLXBARRIEROPS

include "mlir/Interfaces/InferTypeOpInterface.td"
include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_BarrierDocs : OpDocGroup {
  let summary = "Barrier: what waits for what";
  let description = [{
    An mbarrier completes a phase when all its arrivals have come and all
    expected bytes have landed (PTX ISA 9.7.13.15). Waits name the parity of the
    phase they wait for. A fresh barrier has just completed a phase of parity 1,
    so a producer that waits for a free slot waits for parity 1 first.
  }];
}

let opDocGroup = TLX_BarrierDocs in {

def TLX_AllocBarriersOp : TLX_Op<"alloc_barriers", [
    MemoryEffects<[MemAlloc<TLX_BarrierState>]>,
    DeclareOpInterfaceMethods<TLX_BarrierOpInterface>]> {
  let summary = "Allocate and initialise mbarriers";
  let description = [{
    `arrivals` complete a phase: each `tlx.barrier_arrive` of a task's replica
    is one, each `tlx.barrier_expect_bytes` is one. The barriers live as long as
    the kernel and are initialised before its tasks start.

    Example:

    ```mlir
    %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
    ```
  }];
  let arguments = (ins TLX_ExprAttr:$arrivals, OptionalAttr<I64Attr>:$offset);
  let results = (outs TLX_MBarrierType:$barrier);
  let assemblyFormat = [{
    `arrivals` `(` custom<Expr>($arrivals) `)` (`at` $offset^)? attr-dict
    `:` qualified(type($barrier))
  }];
  let hasVerifier = 1;
}

def TLX_BarrierExpectBytesOp : TLX_Op<"barrier_expect_bytes", [
    AttrSizedOperandSegments, TLX_Synchronizes, DeclareOpInterfaceMethods<TLX_BarrierOpInterface>]> {
  let summary = "Arrive, and expect copies to deliver bytes";
  let description = [{
    One arrival. The phase completes only when the bytes of all `buffers`, or
    `bytes`, have been delivered by asynchronous copies that signal the barrier.
    One thread of the task issues it: `mbarrier.arrive.expect_tx`
    (PTX ISA 9.7.13.15.13).

    With `cta_group(2)` the bytes of the same buffers of both CTAs of a pair are
    expected: the leader does so for the copies of both that say `cta_group(2)`.

    Example:

    ```mlir
    %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
    %k = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
    %i = arith.constant 0 : i32
    tlx.barrier_expect_bytes %full[%i], %k : !tlx.mbarrier<[2]>, !tlx.memdesc<[128, 64], bf16>
    tlx.barrier_expect_bytes %full[%i] bytes(512) : !tlx.mbarrier<[2]>
    ```
  }];
  let arguments = (ins TLX_MBarrierType:$barrier, Optional<I32>:$index,
                       Variadic<TLX_MemDescType>:$buffers,
                       OptionalAttr<TLX_ExprAttr>:$bytes,
                       OptionalAttr<TLX_ExprAttr>:$cta_group);
  let assemblyFormat = [{
    $barrier (`[` $index^ `]`)? (`bytes` `(` custom<Expr>($bytes)^ `)`)?
    (`,` $buffers^)? (`cta_group` `(` custom<Expr>($cta_group)^ `)`)? attr-dict
    `:` qualified(type($barrier)) (`,` qualified(type($buffers))^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The bytes expected; fails while parameters are unbound.
    FailureOr<int64_t> getExpectedBytes();
  }];
}

def TLX_BarrierWaitOp : TLX_Op<"barrier_wait", [
    TLX_Synchronizes, DeclareOpInterfaceMethods<TLX_BarrierOpInterface>]> {
  let summary = "Wait for the phase of a parity to complete";
  let description = [{
    Every thread of the task waits until the phase of parity `phase` (0 or 1) is
    the last one completed. `producer` waits for the opposite parity: with the
    phase of a ring, that the slot has been released, which a fresh barrier says
    of every slot. Then everything before the arrivals of that phase, and the
    bytes delivered in it, are visible. `mbarrier.try_wait.parity` in a loop
    (PTX ISA 9.7.13.15.16).

    Example:

    ```mlir
    %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
    %c = arith.constant 5 : i32
    %slot, %phase = tlx.ring %c stages(2) : i32
    tlx.barrier_wait %full[%slot], %phase : !tlx.mbarrier<[2]>
    ```
  }];
  let arguments = (ins TLX_MBarrierType:$barrier, Optional<I32>:$index,
                       I32:$phase, UnitAttr:$producer);
  let assemblyFormat = [{
    $barrier (`[` $index^ `]`)? `,` $phase (`producer` $producer^)? attr-dict
    `:` qualified(type($barrier))
  }];
  let hasVerifier = 1;
}

def TLX_BarrierArriveOp : TLX_Op<"barrier_arrive", [
    TLX_Synchronizes, DeclareOpInterfaceMethods<TLX_BarrierOpInterface>]> {
  let summary = "Arrive at an mbarrier";
  let description = [{
    One arrival for the replica of the task, after everything that its threads
    did before. PTX ISA 9.7.13.15.13.

    Example:

    ```mlir
    %empty = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[2]>
    %i = arith.constant 0 : i32
    tlx.barrier_arrive %empty[%i] : !tlx.mbarrier<[2]>
    ```
  }];
  let arguments = (ins TLX_MBarrierType:$barrier, Optional<I32>:$index);
  let assemblyFormat = [{
    $barrier (`[` $index^ `]`)? attr-dict `:` qualified(type($barrier))
  }];
  let hasVerifier = 1;
}

class TLX_NamedBarrierOp<string mnemonic> : TLX_Op<mnemonic, [TLX_Synchronizes]> {
  let arguments = (ins I32:$id, TLX_ExprAttr:$threads);
  let assemblyFormat = "$id `threads` `(` custom<Expr>($threads) `)` attr-dict";
  let hasVerifier = 1;
}

def TLX_NamedBarrierWaitOp : TLX_NamedBarrierOp<"named_barrier_wait"> {
  let summary = "Arrive at a hardware barrier and wait for it";
  let description = [{
    `bar.sync id, threads` (PTX ISA 9.7.13.1). `threads` counts everyone who
    arrives or waits. Ids count from 0; the compiler takes its own from 15
    downwards, one for each replica of a task that needs one.

    Example:

    ```mlir
    %id = arith.constant 1 : i32
    tlx.named_barrier_wait %id threads(256)
    ```
  }];
}

def TLX_NamedBarrierArriveOp : TLX_NamedBarrierOp<"named_barrier_arrive"> {
  let summary = "Arrive at a hardware barrier without waiting";
  let description = [{
    `bar.arrive id, threads` (PTX ISA 9.7.13.1).

    Example:

    ```mlir
    %id = arith.constant 1 : i32
    tlx.named_barrier_arrive %id threads(256)
    ```
  }];
}

def TLX_RingOp : TLX_Op<"ring", [Pure]> {
  let summary = "Where a running count stands in a ring";
  let description = [{
    `slot = count mod stages`, `phase = (count floordiv stages) mod 2`; the count
    is not negative.

    Example:

    ```mlir
    %c = arith.constant 5 : i32
    %slot, %phase = tlx.ring %c stages(2) : i32
    ```
  }];
  let arguments = (ins I32:$count, TLX_ExprAttr:$stages);
  let results = (outs I32:$slot, I32:$phase);
  let assemblyFormat = [{
    $count `stages` `(` custom<Expr>($stages) `)` attr-dict `:` type($count)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXBARRIEROPS
