// RUN: jfa-opt %s --tlx-assign-layouts --convert-tlx-to-nvvm --canonicalize --cse | FileCheck %s

// S = Q K^T: both operands have K contiguous. A descriptor is the address in
// units of 16 bytes and fixed bits: the 128-byte swizzle (1 << 62), 1024 bytes
// to the next eight rows (64 << 32), and 1 << 16, which is not used.
// CHECK-LABEL: llvm.func @k_major(
// CHECK-DAG:     %[[BITS:.+]] = arith.constant 4611686293305360384 : i64
// CHECK-DAG:     %[[WINDOW:.+]] = arith.constant 262143 : i32
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : i32
// CHECK-DAG:     %[[STEP1:.+]] = arith.constant 2 : i64
// CHECK-DAG:     %[[STEP3:.+]] = arith.constant 6 : i64
tlx.kernel @k_major(%p: !tlx.ptr<f32>) {
  %q = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  %k = tlx.local_alloc at 8192 : !tlx.memdesc<[128, 64], bf16>
  %t = tlx.local_trans %k : !tlx.memdesc<[128, 64], bf16> -> !tlx.memdesc<[64, 128], bf16, transposed>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // CHECK: %[[B_LOW:.+]] = arith.andi %{{.+}}, %[[WINDOW]]
      // CHECK: %[[B_UNITS:.+]] = arith.shrui %[[B_LOW]], %[[C4]]
      // CHECK: %[[B_64:.+]] = arith.extui %[[B_UNITS]] : i32 to i64
      // CHECK: %[[B:.+]] = arith.ori %[[B_64]], %[[BITS]]
      // CHECK: %[[A:.+]] = arith.ori %{{.+}}, %[[BITS]]
      // CHECK: nvvm.wgmma.fence.aligned
      // CHECK-DAG: %[[B1:.+]] = arith.addi %[[B]], %[[STEP1]]
      // CHECK-DAG: %[[B3:.+]] = arith.addi %[[B]], %[[STEP3]]
      // CHECK-DAG: %[[A1:.+]] = arith.addi %[[A]], %[[STEP1]]
      // CHECK-DAG: %[[A3:.+]] = arith.addi %[[A]], %[[STEP3]]
      // CHECK: llvm.inline_asm has_side_effects
      // CHECK-SAME: setp.ne.b32 keep, 0, 0; setp.ne.b32 all, 1, 0;
      // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, {{[^}]+}}, $63}, $132, $128, keep, 1, 1, 0, 0;
      // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, {{[^}]+}}, $63}, $133, $129, all, 1, 1, 0, 0;
      // CHECK-SAME: $134, $130, all, 1, 1, 0, 0;
      // CHECK-SAME: $135, $131, all, 1, 1, 0, 0; }"
      // CHECK-SAME: %[[B]], %[[B1]], %{{[^,]+}}, %[[B3]], %[[A]], %[[A1]], %{{[^,]+}}, %[[A3]] :
      // CHECK: nvvm.wgmma.commit.group.sync.aligned
      %s = tlx.async_dot %q, %t : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 128], bf16, transposed> -> tensor<64x128xf32>
      // CHECK: "wgmma.wait_group.sync.aligned 0;"
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x128xf32>
      %sum = tlx.reduce add %done dim 1 : tensor<64x128xf32> -> tensor<64xf32>
      %i = tlx.iota dim 0 : tensor<64xi32>
      tlx.global_store %sum, %p[%i] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

