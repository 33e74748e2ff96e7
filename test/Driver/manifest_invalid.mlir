// Facts that a manifest cannot do without, or cannot hold.

// RUN: split-file %s %t
// RUN: env FAKE_PTXAS_LOG=%t/k.log jfa-opt %t/block.mlir --arch=sm_90a --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o - --verify-diagnostics
// RUN: env FAKE_PTXAS_LOG=%t/k.log jfa-opt %t/count.mlir --arch=sm_90a --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o - --verify-diagnostics
// RUN: env FAKE_PTXAS_LOG=%t/k.log jfa-opt %t/name.mlir --arch=sm_90a --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o - --verify-diagnostics
// RUN: env FAKE_PTXAS_LOG=%t/k.log jfa-opt %t/value.mlir --arch=sm_90a --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o - --verify-diagnostics
// RUN: jfa-opt %t/binding.mlir --arch=sm_90a -D HEAD_DIM=64 --emit=ptx -o - --verify-diagnostics
// RUN: not jfa-opt %t/binding.mlir --arch=sm_90a -D HEADDIM=64 --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not jfa-opt %t/binding.mlir --arch=sm_90a --specialize=HEAD_DIM=64 --specialize=HEAD_DIM=128 -o - --ptxas=%S/../Target/Inputs/fake-ptxas.sh 2>&1 | FileCheck %s --check-prefix=WHICH

// UNKNOWN: error: expected values for parameters of the kernel only, but got one for 'HEADDIM', and it has no such parameter
// WHICH: error: expected every specialization to compile, but this one does not: sm_90a HEAD_DIM=64

//--- k.log
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Used 8 registers, used 0 barriers

//--- block.mlir
// expected-error@+1 {{expected a kernel with 'nvvm.reqntid', because its block size is part of the manifest}}
llvm.func @k() attributes {nvvm.kernel} {
  llvm.return
}

//--- count.mlir
// expected-error@+1 {{expected 'tlx.arguments' to have 1 elements, one for each argument, but got 0}}
llvm.func @k(%a: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>, tlx.arguments = []} {
  llvm.return
}

//--- name.mlir
// expected-error@+1 {{expected every element of 'tlx.arguments' to be a dictionary with 'name' and 'kind', but got {name = "a"}}}
llvm.func @k(%a: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>, tlx.arguments = [{name = "a"}]} {
  llvm.return
}

//--- value.mlir
// expected-error@+1 {{expected 'tlx.parameters' to hold integers, booleans and strings, but got {A = affine_map<() -> ()>}}}
llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>, tlx.parameters = {A = affine_map<() -> ()>}} {
  llvm.return
}

//--- binding.mlir
// expected-error@+1 {{expected the value that the kernel was lowered for, which is '128' for 'HEAD_DIM', but got '64'}}
llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>, tlx.parameters = {HEAD_DIM = 128 : i64}} {
  llvm.return
}
