// Outputs replace what was there, follow links and leave no temporary files.

// RUN: rm -rf %t && mkdir %t
// RUN: echo old > %t/out.ptx
// RUN: ln -s out.ptx %t/link.ptx
// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o %t/link.ptx
// RUN: FileCheck %s --input-file=%t/out.ptx
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o /dev/null
// RUN: test -c /dev/null
// RUN: jfa-opt %s --arch=sm_90a --emit=tlx | FileCheck %s --check-prefix=STDOUT
// RUN: jfa-opt --arch=sm_90a --emit=nvvm < %s | FileCheck %s --check-prefix=STDOUT

// A source that is broken leaves the old output.
// RUN: echo "llvm.func @" > %t/broken.mlir
// RUN: not jfa-opt %t/broken.mlir --arch=sm_90a --emit=ptx -o %t/out.ptx 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: FileCheck %s --input-file=%t/out.ptx

// CHECK: .entry k
// FILES: link.ptx
// FILES-NEXT: out.ptx
// FILES-NOT: {{.}}
// STDOUT: llvm.func @k
// BROKEN: broken.mlir:1:{{.*}}: error:
llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  llvm.return
}
