// RUN: jfa-opt %S/Inputs/products.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s

// CHECK:      .extern .shared .align 1024 .b8 tlx_shared_memory[];
// CHECK:      .visible .entry products(
// CHECK-NEXT:   .param .align 64 .b8 products_param_0[128],
// CHECK-NEXT:   .param .align 64 .b8 products_param_1[128],
// CHECK-NEXT:   .param .u64 .ptr .global .align 1 products_param_2,
// CHECK-NEXT:   .param .u32 products_param_3
// CHECK:      .reqntid 256
// CHECK-NEXT: .minnctapersm 1
// CHECK:      fence.mbarrier_init.release.cluster;
// CHECK-NOT:  setmaxnreg
// CHECK:      bar.sync 0;
// CHECK:      shfl.sync.idx.b32
// CHECK:      setmaxnreg.dec.sync.aligned.u32 24;
// The launch has 248 registers for each of the 256 threads.
// CHECK:      setmaxnreg.dec.sync.aligned.u32 240;
