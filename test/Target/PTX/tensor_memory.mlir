// RUN: jfa-opt %S/Inputs/tensor_products.mlir --arch=sm_100a --emit=ptx -o - | FileCheck %s
// RUN: not jfa-opt %S/Inputs/tensor_products.mlir --arch=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=HOPPER
// RUN: not jfa-opt %S/Inputs/products.mlir --arch=sm_100a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=BLACKWELL

// HOPPER: error: 'tlx.local_alloc' op expected an architecture with tensor memory (sm_100a, sm_103a, sm_110a), but got sm_90a; it has products with sums in registers and 'tlx.async_dot_wait'
// BLACKWELL: error: 'tlx.async_dot' op expected an architecture with products with sums in registers (sm_90a), but got sm_100a; it has a third operand in tensor memory and 'tlx.tcgen05_commit'

// 192 columns make 256. Everybody reads their address before anything else.
// CHECK: .target sm_100a
// CHECK: tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%rd{{[0-9]+}}], %r{{[0-9]+}};
// CHECK: tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
// CHECK: tcgen05.fence::before_thread_sync;
// CHECK: bar.sync 0;
// CHECK: tcgen05.fence::after_thread_sync;
// CHECK: ld.shared.b32

// A row in each thread, read and waited for at once; P is written behind 64
// columns of S.
// CHECK: mbarrier.try_wait
// CHECK: tcgen05.fence::after_thread_sync;
// CHECK: tcgen05.ld.sync.aligned.32x32b.x32.b32 {%r{{[^}]+}}}, [%r{{[0-9]+}}+0]; {{.*}} [%r{{[0-9]+}}+96]; tcgen05.wait::ld.sync.aligned;
// CHECK: cvt.rn.bf16x2.f32
// CHECK: tcgen05.st.sync.aligned.32x32b.x32.b32 [%r{{[0-9]+}}+0], {%r{{[^}]+}}};
// CHECK: tcgen05.st.sync.aligned.32x32b.x32.b32 [%r{{[0-9]+}}+32], {%r{{[^}]+}}};
// CHECK: tcgen05.wait::st.sync.aligned;
// CHECK: tcgen05.fence::before_thread_sync;
// CHECK: mbarrier.arrive
// The result goes to shared memory 16 bytes at a time.
// CHECK: tcgen05.ld.sync.aligned.32x32b.x32.b32
// CHECK-COUNT-8: st.shared.v4.b32
// CHECK-NOT: st.shared.b16

// S = A A^T: four instructions, whose first overwrites. The descriptor: f32 sums
// (1 << 4), bf16 (1 << 7, 1 << 10), N 128 (16 << 17), M 128 (8 << 24).
// CHECK: tcgen05.mma.cta_group::1.kind::f16{{.*}} [%r{{[0-9]+}}], %rd{{[0-9]+}}, %rd{{[0-9]+}}, %r{{[0-9]+}}, %p{{[0-9]+}};
// CHECK-COUNT-3: tcgen05.mma.cta_group::1.kind::f16{{.*}} [%r{{[0-9]+}}], %rd{{[0-9]+}}, %rd{{[0-9]+}}, %r{{[0-9]+}}, %p{{[0-9]+}};
// CHECK: tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64
// P in tensor memory: eight.
// CHECK-COUNT-8: tcgen05.mma.cta_group::1.kind::f16{{.*}} [%r{{[0-9]+}}], [%r{{[0-9]+}}], %rd{{[0-9]+}}, %r{{[0-9]+}}, %p{{[0-9]+}};
// CHECK: tcgen05.commit
// CHECK: tcgen05.commit
// CHECK: bar.sync 0;
// CHECK: tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r{{[0-9]+}}, %r{{[0-9]+}};
