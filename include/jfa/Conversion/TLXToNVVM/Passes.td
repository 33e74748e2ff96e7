//===- Passes.td - Lowering of the tlx dialect -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_CONVERSION_TLXTONVVM_PASSES
#define JFA_CONVERSION_TLXTONVVM_PASSES

include "mlir/Pass/PassBase.td"

def ConvertTLXToNVVMPass : Pass<"convert-tlx-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Lower kernels to the NVVM and LLVM dialects";
  let description = [{
    Turns each `tlx.kernel` into an `llvm.func` that `nvvm.kernel` marks:

    - tasks become one branch each on the warp's index, with `setmaxnreg` where
      they have register budgets;
    - tiles become the scalars that one thread holds, 16-bit floats in pairs;
      with `packed-f32` sums, differences, products and `math.fma` of f32 tiles
      are computed as `vector<2xf32>`, one instruction for two neighbouring
      registers (`add`, `mul`, `fma` with `.f32x2`, PTX ISA 9.7.3), with the
      same results;
    - buffers and barriers become shared-memory addresses of 32 bits;
    - tensor maps become `grid_constant` parameters of 128 bytes.

    Control flow stays in `scf` and scalar arithmetic in `arith` and `math`, to
    be lowered by the passes for those dialects. The kernel has to be
    specialised, laid out and allocated (`tlx-specialize`, `tlx-assign-layouts`,
    `tlx-allocate-memory`).

    What the host has to know is left on the function: `nvvm.reqntid`,
    `tlx.shared_memory_bytes`, `tlx.parameters` and `tlx.arguments`.

    Before:

    ```mlir
    tlx.kernel @k(%n: i32) attributes {tlx.shared_memory_bytes = 16 : i64} {
      %full = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[1]>
      tlx.async_tasks {
        tlx.async_task @t warps(4) {
          tlx.barrier_arrive %full : !tlx.mbarrier<[1]>
        }
      }
    }
    ```

    After (in part):

    ```mlir
    llvm.func @k(%n: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
      scf.if %is_first_thread {
        nvvm.mbarrier.init %full, %c4 : !llvm.ptr<3>, i32
        nvvm.fence.mbarrier.init
      }
      nvvm.barrier
      scf.if %is_in_task {
        scf.if %is_first_lane {
          nvvm.mbarrier.arrive %full : !llvm.ptr<3>
        }
      }
      llvm.return
    }
    ```
  }];
  let options = [
    Option<"packedF32", "packed-f32", "bool", "false",
           "Compute sums and products of f32 tiles two elements at a time, as "
           "the architecture can (sm_100 on)">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"
  ];
}

#endif // JFA_CONVERSION_TLXTONVVM_PASSES
