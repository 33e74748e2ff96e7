// RUN: jfa-opt %S/../../Sim/pair.mlir --arch=sm_100a --emit=ptx -o - | FileCheck %s
// RUN: jfa-opt %S/../../Sim/pair.mlir --arch=sm_100a --emit=ptx -o - | FileCheck %s --check-prefix=END
// RUN: jfa-opt %S/../../Sim/pair.mlir --arch=sm_100a -D CTAS=1 --emit=ptx -o - | FileCheck %s --check-prefix=ONE
// RUN: jfa-opt %S/../../Sim/pair_few_rows.mlir --arch=sm_100a --emit=ptx -o - | FileCheck %s --check-prefix=FEW
// RUN: not jfa-opt %S/../../Sim/pair_few_rows.mlir --arch=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=HOPPER

// HOPPER: error: 'tlx.local_alloc' op expected an architecture with tensor memory

// Both CTAs allocate; they meet once barriers are there, and before they free.
// CHECK: .reqnctapercluster 2
// CHECK: tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32
// CHECK: tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: barrier.cluster.arrive.aligned;
// CHECK: barrier.cluster.wait.aligned;

// P is told to the leader.
// CHECK: tcgen05.wait::st.sync.aligned;
// CHECK: tcgen05.fence::before_thread_sync;
// CHECK: mapa.shared::cluster.u64
// CHECK: mbarrier.arrive.shared::cluster.b64

// 65536 bytes: of each CTA 16384 of X, 8192 of W and 8192 of V.
// CHECK: mov.b32 [[BYTES:%r[0-9]+]], 65536;
// CHECK-NEXT: mbarrier.arrive.expect_tx.shared.b64 %rd{{[0-9]+}}, [%rd{{[0-9]+}}], [[BYTES]];
// The barrier is that of the even rank.
// CHECK: and.b32 [[LEADER:%r[0-9]+]], %r{{[0-9]+}}, -16777217;
// CHECK: cvt.u64.u32 [[BARRIER:%rd[0-9]+]], [[LEADER]];
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%{{.+}}], [%{{.+}}, {%{{.+}}, %{{.+}}}], {{\[}}[[BARRIER]]];
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2

// CHECK-COUNT-4: tcgen05.mma.cta_group::2.kind::f16{{.*}} [%r{{[0-9]+}}], %rd{{[0-9]+}}, %rd{{[0-9]+}}, %r{{[0-9]+}}, %p{{[0-9]+}};
// CHECK: tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%rd{{[0-9]+}}], %rs{{[0-9]+}};
// CHECK-COUNT-8: tcgen05.mma.cta_group::2.kind::f16{{.*}} [%r{{[0-9]+}}], [%r{{[0-9]+}}], %rd{{[0-9]+}}, %r{{[0-9]+}}, %p{{[0-9]+}};
// CHECK-COUNT-2: tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64

// END: barrier.cluster.arrive.aligned;
// END: barrier.cluster.arrive.aligned;
// END-NEXT: barrier.cluster.wait.aligned;
// END-NEXT: tcgen05.fence::after_thread_sync;
// END: tcgen05.dealloc.cta_group::2.sync.aligned.b32

// Of one CTA nothing of that is left.
// ONE-NOT: cluster_ctarank
// ONE-NOT: cta_group::2
// ONE-NOT: multicast
// ONE-NOT: barrier.cluster

// FEW: tcgen05.mma.cta_group::2.kind::f16
