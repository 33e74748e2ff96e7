// mlir-opt's options for passes, timing and crashes hold for the driver too, and
// without the driver's options the tool is mlir-opt.

// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o %t.ptx --mlir-timing 2>&1 | FileCheck %s --check-prefix=TIMING
// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o %t.ptx --mlir-print-ir-before-all 2>&1 | FileCheck %s --check-prefix=PRINT
// RUN: jfa-opt %s --canonicalize | FileCheck %s --check-prefix=OPT
// RUN: jfa-opt --help | FileCheck %s --check-prefix=HELP

// TIMING: Parser
// TIMING: LLVM IR
// TIMING: PTX
// PRINT: IR Dump Before
// OPT: llvm.func @k
// HELP: JFA driver options
// HELP: --arch=
llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  llvm.return
}
