// A bundle of two architectures and two kernels, read back by its description.

// RUN: rm -rf %t && mkdir %t
// RUN: env FAKE_PTXAS_LOG=%S/Inputs/two_kernels.log jfa-opt %s --arch=sm_90a --arch=sm_100a --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o %t/out.jfab
// RUN: %python %S/Inputs/read_bundle.py %t/out.jfab %t/out.json | FileCheck %s
// RUN: env FAKE_PTXAS_LOG=%S/Inputs/two_kernels.log jfa-opt %s --arch=sm_90a,sm_100a --emit=bundle --manifest=%t/other.json --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o %t/again.jfab
// RUN: cmp %t/out.jfab %t/again.jfab
// RUN: cmp %t/out.json %t/other.json
// RUN: not ls %t/again.json
// RUN: env FAKE_PTXAS_LOG=%S/Inputs/two_kernels.log jfa-opt %s --arch=sm_90a --emit=bundle --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o - > %t/stdout.jfab
// RUN: %python %S/Inputs/read_bundle.py %t/stdout.jfab

// CHECK: first sm_90a [128, 1, 1] b'fake cubin'
// CHECK-NEXT: second sm_90a [64, 2, 1] b'fake cubin'
// CHECK-NEXT: first sm_100a [128, 1, 1] b'fake cubin'
// CHECK-NEXT: second sm_100a [64, 2, 1] b'fake cubin'
llvm.func @first() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  llvm.return
}
llvm.func @second() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64, 2>} {
  llvm.return
}
