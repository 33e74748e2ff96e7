// RUN: jfa-opt %S/../../Sim/cluster.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s

// CHECK:         .reqnctapercluster 2
// CHECK:         fence.mbarrier_init.release.cluster;
// CHECK:         barrier.cluster.arrive.aligned;
// CHECK:         barrier.cluster.wait.aligned;
// CHECK:         mov.u32 %{{.+}}, %cluster_ctarank;
// CHECK:         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%{{.+}}], [%{{.+}}, {%{{.+}}, %{{.+}}}], [%{{.+}}], %{{.+}};
// CHECK:         fence.proxy.async.shared::cta;
// CHECK:         mapa.shared::cluster.u64 [[REMOTE:%rd[0-9]+]], %{{.+}}, %{{.+}};
// No .release.cluster, which is a fence of the whole GPU.
// CHECK:         mbarrier.arrive.shared::cluster.b64 _, {{\[}}[[REMOTE]]],
// CHECK:         barrier.cluster.arrive.aligned;
// CHECK:         barrier.cluster.wait.aligned;
