// Products of 64 rows in tensor memory.
//
// RUN: jfa-opt %S/../../Sim/half_tiles.mlir --arch=sm_100a --emit=ptx -o - | FileCheck %s
// RUN: jfa-opt %S/../../Sim/half_tiles.mlir --arch=sm_100a -D WARPS=8 --emit=ptx -o - | FileCheck %s --check-prefix=GROUPS

// The odd tile of a ring is in the same columns as the even one, 16 lanes further on:
// 16 << 16 in the address.
// CHECK: tcgen05.alloc
// CHECK: and.b32 [[ODD:%r[0-9]+]], %r{{[0-9]+}}, 1;
// CHECK: shl.b32 %r{{[0-9]+}}, [[ODD]], 20;
// Two threads share a row: 64 columns each of S's 128, 32 of those that P has.
// CHECK: tcgen05.ld.sync.aligned.16x32bx2.x32.b32 {%r{{[^}]+}}}, [%r{{[0-9]+}}+0], 64; {{.*}} [%r{{[0-9]+}}+32], 64; tcgen05.wait::ld.sync.aligned;
// CHECK: tcgen05.st.sync.aligned.16x32bx2.x32.b32 [%r{{[0-9]+}}+0], 32, {%r{{[^}]+}}};
// CHECK: tcgen05.wait::st.sync.aligned;
// The descriptor: f32 sums (1 << 4), bf16 (1 << 7, 1 << 10), N 128 (16 << 17), M 64
// (4 << 24); then N 64 (8 << 17), and a B whose N is contiguous (1 << 16).
// CHECK: mov.b32 [[S:%r[0-9]+]], 69207184;
// CHECK-COUNT-4: tcgen05.mma.cta_group::1.kind::f16{{.*}} [%r{{[0-9]+}}], %rd{{[0-9]+}}, %rd{{[0-9]+}}, [[S]], %p{{[0-9]+}};
// CHECK: mov.b32 [[O:%r[0-9]+]], 68224144;
// CHECK-COUNT-8: tcgen05.mma.cta_group::1.kind::f16{{.*}} [%r{{[0-9]+}}], [%r{{[0-9]+}}], %rd{{[0-9]+}}, [[O]], %p{{[0-9]+}};

// Two warpgroups have half of the columns each.
// GROUPS: tcgen05.ld.sync.aligned.16x32bx2.x32.b32 {%r{{[^}]+}}}, [%r{{[0-9]+}}+0], 32; tcgen05.wait::ld.sync.aligned;
// GROUPS: tcgen05.st.sync.aligned.16x32bx2.x16.b32 [%r{{[0-9]+}}+0], 16, {%r{{[^}]+}}};
