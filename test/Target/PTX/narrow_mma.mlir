// Products of 8-bit elements: eight of 32 of K each, and no word on which way a
// factor lies, since there is only one.

// RUN: jfa-opt %S/Inputs/narrow_products.mlir --arch=sm_90a --verify-protocol=strict --emit=ptx -o - | FileCheck %s

// CHECK:         cp.async.bulk.tensor.
// CHECK:         wgmma.fence.sync.aligned;
// CHECK:         setp.ne.b32 keep, 0, 0;
// CHECK-SAME:    wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2 {{{[^}]+}}}, {{[^,]+}}, {{[^,]+}}, keep, 1, 1;
// CHECK-SAME:    wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2 {{{[^}]+}}}, {{[^,]+}}, {{[^,]+}}, all, 1, 1;
// CHECK-COUNT-5: wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2
// CHECK-SAME:    wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2 {{{[^}]+}}}, {{[^,]+}}, {{[^,]+}}, all, 1, 1; }
// CHECK-NOT:     wgmma.mma_async
// CHECK:         wgmma.commit_group.sync.aligned;
// CHECK:         wgmma.wait_group.sync.aligned 0;
