// RUN: jfa-opt %s --tlx-allocate-memory | FileCheck %s
// RUN: jfa-opt %s --tlx-allocate-memory --remarks-filter=memory \
// RUN:     --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// The strictest alignment comes first, mbarriers last.
// REMARK: remark: [Analysis] shared_memory | Category:memory | Function=order | Remark="35104 of 232448 bytes of shared memory"
// CHECK-LABEL: @order
// CHECK-SAME: tlx.shared_memory_bytes = 35104 : i64
tlx.kernel @order() {
  // CHECK: alloc_barriers arrivals(1) at 35072 : !tlx.mbarrier<[1]>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  // CHECK: local_alloc at 34816 : !tlx.memdesc<[2, 32], f32>
  %rows = tlx.local_alloc : !tlx.memdesc<[2, 32], f32>
  // CHECK: local_alloc at 32768 : !tlx.memdesc<[64, 16], bf16>
  %narrow = tlx.local_alloc : !tlx.memdesc<[64, 16], bf16>
  // CHECK: local_alloc at 0 : !tlx.memdesc<[2, 128, 64], bf16>
  %k = tlx.local_alloc : !tlx.memdesc<[2, 128, 64], bf16>
  // CHECK: alloc_barriers arrivals(1) at 35080 : !tlx.mbarrier<[2]>
  %ring = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  %i = arith.constant 1 : i32
  // A ring of arrays has no layout as a tile.
  %row = tlx.local_view %rows[%i] : !tlx.memdesc<[2, 32], f32> -> !tlx.memdesc<[32], f32>
  tlx.barrier_expect_bytes %full, %row : !tlx.mbarrier<[1]>, !tlx.memdesc<[32], f32>
}

// CHECK-LABEL: @alias
// CHECK-SAME: tlx.shared_memory_bytes = 24576 : i64
tlx.kernel @alias() {
  // CHECK: local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  // CHECK: local_alloc alias(%{{.+}}) at 0
  %b = tlx.local_alloc alias(%a) : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>
  // CHECK: local_alloc at 16384 : !tlx.memdesc<[64, 64], bf16>
  %c = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
}

// Reinterpreted as a tile, an array is aligned like one.
// CHECK-LABEL: @reinterpret
tlx.kernel @reinterpret() {
  // CHECK: local_alloc at 1024 : !tlx.memdesc<[2048], f32>
  %b = tlx.local_alloc : !tlx.memdesc<[8, 64], bf16>
  %a = tlx.local_alloc : !tlx.memdesc<[2048], f32>
  // CHECK: local_alloc at 9216 : !tlx.memdesc<[10], f32>
  %c = tlx.local_alloc : !tlx.memdesc<[10], f32>
  // CHECK: local_alloc at 9344 : !tlx.memdesc<[10], f32>
  %d = tlx.local_alloc : !tlx.memdesc<[10], f32>
  %t = tlx.local_reinterpret %a : !tlx.memdesc<[2048], f32> -> !tlx.memdesc<[64, 64], bf16>
}

#tile = #tlx.layout<threads = [32 : 0 * 1], registers = [64 : 1 * 1]>

// Generic accesses by one replica in different places of its body share.
// CHECK-LABEL: @live_ranges
// CHECK-SAME: tlx.shared_memory_bytes = 16384 : i64
tlx.kernel @live_ranges(%x: f32, %n: i32) {
  // CHECK: local_alloc at 0
  %a = tlx.local_alloc : !tlx.memdesc<[32, 64], f32>
  // CHECK: local_alloc at 0
  %b = tlx.local_alloc : !tlx.memdesc<[32, 64], f32>
  // In use while b is.
  // CHECK: local_alloc at 8192
  %c = tlx.local_alloc : !tlx.memdesc<[32, 64], f32>
  tlx.async_tasks {
    tlx.async_task @compute warps(1) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %t = tlx.splat %x : f32 -> tensor<32x64xf32, #tile>
      tlx.local_store %t, %a : tensor<32x64xf32, #tile>, !tlx.memdesc<[32, 64], f32>
      %u = tlx.local_load %a : !tlx.memdesc<[32, 64], f32> -> tensor<32x64xf32, #tile>
      scf.for %i = %c0 to %n step %c1 : i32 {
        tlx.local_store %u, %b : tensor<32x64xf32, #tile>, !tlx.memdesc<[32, 64], f32>
        tlx.local_store %u, %c : tensor<32x64xf32, #tile>, !tlx.memdesc<[32, 64], f32>
      }
    }
  }
}

