// Every wrong command line says what it should have been, fails and writes
// nothing.

// RUN: rm -rf %t && mkdir -p %t/dir && cp %s %t/in.mlir
// RUN: not jfa-opt %s --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=NOARCH
// RUN: not jfa-opt %s --arch=sm_70 --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not jfa-opt %s --arch=sm_90a --emit=sass -o %t/out 2>&1 | FileCheck %s --check-prefix=EMIT
// RUN: not jfa-opt %s --arch=sm_90a --emit= -o %t/out 2>&1 | FileCheck %s --check-prefix=NOEMIT
// RUN: not jfa-opt %s --arch=sm_90a -D HEAD_DIM --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=UNBOUND
// RUN: not jfa-opt %s --arch=sm_90a -D HEAD_DIM=64 -DHEAD_DIM=128 --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: not jfa-opt %s --arch=sm_90a -D HEAD_DIM=64 --specialize=A=1,HEAD_DIM=128 -o %t/out 2>&1 | FileCheck %s --check-prefix=ONTOP
// RUN: not jfa-opt %s --arch=sm_90a --arch=sm_90a -o %t/out 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not jfa-opt %s --arch=sm_90a --arch=sm_100a --emit=cubin -o %t/out 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not jfa-opt %s --arch=sm_90a --opt-level=4 --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not jfa-opt %s --arch=sm_90a --ptx-version=12 --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not jfa-opt %s --arch=sm_90a --manifest=%t/m.json --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=MANIFEST
// RUN: not jfa-opt %s --arch=sm_90a --canonicalize --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=PASSES
// RUN: not jfa-opt %t/missing.mlir --arch=sm_90a --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not jfa-opt %t/dir --arch=sm_90a --emit=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=INDIR
// RUN: not jfa-opt %s --arch=sm_90a --emit=ptx -o %t/dir 2>&1 | FileCheck %s --check-prefix=DIR
// RUN: not jfa-opt %s --arch=sm_90a --emit=ptx -o %t/none/out 2>&1 | FileCheck %s --check-prefix=NODIR
// RUN: not jfa-opt %t/in.mlir --arch=sm_90a --emit=ptx -o %t/in.mlir 2>&1 | FileCheck %s --check-prefix=SELF
// RUN: not jfa-opt %s --arch=sm_90a --ptxas=%t/ptxas -o %t/out 2>&1 | FileCheck %s --check-prefix=PTXAS
// RUN: not env JFA_PTXAS=%t/dir jfa-opt %s --arch=sm_90a -o %t/out 2>&1 | FileCheck %s --check-prefix=ENV
// RUN: not env -u JFA_PTXAS -u CUDA_PATH PATH=%t CUDA_HOME=%t %jfa-opt %s --arch=sm_90a -o %t/out 2>&1 | FileCheck %s --check-prefix=NOPTXAS
// RUN: not jfa-opt %s --arch=sm_90a --ptxas=%S/../Target/Inputs/fake-ptxas.sh -o %t/out.json 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: diff %s %t/in.mlir
// RUN: ls %t | FileCheck %s --check-prefix=LEFT

// NOARCH: jfa-opt: error: expected --arch with one of sm_90a, sm_100a{{.*}}, but got no --arch
// ARCH: jfa-opt: error: --arch: expected one of sm_90a, sm_100a{{.*}}, but got 'sm_70'
// EMIT: jfa-opt: error: --emit: expected one of tlx, nvvm, llvm, ptx, cubin, bundle, but got 'sass'
// NOEMIT: but got ''
// UNBOUND: jfa-opt: error: -D: expected NAME=VALUE, but got 'HEAD_DIM'
// CONFLICT: jfa-opt: error: -D: expected one value for the parameter 'HEAD_DIM', but got '64' and '128'
// ONTOP: jfa-opt: error: --specialize: expected one value for the parameter 'HEAD_DIM', but got '64' and '128'
// TWICE: jfa-opt: error: expected every kernel to be asked for once, but got twice: sm_90a
// SEVERAL: jfa-opt: error: --emit: expected bundle, because there are 2 kernels to compile, but got 'cubin'
// LEVEL: jfa-opt: error: --opt-level: expected 0 to 3, but got 4
// VERSION: jfa-opt: error: --ptx-version: expected 80 to 90, but got 12
// MANIFEST: jfa-opt: error: --manifest: expected --emit=cubin or --emit=bundle
// PASSES: jfa-opt: error: expected no passes beside the options of the driver
// MISSING: missing.mlir{{.*}}No such file or directory
// INDIR: Is a directory
// DIR: expected to write '{{.*}}dir', but got: it is a directory
// NODIR: expected to write '{{.*}}out', but got: its directory does not exist
// SELF: expected an output other than the input
// PTXAS: expected the option for ptxas to name an executable file, but got '{{.*}}/ptxas'
// ENV: expected the environment variable JFA_PTXAS to name an executable file, but got '{{.*}}/dir'
// NOPTXAS: expected NVIDIA's assembler ptxas, but found none; looked at the option for ptxas (not given), JFA_PTXAS (not set), PATH, CUDA_HOME ({{.*}}/bin/ptxas), CUDA_PATH (not set)
// SAME: expected different files for the output and the manifest
// LEFT: dir
// LEFT-NEXT: in.mlir
// LEFT-NOT: {{.}}
llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  llvm.return
}
