// RUN: jfa-opt %S/Inputs/products.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s

// The loading task's barriers take one arrival, the computing task's four.
// CHECK-DAG:     mov.b32 [[ONE:%r[0-9]+]], 1;
// CHECK:         mbarrier.init.shared.b64 [%{{.+}}], [[ONE]];
// CHECK:         mbarrier.init.shared.b64 [%{{.+}}], [[ONE]];
// CHECK:         mov.b32 [[FOUR:%r[0-9]+]], 4;
// CHECK:         mbarrier.init.shared.b64 [%{{.+}}], [[FOUR]];
// CHECK:         mbarrier.init.shared.b64 [%{{.+}}], [[FOUR]];
// CHECK:         fence.mbarrier_init.release.cluster;
// CHECK:         mbarrier.try_wait.parity.shared::cta.b64 complete,
// CHECK:         mov.b32 [[BYTES:%r[0-9]+]], 8192;
// CHECK:         mbarrier.arrive.expect_tx.shared.b64 %{{.+}}, [%{{.+}}], [[BYTES]];
// CHECK:         mbarrier.try_wait.parity.shared::cta.b64 complete,
// CHECK:         bar.warp.sync -1;
// CHECK:         mbarrier.arrive.shared.b64 %{{.+}}, [%{{.+}}];
