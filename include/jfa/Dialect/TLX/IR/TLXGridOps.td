//===- TLXGridOps.td - Grid family: CTAs and grids that wait -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXGRIDOPS
#define JFA_DIALECT_TLX_IR_TLXGRIDOPS

include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_GridDocs : OpDocGroup {
  let summary = "Grid: CTAs, and grids, that wait for each other";
  let description = [{
    A semaphore is a 32-bit counter in global memory, which is 0 when the kernel
    starts: `tlx.semaphore_post` adds 1, `tlx.semaphore_wait` waits for a count.
    CTAs take turns by it: who waits for count i and posts is the i-th.

    Two rules are the author's:

    1. All CTAs of the grid run at the same time, or none waits for one that
       starts later. The launch has to see to that.
    2. Waits are in no circle. The simulator runs all CTAs of such a grid
       together, and finds one.
  }];
}

let opDocGroup = TLX_GridDocs in {

def TLX_SemaphoreWaitOp : TLX_Op<"semaphore_wait", [TLX_Synchronizes]> {
  let summary = "Wait until a counter in global memory has reached a count";
  let description = [{
    Every thread of the task waits until the counter is at least `count`. Then
    what came before the posts that it has counted is visible, also to the
    asynchronous operations that the thread starts: `ld.acquire.gpu` in a loop
    (PTX ISA 9.7.9.8), then `fence.proxy.async.global` (PTX ISA 9.7.13.4).

    The kernel has no clusters, and counters are of 32 bits.

    Example:

    ```mlir
    tlx.kernel @k(%turns: !tlx.ptr<i32>, %tile: i32, %turn: i32) {
      tlx.async_tasks {
        tlx.async_task @add warps(1) {
          tlx.semaphore_wait %turns[%tile], %turn : !tlx.ptr<i32>, i32
          tlx.semaphore_post %turns[%tile] : !tlx.ptr<i32>, i32
        }
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<TLX_PointerType, "", [MemRead<TLX_GlobalMemory>]>:$counters,
    AnyTypeOf<[I32, I64]>:$index, I32:$count);
  let assemblyFormat = [{
    $counters `[` $index `]` `,` $count attr-dict
    `:` qualified(type($counters)) `,` type($index)
  }];
  let hasVerifier = 1;
}

def TLX_SemaphorePostOp : TLX_Op<"semaphore_post", [TLX_Synchronizes]> {
  let summary = "Add 1 to a counter in global memory";
  let description = [{
    Once for the task, after everything that its threads did before: one of them
    executes `red.release.gpu.add` (PTX ISA 9.7.13.6). What stores have written
    comes before it if `tlx.async_descriptor_store_wait … written` does.

    The kernel has no clusters, and counters are of 32 bits.

    Example:

    ```mlir
    tlx.kernel @k(%turns: !tlx.ptr<i32>, %tile: i32) {
      tlx.async_tasks {
        tlx.async_task @add warps(1) {
          tlx.semaphore_post %turns[%tile] : !tlx.ptr<i32>, i32
        }
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<TLX_PointerType, "", [MemRead<TLX_GlobalMemory>, MemWrite<TLX_GlobalMemory>]>:$counters,
    AnyTypeOf<[I32, I64]>:$index);
  let assemblyFormat = [{
    $counters `[` $index `]` attr-dict
    `:` qualified(type($counters)) `,` type($index)
  }];
  let hasVerifier = 1;
}

class TLX_GridDependencyOp<string mnemonic>
    : TLX_Op<mnemonic, [TLX_Synchronizes]> {
  let assemblyFormat = "attr-dict";
}

def TLX_GridDependencyWaitOp : TLX_GridDependencyOp<"grid_dependency_wait"> {
  let summary = "Wait for the grids that this one may overlap";
  let description = [{
    Every thread that executes it waits until the grids before, during which a
    programmatic dependent launch may have started this one, have ended and what
    they wrote is visible: `griddepcontrol.wait` (PTX ISA 9.7.13.14). Nothing
    that they write may be read before, nor anything written that they touch.
    Another launch starts after their end, and waits for nothing here.

    Example:

    ```mlir
    tlx.kernel @k(%p: !tlx.ptr<i32>, %i: i32) {
      tlx.grid_dependency_wait
      %x = tlx.global_load %p[%i] : !tlx.ptr<i32>, i32 -> i32
    }
    ```
  }];
}

def TLX_GridLaunchDependentsOp
    : TLX_GridDependencyOp<"grid_launch_dependents"> {
  let summary = "Let the grid after this one start";
  let description = [{
    When every CTA of the grid has executed it, or has ended, the next grid may
    start, if it is launched as a programmatic dependent:
    `griddepcontrol.launch_dependents` (PTX ISA 9.7.13.14). Once for a CTA is
    enough. It makes nothing visible: the other grid waits for that.

    Example:

    ```mlir
    tlx.kernel @k() {
      tlx.grid_launch_dependents
    }
    ```
  }];
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXGRIDOPS
