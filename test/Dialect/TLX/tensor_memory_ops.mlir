// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-LABEL: tlx.kernel @tensor_memory(%i: i32) {
tlx.kernel @tensor_memory(%i: i32) {
  tlx.param N = 128 : i32
  %c0 = arith.constant 0 : i32
  %more = arith.constant true
  %c64 = arith.constant 64 : i32
  %q = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %k = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
  // CHECK: tlx.local_alloc : !tlx.memdesc<[2, 128, N], f32, tensor>
  %open = tlx.local_alloc : !tlx.memdesc<[2, 128, N], f32, tensor>
  // CHECK: %[[RING:.+]] = tlx.local_alloc at 256 : !tlx.memdesc<[2, 128, 128], f32, tensor>
  %ring = tlx.local_alloc at 256 : !tlx.memdesc<[2, 128, 128], f32, tensor>
  // CHECK: tlx.local_alloc alias(%[[RING]]) : !tlx.memdesc<[128, 64], f16, tensor>, !tlx.memdesc<[2, 128, 128], f32, tensor>
  %same = tlx.local_alloc alias(%ring) : !tlx.memdesc<[128, 64], f16, tensor>, !tlx.memdesc<[2, 128, 128], f32, tensor>
  %done = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  %dones = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // CHECK: %[[S:.+]] = tlx.local_view %[[RING]][%i] : !tlx.memdesc<[2, 128, 128], f32, tensor> -> !tlx.memdesc<[128, 128], f32, tensor>
      %s = tlx.local_view %ring[%i] : !tlx.memdesc<[2, 128, 128], f32, tensor> -> !tlx.memdesc<[128, 128], f32, tensor>
      // CHECK: %[[HALF:.+]] = tlx.local_slice %[[S]][%{{.+}}, %{{.+}}] : !tlx.memdesc<[128, 128], f32, tensor> -> !tlx.memdesc<[128, 32], f32, tensor>
      %half = tlx.local_slice %s[%c0, %c64] : !tlx.memdesc<[128, 128], f32, tensor> -> !tlx.memdesc<[128, 32], f32, tensor>
      // CHECK: %[[P:.+]] = tlx.local_reinterpret %[[HALF]] : !tlx.memdesc<[128, 32], f32, tensor> -> !tlx.memdesc<[128, 64], bf16, tensor>
      %p = tlx.local_reinterpret %half : !tlx.memdesc<[128, 32], f32, tensor> -> !tlx.memdesc<[128, 64], bf16, tensor>
      // CHECK: tlx.async_dot %{{.+}}, %{{.+}}, %[[S]] : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
      tlx.async_dot %q, %k, %s : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
      // CHECK: tlx.async_dot %[[P]], %{{.+}}, %[[S]] accumulate(%{{.+}}) {note = "kept"} : !tlx.memdesc<[128, 64], bf16, tensor>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
      tlx.async_dot %p, %k, %s accumulate(%more) {note = "kept"} : !tlx.memdesc<[128, 64], bf16, tensor>, !tlx.memdesc<[64, 128], bf16>, !tlx.memdesc<[128, 128], f32, tensor>
      // CHECK: tlx.tcgen05_commit %{{.+}} : !tlx.mbarrier<[1]>
      tlx.tcgen05_commit %done : !tlx.mbarrier<[1]>
      // CHECK: tlx.tcgen05_commit %{{.+}}[%i] : !tlx.mbarrier<[2]>
      tlx.tcgen05_commit %dones[%i] : !tlx.mbarrier<[2]>
      // CHECK: tlx.tcgen05_fence after
      tlx.tcgen05_fence after
      // CHECK: %[[X:.+]] = tlx.local_load %[[HALF]] : !tlx.memdesc<[128, 32], f32, tensor> -> tensor<128x32xf32>
      %x = tlx.local_load %half : !tlx.memdesc<[128, 32], f32, tensor> -> tensor<128x32xf32>
      // CHECK: tlx.local_store %[[X]], %[[HALF]] : tensor<128x32xf32>, !tlx.memdesc<[128, 32], f32, tensor>
      tlx.local_store %x, %half : tensor<128x32xf32>, !tlx.memdesc<[128, 32], f32, tensor>
      // CHECK: tlx.tcgen05_fence before
      tlx.tcgen05_fence before
      %b = arith.cmpf olt, %x, %x : tensor<128x32xf32>
      // CHECK: tlx.vote_any %{{.+}} : tensor<128x32xi1>
      %any = tlx.vote_any %b : tensor<128x32xi1>
    }
  }
}

// CHECK-LABEL: tlx.kernel @half_tiles(%i: i32) {
tlx.kernel @half_tiles(%i: i32) {
  %q = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %k = tlx.local_alloc : !tlx.memdesc<[64, 72], bf16>
  // CHECK: %[[RING:.+]] = tlx.local_alloc : !tlx.memdesc<[2, 64, 72], f32, tensor>
  %ring = tlx.local_alloc : !tlx.memdesc<[2, 64, 72], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // CHECK: %[[S:.+]] = tlx.local_view %[[RING]][%i] : !tlx.memdesc<[2, 64, 72], f32, tensor> -> !tlx.memdesc<[64, 72], f32, tensor>
      %s = tlx.local_view %ring[%i] : !tlx.memdesc<[2, 64, 72], f32, tensor> -> !tlx.memdesc<[64, 72], f32, tensor>
      // CHECK: tlx.async_dot %{{.+}}, %{{.+}}, %[[S]] : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 72], bf16>, !tlx.memdesc<[64, 72], f32, tensor>
      tlx.async_dot %q, %k, %s : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 72], bf16>, !tlx.memdesc<[64, 72], f32, tensor>
      // CHECK: tlx.local_load %[[S]] : !tlx.memdesc<[64, 72], f32, tensor> -> tensor<64x72xf32>
      %x = tlx.local_load %s : !tlx.memdesc<[64, 72], f32, tensor> -> tensor<64x72xf32>
    }
  }
}

// CHECK-LABEL: tlx.kernel @scales()
tlx.kernel @scales() {
  %from = tlx.local_alloc : !tlx.memdesc<[256], i32>
  %to = tlx.local_alloc : !tlx.memdesc<[128, 8], i32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.tmem_copy %{{.+}}, %{{.+}} : !tlx.memdesc<[256], i32>, !tlx.memdesc<[128, 8], i32, tensor>
      tlx.tmem_copy %from, %to : !tlx.memdesc<[256], i32>, !tlx.memdesc<[128, 8], i32, tensor>
    }
  }
}
