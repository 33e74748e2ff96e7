// A real ptxas: its complaint about setmaxnreg without a known register count,
// and its errors.

// REQUIRES: ptxas
// RUN: split-file %s %t
// RUN: not jfa-opt %t/setmaxnreg.mlir --arch=sm_90a -o %t/out.cubin 2>&1 | FileCheck %s --check-prefix=IGNORED
// RUN: not jfa-opt %t/error.mlir --arch=sm_90a -o %t/out.cubin 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not ls %t/out.cubin %t/out.json
// RUN: jfa-opt %t/good.mlir --arch=sm_90a --arch=sm_100a --lineinfo -o %t/out.jfab
// RUN: %python %S/../Driver/Inputs/read_bundle.py %t/out.jfab %t/out.json | FileCheck %s --check-prefix=GOOD

// IGNORED: setmaxnreg.mlir:1:1: error: {{.*}}C7508: {{.*}}'setmaxnreg' ignored
// ERROR: error.mlir:1:1: error: expected PTX that ptxas accepts, but got: {{.*}}frobnicate
// ERROR: note: line {{[0-9]+}} of the PTX: frobnicate.b32;
// GOOD: k sm_90a [128, 1, 1] b'\x7fELF
// GOOD: k sm_100a [128, 1, 1] b'\x7fELF

//--- setmaxnreg.mlir
llvm.func @k() attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "setmaxnreg.dec.sync.aligned.u32 24;", "" : () -> ()
  llvm.return
}

//--- error.mlir
llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  llvm.inline_asm has_side_effects "frobnicate.b32;", "" : () -> ()
  llvm.return
}

//--- good.mlir
llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  nvvm.barrier0
  llvm.return
}
