// RUN: jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize)' | FileCheck %s --check-prefixes=CHECK,DEFAULT
// RUN: jfa-opt %s -pass-pipeline='builtin.module(tlx-specialize{bindings=BLOCK=64,ELEMENT=f16,CAUSAL=true,STAGES=3})' | FileCheck %s --check-prefixes=CHECK,BOUND

!tile = tensor<?x?xbf16, #tlx.dims<[BLOCK, BLOCK * 2], ELEMENT>>
!wide = tensor<?x?xf32, #tlx.dims<[BLOCK, BLOCK * 2], ELEMENT>>

// Types of arguments, of results and in the function type.
// DEFAULT-LABEL: tlx.kernel @types(
// DEFAULT-SAME:    %map: !tlx.tensormap<[128, 1, 256], bf16, ragged>, %p: !tlx.ptr<bf16>)
// DEFAULT-SAME:    parameters {BLOCK = 128 : i64, CAUSAL = false, ELEMENT = "bf16", STAGES = 2 : i64}
// BOUND-LABEL:   tlx.kernel @types(
// BOUND-SAME:      %map: !tlx.tensormap<[64, 1, 128], f16, ragged>, %p: !tlx.ptr<f16>)
// BOUND-SAME:      parameters {BLOCK = 64 : i64, CAUSAL = true, ELEMENT = "f16", STAGES = 3 : i64}
// CHECK-NOT:     tlx.param
// CHECK-NOT:     tlx.constraint
tlx.kernel @types(%map: !tlx.tensormap<[BLOCK, 1, BLOCK * 2], ELEMENT, ragged>,
                  %p: !tlx.ptr<ELEMENT>) {
  %block = tlx.param BLOCK = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  tlx.param STAGES = 2 from 1 to 8 : i32
  tlx.constraint BLOCK le 128
  // DEFAULT: local_alloc : !tlx.memdesc<[2, 128, 256], bf16>
  // BOUND: local_alloc : !tlx.memdesc<[3, 64, 128], f16>
  %buffers = tlx.local_alloc : !tlx.memdesc<[STAGES, BLOCK, BLOCK * 2], ELEMENT>
  // DEFAULT: alloc_barriers arrivals(2) : !tlx.mbarrier<[2]>
  // BOUND:   alloc_barriers arrivals(1) : !tlx.mbarrier<[3]>
  %full = tlx.alloc_barriers arrivals(BLOCK floordiv 64) : !tlx.mbarrier<[STAGES]>
  tlx.async_tasks {
    // DEFAULT: tlx.async_task @compute warps(4) replicate(2)
    // BOUND:   tlx.async_task @compute warps(4) replicate(1)
    tlx.async_task @compute warps(4) replicate(BLOCK floordiv 64) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %zero = arith.constant 0.0 : f32
      // DEFAULT: tlx.splat %{{.+}} : f32 -> tensor<128x256xf32>
      // BOUND:   tlx.splat %{{.+}} : f32 -> tensor<64x128xf32>
      %wide = tlx.splat %zero : f32 -> !wide
      // A region's arguments, and a cast that ends in the element parameter.
      // DEFAULT: scf.for {{.+}} iter_args({{.+}}) -> (tensor<128x256xf32>)
      // BOUND:   scf.for {{.+}} iter_args({{.+}}) -> (tensor<64x128xf32>)
      %sum = scf.for %i = %c0 to %block step %c1 iter_args(%x = %wide) -> (!wide) : i32 {
        scf.yield %x : !wide
      }
      // DEFAULT: arith.truncf %{{.+}} : tensor<128x256xf32> to tensor<128x256xbf16>
      // BOUND:   arith.truncf %{{.+}} : tensor<64x128xf32> to tensor<64x128xf16>
      %narrow = arith.truncf %sum : !wide to !tile
      // DEFAULT: %[[TRUE:.+]] = arith.constant dense<1.500000e+00> : tensor<64xbf16>
      // BOUND:   %[[TRUE:.+]] = arith.constant dense<1.500000e+00> : tensor<64xf16>
      %constant = arith.constant dense<1.5> : tensor<64xbf16, #tlx.dims<[64], ELEMENT>>
      scf.if %causal {
        tlx.task_barrier
      }
    }
  }
}

// Parameters as values.
// CHECK-LABEL: tlx.kernel @values(
// DEFAULT-DAG:   %[[BLOCK:.+]] = arith.constant 128 : i32
// BOUND-DAG:     %[[BLOCK:.+]] = arith.constant 64 : i32
// DEFAULT-DAG:   %[[CAUSAL:.+]] = arith.constant false
// BOUND-DAG:     %[[CAUSAL:.+]] = arith.constant true
// CHECK:         arith.select %[[CAUSAL]], %[[BLOCK]], %{{.+}} : i32
tlx.kernel @values(%p: !tlx.ptr<i32>) {
  %block = tlx.param BLOCK = 128 : i32
  %causal = tlx.param CAUSAL = false : i1
  %unused = tlx.param UNUSED = -1 : i32
  %c0 = arith.constant 0 : i32
  %x = arith.select %causal, %block, %c0 : i32
  tlx.global_store %x, %p[%c0] : i32, !tlx.ptr<i32>, i32
}

// Nothing to bind.
// CHECK-LABEL: tlx.kernel @plain() parameters {} {
tlx.kernel @plain() {
}

// What was bound before stays.
// CHECK-LABEL: tlx.kernel @again() parameters {BLOCK = 8 : i64} {
tlx.kernel @again() parameters {BLOCK = 8 : i64} {
}
