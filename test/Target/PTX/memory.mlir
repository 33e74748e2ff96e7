// RUN: jfa-opt %S/Inputs/products.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s

// The accumulator goes to shared memory as 8x8 matrices, made visible to the
// copy by each thread before the task's threads meet.
// CHECK-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16 [%{{.+}}], {%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}};
// CHECK-NOT:     stmatrix
// CHECK-NOT:     st.shared
// CHECK:         fence.proxy.async.shared::cta;
// CHECK-NOT:     fence.proxy
// CHECK:         bar.sync 15, 128;
// CHECK:         cp.async.bulk.tensor.2d.global
