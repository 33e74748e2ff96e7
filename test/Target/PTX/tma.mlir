// RUN: jfa-opt %S/Inputs/products.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s

// CHECK-COUNT-2: prefetch.tensormap
// CHECK:         cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%{{.+}}], [%{{.+}}, {%{{.+}}, %{{.+}}}], [%{{.+}}];
// CHECK:         cp.async.bulk.wait_group.read 0;
// CHECK:         fence.proxy.async.shared::cta;
// CHECK:         cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%{{.+}}, {%{{.+}}, %{{.+}}}], [%{{.+}}];
// CHECK-NEXT:    cp.async.bulk.commit_group;
// CHECK:         cp.async.bulk.wait_group 0;
