// RUN: jfa-opt %S/Inputs/products.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s

// A fence, four products of 16 of K each, a commit; first without what was
// there before, A and B as they lie (both with K contiguous).
// CHECK:         wgmma.fence.sync.aligned;
// CHECK:         setp.ne.b32 keep, 0, 0;
// CHECK-SAME:    wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{[^}]+}}}, %rd{{[0-9]+}}, %rd{{[0-9]+}}, keep, 1, 1, 0, 0;
// CHECK-SAME:    wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{[^}]+}}}, %rd{{[0-9]+}}, %rd{{[0-9]+}}, all, 1, 1, 0, 0;
// CHECK-SAME:    %rd{{[0-9]+}}, %rd{{[0-9]+}}, all, 1, 1, 0, 0;
// CHECK-SAME:    %rd{{[0-9]+}}, %rd{{[0-9]+}}, all, 1, 1, 0, 0;
// CHECK-NOT:     wgmma.mma_async
// CHECK:         wgmma.commit_group.sync.aligned;
// CHECK:         wgmma.wait_group.sync.aligned 0;
// Then A is in registers, packed in pairs, and B has N contiguous.
// CHECK:         cvt.rn.bf16x2.f32
// CHECK:         wgmma.fence.sync.aligned;
// CHECK:         setp.ne.b32 keep, 0, 0;
// CHECK-SAME:    wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{{[^}]+}}}, {%{{[^}]+}}}, %rd{{[0-9]+}}, keep, 1, 1, 1;
// CHECK-SAME:    %rd{{[0-9]+}}, all, 1, 1, 1;
// CHECK-SAME:    %rd{{[0-9]+}}, all, 1, 1, 1;
// CHECK-SAME:    %rd{{[0-9]+}}, all, 1, 1, 1;
// CHECK-NOT:     wgmma.mma_async
// CHECK:         wgmma.commit_group.sync.aligned;
// CHECK:         wgmma.wait_group.sync.aligned 0;