// B as it lies: N is contiguous, so B is transposed. Panels of 64 columns
// are 64 rows of 128 bytes apart (8192 bytes, 512 << 16); 16 of K are 16 rows,
// 2048 bytes. A transposed has M contiguous.
// CHECK-LABEL: llvm.func @mn_major(
// CHECK-DAG:     %[[BITS:.+]] = arith.constant 4611686293338849280 : i64
// CHECK-DAG:     %[[STEP1:.+]] = arith.constant 128 : i64
// CHECK:         %[[B:.+]] = arith.ori %{{.+}}, %[[BITS]]
// CHECK:         %[[A:.+]] = arith.ori %{{.+}}, %[[BITS]]
// CHECK-DAG:     %[[B1:.+]] = arith.addi %[[B]], %[[STEP1]]
// CHECK-DAG:     %[[A1:.+]] = arith.addi %[[A]], %[[STEP1]]
// CHECK:         wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{[^}]+}}}, $132, $128, keep, 1, 1, 1, 1;
// CHECK-SAME:    %[[B]], %[[B1]], {{.+}}, %[[A]], %[[A1]],
tlx.kernel @mn_major() {
  %q = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], f16>
  %v = tlx.local_alloc at 8192 : !tlx.memdesc<[64, 128], f16>
  %t = tlx.local_trans %q : !tlx.memdesc<[64, 64], f16> -> !tlx.memdesc<[64, 64], f16, transposed>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %s = tlx.async_dot %t, %v : !tlx.memdesc<[64, 64], f16, transposed>, !tlx.memdesc<[64, 128], f16> -> tensor<64x128xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x128xf32>
    }
  }
}

// Narrow tiles use the 32-byte (3 << 62) and the 64-byte swizzle (2 << 62).
// CHECK-LABEL: llvm.func @narrow(
// CHECK-DAG:     arith.constant -4611685949707845632 : i64
// CHECK-DAG:     arith.constant -9223371899411628032 : i64
tlx.kernel @narrow() {
  %q = tlx.local_alloc at 0 : !tlx.memdesc<[64, 16], bf16>
  %v = tlx.local_alloc at 8192 : !tlx.memdesc<[16, 32], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %s = tlx.async_dot %q, %v : !tlx.memdesc<[64, 16], bf16>, !tlx.memdesc<[16, 32], bf16> -> tensor<64x32xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x32xf32>
    }
  }
}

// A in registers stays there until the product is done: the wait reads it too.
// CHECK-LABEL: llvm.func @register_a(
tlx.kernel @register_a(%p: !tlx.ptr<f32>) {
  %v = tlx.local_alloc at 0 : !tlx.memdesc<[32, 8], bf16>
  %w = tlx.local_alloc at 2048 : !tlx.memdesc<[8, 32], bf16>
  %t = tlx.local_trans %w : !tlx.memdesc<[8, 32], bf16> -> !tlx.memdesc<[32, 8], bf16, transposed>
  %b = tlx.local_alloc at 4096 : !tlx.memdesc<[64, 32], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %a = tlx.local_load %b : !tlx.memdesc<[64, 32], bf16> -> tensor<64x32xbf16>
      %c = arith.constant dense<0.0> : tensor<64x8xf32>
      // CHECK: nvvm.wgmma.fence.aligned
      // CHECK: setp.ne.b32 keep, 1, 0;
      // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$10, $11, $12, $13}, $8, keep, 1, 1, 0;
      // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$14, $15, $16, $17}, $9, all, 1, 1, 0; }", "=f,=f,=f,=f,0,1,2,3,l,l,r,r,r,r,r,r,r,r,~{memory}"
      // CHECK: nvvm.wgmma.commit.group.sync.aligned
      %s = tlx.async_dot %a, %t, %c : tensor<64x32xbf16>, !tlx.memdesc<[32, 8], bf16, transposed> -> tensor<64x8xf32>
      // CHECK: "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r,r,r,r,~{memory}"
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x8xf32>
      %sum = tlx.reduce add %done dim 1 : tensor<64x8xf32> -> tensor<64xf32>
      %i = tlx.iota dim 0 : tensor<64xi32>
      tlx.global_store %sum, %p[%i] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

// Two warpgroups have 64 rows of A each, 8192 bytes apart.
// CHECK-LABEL: llvm.func @two_warpgroups(
// CHECK-DAG:     %[[C8192:.+]] = arith.constant 8192 : i32
// CHECK:         nvvm.shfl.sync
// CHECK:         %[[WARP:.+]] = nvvm.shfl.sync
// CHECK:         %[[GROUP:.+]] = arith.divui %[[WARP]], %{{.+}}
// CHECK:         %[[ITS:.+]] = arith.remui %[[GROUP]], %{{.+}}
// CHECK:         arith.muli %[[ITS]], %[[C8192]]
tlx.kernel @two_warpgroups() {
  %q = tlx.local_alloc at 0 : !tlx.memdesc<[128, 64], bf16>
  %v = tlx.local_alloc at 16384 : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(8) {
      %s = tlx.async_dot %q, %v : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<128x64xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<128x64xf32>
    }
  }
}

