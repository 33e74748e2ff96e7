// RUN: jfa-opt %S/Inputs/scaled_products.mlir --arch=sm_100a --verify-protocol=strict --emit=ptx -o - | FileCheck %s
// RUN: not jfa-opt %S/Inputs/scaled_products.mlir --arch=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=HOPPER

// HOPPER: expected an architecture with tensor memory (sm_100a, sm_103a, sm_110a), but got sm_90a

// Blocks of 512 bytes of scales: two of A's, four of B's.
// CHECK-COUNT-6: tcgen05.cp.cta_group::1.32x128b.warpx4 [%r{{[0-9+]+}}], %rd{{[0-9]+}};
// Eight times 32 of K.
// CHECK-COUNT-8: tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%r{{[0-9+]+}}], %rd{{[0-9]+}}, %rd{{[0-9]+}}, %r{{[0-9]+}}, [%r{{[0-9+]+}}], [%r{{[0-9+]+}}], adds;
// CHECK-NOT: tcgen05.mma
// CHECK: tcgen05.commit.cta_group::1
