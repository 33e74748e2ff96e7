// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-LABEL: tlx.kernel @products() {
tlx.kernel @products() {
  // CHECK: %[[A:.+]] = tlx.local_alloc
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
  // CHECK: %[[T:.+]] = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %k = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %t = tlx.local_trans %k : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 128], bf16, transposed>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %c = arith.constant dense<0.0> : tensor<64x128xf32>
      %r = arith.constant dense<0.0> : tensor<64x64xbf16>
      // CHECK: %[[X:.+]] = tlx.async_dot %[[A]], %{{.+}} : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
      %x = tlx.async_dot %a, %b : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
      // CHECK: %[[Y:.+]] = tlx.async_dot %[[A]], %{{.+}}, %{{.+}} : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16, transposed> -> tensor<64x128xf32>
      %y = tlx.async_dot %a, %t, %c : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16, transposed> -> tensor<64x128xf32>
      // CHECK: %[[Z:.+]] = tlx.async_dot %{{.+}}, %{{.+}} : tensor<64x64xbf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
      %z = tlx.async_dot %r, %b, %c {note = "kept"} : tensor<64x64xbf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
      // CHECK: %{{.+}}:2 = tlx.async_dot_wait %[[X]], %[[Y]] pending(1) : tensor<64x128xf32>, tensor<64x128xf32>
      %xy:2 = tlx.async_dot_wait %x, %y pending(1) : tensor<64x128xf32>, tensor<64x128xf32>
      // CHECK: %{{.+}} = tlx.async_dot_wait %[[Z]] pending(0) keep(%{{.+}} : tensor<64x64xbf16>) : tensor<64x128xf32>
      %done = tlx.async_dot_wait %z pending(0) keep(%r : tensor<64x64xbf16>) : tensor<64x128xf32>
    }
  }
}

// Of 8-bit elements there are two kinds, which may meet.
// CHECK-LABEL: tlx.kernel @narrow_products() {
tlx.kernel @narrow_products() {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 32], f8E4M3FN>
  %b = tlx.local_alloc : !tlx.memdesc<[8, 32], f8E5M2>
  %t = tlx.local_trans %b : !tlx.memdesc<[8, 32], f8E5M2> -> !tlx.memdesc<[32, 8], f8E5M2, transposed>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // CHECK: tlx.async_dot %{{.+}}, %{{.+}} : !tlx.memdesc<[64, 32], f8E4M3FN>, !tlx.memdesc<[32, 8], f8E5M2, transposed> -> tensor<64x8xf32>
      %x = tlx.async_dot %a, %t : !tlx.memdesc<[64, 32], f8E4M3FN>, !tlx.memdesc<[32, 8], f8E5M2, transposed> -> tensor<64x8xf32>
      %done = tlx.async_dot_wait %x pending(0) : tensor<64x8xf32>
    }
  }
}

// A parameter may choose between two products; none is in a branch once it is bound.
// CHECK-LABEL: tlx.kernel @chosen_product() {
tlx.kernel @chosen_product() {
  %in_registers = tlx.param IN_REGISTERS = false : i1
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %r = arith.constant dense<0.0> : tensor<64x64xbf16>
      %c = arith.constant dense<0.0> : tensor<64x128xf32>
      // CHECK: %[[X:.+]] = scf.if %{{.+}} -> (!tlx.pending<tensor<64x128xf32>>) {
      %x = scf.if %in_registers -> (!tlx.pending<tensor<64x128xf32>>) {
        %p = tlx.async_dot %r, %b : tensor<64x64xbf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
        scf.yield %p : !tlx.pending<tensor<64x128xf32>>
      } else {
        %p = tlx.async_dot %a, %b : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
        scf.yield %p : !tlx.pending<tensor<64x128xf32>>
      }
      %y = tlx.async_dot %r, %b, %c : tensor<64x64xbf16>, !tlx.memdesc<[64, 128], bf16> -> tensor<64x128xf32>
      // CHECK: tlx.async_dot_wait %[[X]] pending(1) : tensor<64x128xf32>
      %done = tlx.async_dot_wait %x pending(1) : tensor<64x128xf32>
    }
  }
}

// Blocks of 32 elements along K have scales, in tensor memory.
// CHECK-LABEL: tlx.kernel @scaled_products(
tlx.kernel @scaled_products() {
  %more = arith.constant true
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], f8E4M3FN>
  %b = tlx.local_alloc : !tlx.memdesc<[160, 64], f8E5M2>
  %t = tlx.local_trans %b : !tlx.memdesc<[160, 64], f8E5M2> -> !tlx.memdesc<[64, 160], f8E5M2, transposed>
  %sa = tlx.local_alloc : !tlx.memdesc<[128, 4], i32, tensor>
  %sb = tlx.local_alloc : !tlx.memdesc<[128, 8], i32, tensor>
  %c = tlx.local_alloc : !tlx.memdesc<[128, 160], f32, tensor>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.async_dot_scaled %[[A:.+]] scale(%[[SA:.+]]), %[[T:.+]] scale(%[[SB:.+]]), %[[C:.+]] : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 160], f8E5M2, transposed>, !tlx.memdesc<[128, 8], i32, tensor>, !tlx.memdesc<[128, 160], f32, tensor>
      tlx.async_dot_scaled %a scale(%sa), %t scale(%sb), %c : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 160], f8E5M2, transposed>, !tlx.memdesc<[128, 8], i32, tensor>, !tlx.memdesc<[128, 160], f32, tensor>
      // CHECK: tlx.async_dot_scaled %[[A]] scale(%[[SA]]), %[[T]] scale(%[[SB]]), %[[C]] accumulate(%{{.+}}) {note = "kept"} :
      tlx.async_dot_scaled %a scale(%sa), %t scale(%sb), %c accumulate(%more) {note = "kept"} : !tlx.memdesc<[128, 64], f8E4M3FN>, !tlx.memdesc<[128, 4], i32, tensor>, !tlx.memdesc<[64, 160], f8E5M2, transposed>, !tlx.memdesc<[128, 8], i32, tensor>, !tlx.memdesc<[128, 160], f32, tensor>
    }
  }
}