// Where accumulators leave few registers (192 of 255 here), ring counts are made
// uniform, and a product gets one descriptor of each factor, which its instructions
// add to. Of its units of 16 bytes, those of the buffer (8192 bytes) are constant.
// CHECK-LABEL: llvm.func @short_of_registers(
// CHECK-SAME:    %[[COUNT:[^:]+]]: i32
// CHECK-DAG:     %[[BITS_OF_K:.+]] = arith.constant 4611686293305360896 : i64
// CHECK-DAG:     %[[BITS_OF_Q:.+]] = arith.constant 4611686293305360384 : i64
// CHECK-DAG:     %[[WINDOW:.+]] = arith.constant 262143 : i32
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : i32
// CHECK:         nvvm.shfl.sync {{ ?}}idx %{{.+}}, %[[COUNT]],
// CHECK:         %[[SLOT:.+]] = arith.muli
// CHECK:         %[[LOW:.+]] = arith.andi %{{.+}}, %[[WINDOW]]
// CHECK:         %[[UNITS:.+]] = arith.shrui %[[LOW]], %[[C4]]
// CHECK:         %[[SLOT_UNITS:.+]] = arith.shrui %[[SLOT]], %[[C4]]
// CHECK:         %[[SUM:.+]] = arith.addi %[[UNITS]], %[[SLOT_UNITS]] : i32
// CHECK:         %[[WIDE:.+]] = arith.extui %[[SUM]] : i32 to i64
// CHECK:         %[[K:.+]] = arith.addi %[[WIDE]], %[[BITS_OF_K]] : i64
// CHECK:         %[[Q:.+]] = arith.addi %{{.+}}, %[[BITS_OF_Q]] : i64
// CHECK:         llvm.inline_asm has_side_effects
// CHECK-SAME:    { .reg .pred keep, all; .reg .b64 desc_a, desc_b; setp.ne.b32 keep, 0, 0;
// CHECK-SAME:    $257, $256, keep, 1, 1, 0, 0;
// CHECK-SAME:    add.s64 desc_b, $256, 2; add.s64 desc_a, $257, 2; wgmma.mma_async
// CHECK-SAME:    desc_a, desc_b, all, 1, 1, 0, 0;
// CHECK-SAME:    %[[K]], %[[Q]] :
tlx.kernel @short_of_registers(%count: i32) {
  %q = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  %k = tlx.local_alloc at 8192 : !tlx.memdesc<[2, 256, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %slot, %phase = tlx.ring %count stages(2) : i32
      %tile = tlx.local_view %k[%slot] : !tlx.memdesc<[2, 256, 64], bf16> -> !tlx.memdesc<[256, 64], bf16>
      %t = tlx.local_trans %tile : !tlx.memdesc<[256, 64], bf16> -> !tlx.memdesc<[64, 256], bf16, transposed>
      %s = tlx.async_dot %q, %t : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 256], bf16, transposed> -> tensor<64x256xf32>
      %r = tlx.async_dot %q, %q : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %u = tlx.async_dot %q, %q : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %done:3 = tlx.async_dot_wait %s, %r, %u pending(0) : tensor<64x256xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    }
  }
}