// Replicas do not wait for each other, and copies go on behind the code.
// CHECK-LABEL: @no_sharing
// CHECK-SAME: tlx.shared_memory_bytes = 32768 : i64
tlx.kernel @no_sharing(%x: f32, %map: !tlx.tensormap<[64, 32], f32>) {
  %a = tlx.local_alloc : !tlx.memdesc<[32, 64], f32>
  %b = tlx.local_alloc : !tlx.memdesc<[32, 64], f32>
  %c = tlx.local_alloc : !tlx.memdesc<[32, 64], f32>
  %d = tlx.local_alloc : !tlx.memdesc<[64, 32], f32>
  tlx.async_tasks {
    tlx.async_task @replicated warps(1) replicate(2) {
      %t = tlx.splat %x : f32 -> tensor<32x64xf32, #tile>
      tlx.local_store %t, %a : tensor<32x64xf32, #tile>, !tlx.memdesc<[32, 64], f32>
      tlx.local_store %t, %b : tensor<32x64xf32, #tile>, !tlx.memdesc<[32, 64], f32>
    }
    tlx.async_task @storing warps(1) {
      %c0 = arith.constant 0 : i32
      %t = tlx.splat %x : f32 -> tensor<32x64xf32, #tile>
      tlx.local_store %t, %c : tensor<32x64xf32, #tile>, !tlx.memdesc<[32, 64], f32>
      tlx.async_descriptor_store %map[%c0, %c0], %d : !tlx.tensormap<[64, 32], f32>, !tlx.memdesc<[64, 32], f32>
    }
  }
}

#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
#pairs = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
#swapped = #tlx.layout<threads = [32 : 0 * 1], registers = [1 : 0 * 64, 2 : 0 * 32]>
#wide = #tlx.layout<threads = [32 : 0 * 1], registers = [4 : 0 * 32]>
#wide_pairs = #tlx.layout<threads = [32 : 0 * 4], registers = [4 : 0 * 1]>

// Conversions of one task share; of replicas, those of one size.
// CHECK-LABEL: @scratch
// CHECK-SAME: tlx.shared_memory_bytes = 2048 : i64
tlx.kernel @scratch() {
  tlx.async_tasks {
    tlx.async_task @single warps(1) {
      %x = tlx.iota dim 0 : tensor<64xi32, #rows>
      %y = tlx.iota dim 0 : tensor<128xi32, #wide>
      // CHECK: convert_layout %{{.+}} at 0 : tensor<64xi32
      %a = tlx.convert_layout %x : tensor<64xi32, #rows> -> tensor<64xi32, #pairs>
      // CHECK: convert_layout %{{.+}} at 0 : tensor<128xi32
      %b = tlx.convert_layout %y : tensor<128xi32, #wide> -> tensor<128xi32, #wide_pairs>
      // CHECK: convert_layout %{{.+}} : tensor<64xi32
      %c = tlx.convert_layout %x : tensor<64xi32, #rows> -> tensor<64xi32, #swapped>
    }
    tlx.async_task @replicated warps(1) replicate(2) {
      %x = tlx.iota dim 0 : tensor<64xi32, #rows>
      %y = tlx.iota dim 0 : tensor<128xi32, #wide>
      // CHECK: convert_layout %{{.+}} at 512 : tensor<64xi32
      %a = tlx.convert_layout %x : tensor<64xi32, #rows> -> tensor<64xi32, #pairs>
      // CHECK: convert_layout %{{.+}} at 1024 : tensor<128xi32
      %b = tlx.convert_layout %y : tensor<128xi32, #wide> -> tensor<128xi32, #wide_pairs>
      // CHECK: convert_layout %{{.+}} at 512 : tensor<64xi32
      %c = tlx.convert_layout %a : tensor<64xi32, #pairs> -> tensor<64xi32, #rows>
    }
  }
}
