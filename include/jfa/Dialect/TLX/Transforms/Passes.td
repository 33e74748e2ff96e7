//===- Passes.td - Passes on the tlx dialect -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_TRANSFORMS_PASSES
#define JFA_DIALECT_TLX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// From parameters to one program
//===----------------------------------------------------------------------===//

def SpecializePass : Pass<"tlx-specialize"> {
  let summary = "Bind the parameters of kernels";
  let description = [{
    Gives every `tlx.param` of every kernel below (or of the kernel it runs on)
    the value bound by `bindings`, otherwise its default. Types and attributes
    that name parameters become static, uses of parameters as values become
    constants, and `parameters` of the kernel records what was bound. A tile
    whose written element type is the default of its element parameter takes the
    parameter's value.

    It refuses, naming what is legal:
    1. a binding that is not `NAME=VALUE`;
    2. a name that no kernel declares;
    3. a value that is not legal, or two values for one name;
    4. a parameter that is neither bound nor has a default;
    5. values that violate a `tlx.constraint`;
    6. values that make a type illegal, such as an extent of zero.

    Functions that kernels call may not name parameters; they take values as
    arguments.

    With `bindings=HEAD_DIM=64,ELEMENT=f16`,

    ```mlir
    tlx.kernel @k(%x: !tlx.ptr<ELEMENT>) {
      %d = tlx.param HEAD_DIM = 128 in [64, 128] : i32
      tlx.param ELEMENT = bf16 in [bf16, f16]
      tlx.constraint HEAD_DIM le 128
      %i = tlx.iota dim 1 : tensor<64x?xi32, #tlx.dims<[64, HEAD_DIM]>>
      %v = tlx.global_load %x[%i] : !tlx.ptr<ELEMENT>, tensor<64x?xi32, #tlx.dims<[64, HEAD_DIM]>>
          -> tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
    }
    ```

    becomes

    ```mlir
    tlx.kernel @k(%x: !tlx.ptr<f16>) parameters {ELEMENT = "f16", HEAD_DIM = 64 : i64} {
      %d = arith.constant 64 : i32
      %i = tlx.iota dim 1 : tensor<64x64xi32>
      %v = tlx.global_load %x[%i] : !tlx.ptr<f16>, tensor<64x64xi32> -> tensor<64x64xf16>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    ListOption<"bindings", "bindings", "std::string",
               "Values of parameters: NAME=VALUE, separated by commas">,
  ];
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

def PeelMaskedTailPass
    : InterfacePass<"tlx-peel-masked-tail", "::mlir::FunctionOpInterface"> {
  let summary = "Split loops where their masked iterations begin";
  let description = [{
    A loop that contains `tlx.in_masked_tail` of its induction variable is split
    into one whose iterations all come before `first` and one whose iterations
    all come at or after it; the op becomes a constant in each, so that
    canonicalisation leaves the bulk of the iterations without a mask and
    without a branch. The second loop goes on with the values of the first. A
    loop with several different `first`s is split at each of them.

    An op that is not about the induction variable of a loop around it, or whose
    `first` is not defined outside that loop, becomes a comparison, with a
    remark. The bounds of the loops are signed.

    ```mlir
    %r = scf.for %j = %lb to %ub step %c1 iter_args(%x = %a) -> (f32) : i32 {
      %masked = tlx.in_masked_tail %j from %first : i32
      %y = scf.if %masked -> f32 { ... } else { ... }
      scf.yield %y : f32
    }
    ```

    becomes

    ```mlir
    %from = arith.maxsi %lb, %first : i32
    %split = arith.minsi %ub, %from : i32
    %bulk = scf.for %j = %lb to %split step %c1 iter_args(%x = %a) -> (f32) : i32 {
      %masked = arith.constant false
      %y = scf.if %masked -> f32 { ... } else { ... }
      scf.yield %y : f32
    }
    %r = scf.for %j = %split to %ub step %c1 iter_args(%x = %bulk) -> (f32) : i32 {
      %masked = arith.constant true
      %y = scf.if %masked -> f32 { ... } else { ... }
      scf.yield %y : f32
    }
    ```

    A step other than the constant 1 makes `%from` the first iteration at or
    after `%first`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def UnrollPass : InterfacePass<"tlx-unroll", "::mlir::FunctionOpInterface"> {
  let summary = "Unroll the loops marked with tlx.unroll";
  let description = [{
    Unrolls every `scf.for` with the attribute `tlx.unroll = N` by the factor N,
    from 1 to 64, leaving a loop for the iterations that remain where the number
    of iterations is not known to be a multiple. A loop known to be shorter than
    N is unrolled whole. Innermost loops come first.

    The body of an `scf.while` whose condition is the constant false takes the
    place of the loop: parameters can switch loops off.

    ```mlir
    scf.for %i = %c0 to %c8 step %c1 : i32 {
      tlx.barrier_wait %full, %i : !tlx.mbarrier<[1]>
    } {tlx.unroll = 2}
    ```

    becomes

    ```mlir
    scf.for %i = %c0 to %c8 step %c2 : i32 {
      tlx.barrier_wait %full, %i : !tlx.mbarrier<[1]>
      %next = arith.addi %i, %c1 : i32
      tlx.barrier_wait %full, %next : !tlx.mbarrier<[1]>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// Registers and shared memory
//===----------------------------------------------------------------------===//

def AssignLayoutsPass
    : Pass<"tlx-assign-layouts", "::mlir::jfa::tlx::KernelOp"> {
  let summary = "Give every tile a register layout";
  let description = [{
    Gives every tile of every task a `#tlx.layout`. It starts from the layouts
    that the hardware demands (`TileOpInterface`: the accumulators of
    `tlx.async_dot`) and follows the relations between an op's tiles in both
    directions; the tiles of an elementwise op, a load or a store share one
    layout, and so do the values that control flow passes on. Tiles that no
    demand reaches get one in which neighbouring threads hold neighbouring
    elements.

    A constant, splat or iota is made again for each layout that its uses need,
    and so are changes of shape. Any other tile that is needed in a layout other
    than its own is moved by `tlx.convert_layout`; a remark of category `layout`
    says what each one costs.

    It refuses tiles outside of tasks and ops whose tiles no layout fits.

    With a task of one warp,

    ```mlir
    %rows = tlx.iota dim 0 : tensor<64xi32>
    %x = tlx.global_load %in[%rows] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32>
    tlx.global_store %x, %out[%rows] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    ```

    becomes

    ```mlir
    #layout = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
    %rows = tlx.iota dim 0 : tensor<64xi32, #layout>
    %x = tlx.global_load %in[%rows] : !tlx.ptr<f32>, tensor<64xi32, #layout> -> tensor<64xf32, #layout>
    tlx.global_store %x, %out[%rows] : tensor<64xf32, #layout>, !tlx.ptr<f32>, tensor<64xi32, #layout>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::jfa::tlx::TLXDialect"];
}

def VerifyLayoutsPass
    : Pass<"tlx-verify-layouts", "::mlir::jfa::tlx::KernelOp"> {
  let summary = "Check that the layouts of tiles agree";
  let description = [{
    Checks what `tlx-assign-layouts` establishes: every tile has a layout for as
    many threads as its task has, and the layouts of an op's tiles are related
    as the op says. Passes that make or move tiles after layouts have been
    assigned have to keep this.

    It changes nothing. Of a task of one warp, it accepts

    ```mlir
    #rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
    %r = tlx.iota dim 0 : tensor<64xi32, #rows>
    ```

    and refuses

    ```mlir
    %r = tlx.iota dim 0 : tensor<64xi32>
    ```
  }];
}

def VerifyTargetPass
    : Pass<"tlx-verify-target", "::mlir::jfa::tlx::KernelOp"> {
  let summary = "Check that an architecture has what a kernel uses";
  let description = [{
    Refuses ops, and forms of ops, that `arch` lacks, and says what to use
    instead: products in registers are Hopper's, tensor memory is Blackwell's.

    It changes nothing. For `sm_100a` it accepts

    ```mlir
    tlx.async_dot %a, %b, %d : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
    ```

    and refuses

    ```mlir
    %d = tlx.async_dot %a, %b : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
    ```
  }];
  let options = [
    Option<"arch", "arch", "std::string", "\"sm_90a\"",
           "The architecture that is compiled for">,
  ];
}

def AllocateMemoryPass
    : Pass<"tlx-allocate-memory", "::mlir::jfa::tlx::KernelOp"> {
  let summary = "Lay out the shared and tensor memory of kernels";
  let description = [{
    Sets `offset`, in bytes from the start of the CTA's dynamic shared memory,
    of every `tlx.local_alloc`, of every `tlx.alloc_barriers` and of every
    `tlx.convert_layout` that moves elements between threads, and
    `tlx.shared_memory_bytes` of the kernel. Swizzled tiles start at multiples
    of their pattern, 1024 bytes for the 128-byte swizzle, other buffers at
    multiples of 128; mbarriers come last. It expects static types and layouts.

    Buffers live as long as the kernel. They share storage if `alias` says so,
    or if they are used by the same task, which has one replica, through the
    generic proxy only and in different top-level ops of its body: then
    `tlx-insert-fences`, which has to come later, keeps their accesses apart.

    More than `limit` bytes are an error that lists every buffer.

    Buffers in tensor memory get the number of their first column, in the order
    of the program; they share columns only if `alias` says so. The kernel's
    `tlx.tensor_memory_columns` says how many are allocated: a power of two from
    32 to 512, beyond which there are none; and `tlx.tensor_memory_address`
    where in shared memory the hardware writes the address of the first.

    ```mlir
    tlx.kernel @k() {
      %k = tlx.local_alloc : !tlx.memdesc<[2, 128, 64], bf16>
      %rows = tlx.local_alloc : !tlx.memdesc<[64], f32>
      %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
    }
    ```

    becomes

    ```mlir
    tlx.kernel @k() attributes {tlx.shared_memory_bytes = 33040 : i64} {
      %k = tlx.local_alloc at 0 : !tlx.memdesc<[2, 128, 64], bf16>
      %rows = tlx.local_alloc at 32768 : !tlx.memdesc<[64], f32>
      %full = tlx.alloc_barriers arrivals(1) at 33024 : !tlx.mbarrier<[2]>
    }
    ```
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "232448",
           "Bytes of shared memory that a CTA may have">,
  ];
}

def InsertFencesPass
    : Pass<"tlx-insert-fences", "::mlir::jfa::tlx::KernelOp"> {
  let summary = "Order accesses to shared memory within tasks";
  let description = [{
    1. Inserts `tlx.task_barrier` where an access to a buffer may meet bytes
       that another thread of the task has accessed through the generic proxy
       since the threads last met, and one of the two writes.
       `tlx.task_barrier` and the stores of the TMA family let the threads meet.
    2. Inserts `tlx.fence_async_shared` after generic writes that an
       asynchronous access may meet, and after generic reads that an
       asynchronous write may meet (PTX ISA 8.6): before that access, or before
       the next op that lets other threads or tasks know, whichever comes first,
       so that every thread fences its own accesses. Those that are `unfenced`
       are left to the kernel.

    3. Inserts `tlx.tcgen05_fence before` where other threads may learn that
       this one has accessed tensor memory, or where it is about to access what
       it has written there, and `tlx.tcgen05_fence after` before the first
       access to tensor memory after a wait (PTX ISA 9.7.16.6).

    Nothing is inserted where the kernel already has it. Buffers that share
    storage, by `alias` or by their offsets, count as one, and so do the tiles
    of a ring. The order between tasks is the author's business.

    ```mlir
    tlx.local_store %x, %o : tensor<64x64xbf16, #layout>, !tlx.memdesc<[64, 64], bf16>
    %y = tlx.local_load %o : !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xbf16, #layout>
    tlx.async_descriptor_store %map[%c0, %c0], %o : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
    ```

    becomes

    ```mlir
    tlx.local_store %x, %o : tensor<64x64xbf16, #layout>, !tlx.memdesc<[64, 64], bf16>
    tlx.fence_async_shared
    tlx.task_barrier
    %y = tlx.local_load %o : !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xbf16, #layout>
    tlx.async_descriptor_store %map[%c0, %c0], %o : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
    ```
  }];
  let dependentDialects = ["::mlir::jfa::tlx::TLXDialect"];
}

#endif // JFA_DIALECT_TLX_TRANSFORMS_PASSES
