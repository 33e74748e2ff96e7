//===- TLXTaskOps.td - Task family: kernels and the tasks in them -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXTASKOPS
#define JFA_DIALECT_TLX_IR_TLXTASKOPS

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_TaskDocs : OpDocGroup {
  let summary = "Task: kernels and who runs what";
  let description = [{
    A kernel is run by every thread up to its `tlx.async_tasks`, where each warp
    enters the task it belongs to.
  }];
}

let opDocGroup = TLX_TaskDocs in {

def TLX_KernelOp : TLX_Op<"kernel", [
    IsolatedFromAbove, SingleBlock, NoTerminator, FunctionOpInterface,
    OpAsmOpInterface]> {
  let summary = "A GPU kernel";
  let description = [{
    Arguments are tensor maps, global pointers and scalars; their names are part
    of the interface, since the manifest binds by name. One block, no
    terminator. Tiles are made inside of its tasks only, so that no pass can
    share one between tasks.

    `parameters` appears when `tlx-specialize` has bound the parameters.
    `cluster` is the number of CTAs of a cluster, along x: a power of two up to
    8, which every GPU with clusters can launch (the portable limit of CUDA's
    programming guide). Only with it the ops of the Cluster family may be used.
    The grid has whole clusters.

    Example:

    ```mlir
    tlx.kernel @copy(%in: !tlx.tensormap<[64, 64], bf16>, %n: i32) {
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    StrArrayAttr:$argument_names,
    OptionalAttr<DictionaryAttr>:$parameters,
    OptionalAttr<TLX_ExprAttr>:$cluster,
    OptionalAttr<StrAttr>:$sym_visibility,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The CTAs of a cluster, 1 without clusters; none while a parameter decides.
    std::optional<int64_t> getClusterSize();
    // FunctionOpInterface.
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return &getBody(); }
    // OpAsmOpInterface.
    void getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName);
  }];
}

def TLX_AsyncTasksOp : TLX_Op<"async_tasks", [
    HasParent<"KernelOp">, SingleBlock, NoTerminator, NoRegionArguments,
    RecursiveMemoryEffects]> {
  let summary = "Split the warps of the CTA into tasks that run concurrently";
  let description = [{
    Holds only `tlx.async_task`s. Warps are dealt to them in order. Tasks with
    register budgets start at a warpgroup, except that tasks of a few warps with
    the same budget share one. It ends when all tasks have ended; nothing runs
    after it.

    Constraints:
    1. A kernel has at most one, as its last op.
    2. Task names are distinct.
    3. Either every task has a register budget or none has. Budgets are
       multiples of 8 from 24 to 256 and their sum over all threads fits the
       registers that the CTA is launched with (PTX ISA 9.7.19.5).

    Example:

    ```mlir
    tlx.kernel @k() {
      tlx.async_tasks {
        tlx.async_task @load warps(1) registers(24) {
        }
        tlx.async_task @compute warps(4) registers(240) replicate(2) {
        }
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Where the warps of a task begin in the CTA, and how many threads the CTA
    /// has. Fails with a diagnostic while parameters are unbound or where the
    /// register budgets cannot be granted.
    FailureOr<TaskPlacement> getPlacement();
  }];
}

def TLX_AsyncTaskOp : TLX_Op<"async_task", [
    HasParent<"AsyncTasksOp">, SingleBlock, NoTerminator, NoRegionArguments,
    RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<TLX_TaskOpInterface>]> {
  let summary = "One task: a role that some warps play";
  let description = [{
    `warps` of one replica: 1, 2, or a multiple of 4. `registers` is the budget
    of each thread (`setmaxnreg`). `replicate(n)` runs n copies side by side,
    told apart by `tlx.async_task_replica_id`.

    The region may use values from outside, except tiles: those live in
    registers of other threads.

    Example:

    ```mlir
    tlx.kernel @k() {
      tlx.param GROUPS = 2 : i32
      tlx.async_tasks {
        tlx.async_task @compute warps(4) replicate(GROUPS) {
          %id = tlx.async_task_replica_id : i32
        }
      }
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$task_name, TLX_ExprAttr:$warps,
    OptionalAttr<TLX_ExprAttr>:$registers,
    OptionalAttr<TLX_ExprAttr>:$replicas);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $task_name `warps` `(` custom<Expr>($warps) `)`
    (`registers` `(` custom<Expr>($registers)^ `)`)?
    (`replicate` `(` custom<Expr>($replicas)^ `)`)? $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def TLX_AsyncTaskReplicaIdOp : TLX_Op<"async_task_replica_id", [Pure]> {
  let summary = "Which replica of its task this thread runs";
  let description = [{
    From 0 to the task's `replicate` - 1.

    Example:

    ```mlir
    tlx.kernel @k() {
      tlx.async_tasks {
        tlx.async_task @compute warps(4) replicate(2) {
          %id = tlx.async_task_replica_id : i32
        }
      }
    }
    ```
  }];
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict `:` type($id)";
  let hasVerifier = 1;
}

def TLX_CtaIdOp : TLX_Op<"cta_id", [Pure]> {
  let summary = "The index of this CTA in the grid, along x";
  let description = [{
    Example:

    ```mlir
    %cta = tlx.cta_id : i32
    ```
  }];
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict `:` type($id)";
}

def TLX_CtaCountOp : TLX_Op<"cta_count", [Pure]> {
  let summary = "The number of CTAs in the grid, along x";
  let description = [{
    Example:

    ```mlir
    %ctas = tlx.cta_count : i32
    ```
  }];
  let results = (outs I32:$count);
  let assemblyFormat = "attr-dict `:` type($count)";
}

def TLX_TaskBarrierOp : TLX_Op<"task_barrier", [TLX_Synchronizes]> {
  let summary = "Let the threads of this task's replica wait for each other";
  let description = [{
    Generic-proxy memory accesses before it are visible to all of them after it.
    Becomes `bar.sync` on an id that the compiler reserves, `bar.warp.sync` for
    a task of one warp.

    Example:

    ```mlir
    tlx.task_barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXTASKOPS
