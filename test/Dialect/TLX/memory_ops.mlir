// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-LABEL: tlx.kernel @memory(%i: i32) {
tlx.kernel @memory(%i: i32) {
  // CHECK: %[[RING:.+]] = tlx.local_alloc : !tlx.memdesc<[2, 128, 64], bf16>
  %ring = tlx.local_alloc : !tlx.memdesc<[2, 128, 64], bf16>
  // CHECK: %[[PLACED:.+]] = tlx.local_alloc at 1024 : !tlx.memdesc<[64], f32>
  %placed = tlx.local_alloc at 1024 : !tlx.memdesc<[64], f32>
  // CHECK: tlx.local_alloc alias(%[[RING]]) at 0 : !tlx.memdesc<[64, 64], f16>, !tlx.memdesc<[2, 128, 64], bf16>
  %o = tlx.local_alloc alias(%ring) at 0 : !tlx.memdesc<[64, 64], f16>, !tlx.memdesc<[2, 128, 64], bf16>
  // CHECK: tlx.local_alloc {note = "kept"} : !tlx.memdesc<[1, 2, 8, 16], i8>
  %deep = tlx.local_alloc {note = "kept"} : !tlx.memdesc<[1, 2, 8, 16], i8>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %c0 = arith.constant 0 : i32
      // CHECK: %[[TILE:.+]] = tlx.local_view %[[RING]][%i] : !tlx.memdesc<[2, 128, 64], bf16> -> !tlx.memdesc<[128, 64], bf16>
      %tile = tlx.local_view %ring[%i] : !tlx.memdesc<[2, 128, 64], bf16> -> !tlx.memdesc<[128, 64], bf16>
      // CHECK: %[[HALF:.+]] = tlx.local_slice %[[TILE]][%{{.+}}, %{{.+}}] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>
      %half = tlx.local_slice %tile[%i, %c0] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>
      // CHECK: tlx.local_slice %[[HALF]][%{{.+}}, %{{.+}}] : !tlx.memdesc<[64, 64], bf16, of = [128, 64]> -> !tlx.memdesc<[8, 64], bf16, of = [128, 64]>
      %part = tlx.local_slice %half[%c0, %c0] : !tlx.memdesc<[64, 64], bf16, of = [128, 64]> -> !tlx.memdesc<[8, 64], bf16, of = [128, 64]>
      // CHECK: %[[TRANS:.+]] = tlx.local_trans %[[HALF]] : !tlx.memdesc<[64, 64], bf16, of = [128, 64]> -> !tlx.memdesc<[64, 64], bf16, of = [64, 128], transposed>
      %trans = tlx.local_trans %half : !tlx.memdesc<[64, 64], bf16, of = [128, 64]> -> !tlx.memdesc<[64, 64], bf16, of = [64, 128], transposed>
      // CHECK: tlx.local_trans %[[TRANS]] : {{.+}} -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>
      %again = tlx.local_trans %trans : !tlx.memdesc<[64, 64], bf16, of = [64, 128], transposed> -> !tlx.memdesc<[64, 64], bf16, of = [128, 64]>
      // CHECK: tlx.local_reinterpret %[[TILE]] : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], f32>
      %other = tlx.local_reinterpret %tile : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 64], f32>
      // CHECK: %[[X:.+]] = tlx.local_load %[[PLACED]] : !tlx.memdesc<[64], f32> -> tensor<64xf32>
      %x = tlx.local_load %placed : !tlx.memdesc<[64], f32> -> tensor<64xf32>
      // CHECK: tlx.local_store %[[X]], %[[PLACED]] : tensor<64xf32>, !tlx.memdesc<[64], f32>
      tlx.local_store %x, %placed : tensor<64xf32>, !tlx.memdesc<[64], f32>
      // CHECK: tlx.fence_async_shared
      tlx.fence_async_shared
    }
  }
}

// The keywords of a type in any order; the only memory space is not printed.
// CHECK-LABEL: func.func private @types(
// CHECK-SAME:    !tlx.memdesc<[8, 16], f16, of = [16, 32], transposed>
// CHECK-SAME:    !tlx.memdesc<[64], f32>
// CHECK-SAME:    !tlx.mbarrier<[4]>, !tlx.ptr<i64>, !tlx.pending<tensor<64x8xf32>>
func.func private @types(!tlx.memdesc<[8, 16], f16, transposed, of = [16, 32]>,
    !tlx.memdesc<[64], f32, smem>, !tlx.mbarrier<[4]>, !tlx.ptr<i64>,
    !tlx.pending<tensor<64x8xf32>>)
