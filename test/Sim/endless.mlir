// Kernels that do not end, or not soon, keep neither the compiler nor jfa-sim, and what
// loops cannot count by is refused.
//
// RUN: split-file %s %t
// RUN: jfa-sim %t/long.mlir --verify 2>&1 | FileCheck %s --check-prefix=VERIFY
// RUN: %exits 2 jfa-sim %t/long.mlir --verify --strict 2>&1 | FileCheck %s --check-prefix=VERIFY
// RUN: %exits 2 jfa-sim %t/long.mlir --max-steps=1000 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: %exits 2 jfa-sim %t/endless.mlir --max-steps=100000 2>&1 | FileCheck %s --check-prefix=ENDLESS
// RUN: %exits 2 jfa-sim %t/step.mlir --arg s=0 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: %exits 2 jfa-sim %t/step.mlir --arg s=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not jfa-opt %t/step.mlir --arch=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=STEP
//
// VERIFY: long.mlir:1:1: {{remark|error}}: the protocol has not been verified: one of its launches takes more than 4194304 instructions
// LONG: long.mlir:7:7: error: no end: the kernel takes more than 1000 instructions
// ENDLESS: error: no end: the kernel takes more than 100000 instructions
// STEP: error: unsupported: @a expects a step of at least 1, but got 0
// NEGATIVE: error: unsupported: @a expects a step of at least 1, but got -1

//--- long.mlir
tlx.kernel @long() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = arith.constant 2147483647 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %last step %c1 : i32 {
        tlx.named_barrier_wait %c1 threads(32)
      }
    }
  }
}

//--- endless.mlir
// Nothing in it that others could notice.
!tile = !tlx.memdesc<[64, 64], bf16>
tlx.kernel @endless() {
  %buffer = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      %true = arith.constant true
      %zeros = arith.constant dense<0.0> : tensor<64x64xbf16>
      scf.while : () -> () {
        scf.condition(%true)
      } do {
        tlx.local_store %zeros, %buffer : tensor<64x64xbf16>, !tile
        scf.yield
      }
    }
  }
}

//--- step.mlir
tlx.kernel @step(%s: i32) attributes {tlx.trip_counts = ["s"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = arith.constant 10 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %last step %s : i32 {
        tlx.named_barrier_wait %c1 threads(32)
      }
    }
  }
}
