// RUN: jfa-opt %S/Inputs/products.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s

// Rows are reduced in registers, then by the quads that hold them, and written
// by one thread of each. No element changes warps.
// CHECK-NOT:     ld.shared
// CHECK-COUNT-2: shfl.sync.bfly.b32 %{{.+}}, %{{.+}}, 1, 31, -1;
// CHECK-COUNT-2: shfl.sync.bfly.b32 %{{.+}}, %{{.+}}, 2, 31, -1;
// CHECK-NOT:     shfl.sync.bfly
// CHECK-COUNT-2: st.global.b32 [%{{.+}}], %{{.+}};
// CHECK-NOT:     st.global
// CHECK-NOT:     ld.shared
