// What ptxas says, in the words of real versions of it, and what becomes of it.

// RUN: split-file %s %t
// RUN: env FAKE_PTXAS_LOG=%t/clean.log jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/k.cubin
// RUN: FileCheck %s --check-prefix=CLEAN --input-file=%t/k.json
// RUN: FileCheck %s --check-prefix=CUBIN --input-file=%t/k.cubin

// RUN: not env FAKE_PTXAS_LOG=%t/spill.log jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/bad.cubin 2>&1 | FileCheck %s --check-prefix=SPILL
// RUN: not ls %t/bad.cubin %t/bad.json
// RUN: env FAKE_PTXAS_LOG=%t/spill.log jfa-opt %t/k.mlir --arch=sm_90a --allow-spills --ptxas=%S/Inputs/fake-ptxas.sh -o %t/s.cubin 2>&1 | FileCheck %s --check-prefix=ALLOWED
// RUN: FileCheck %s --check-prefix=SPILLED --input-file=%t/s.json

// RUN: not env FAKE_PTXAS_LOG=%t/wgmma.log jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/bad.cubin 2>&1 | FileCheck %s --check-prefix=WGMMA
// RUN: env FAKE_PTXAS_LOG=%t/wgmma.log jfa-opt %t/k.mlir --arch=sm_90a --allow-performance-loss --ptxas=%S/Inputs/fake-ptxas.sh -o %t/w.cubin 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not env FAKE_PTXAS_LOG=%t/unnumbered.log jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/bad.cubin 2>&1 | FileCheck %s --check-prefix=UNNUMBERED
// RUN: env FAKE_PTXAS_LOG=%t/other.log jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/o.cubin 2>&1 | FileCheck %s --check-prefix=OTHER

// RUN: not env FAKE_PTXAS_LOG=%t/error.log FAKE_PTXAS_STATUS=255 jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/bad.cubin 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not env FAKE_PTXAS_LOG=%t/garbage.log FAKE_PTXAS_STATUS=3 jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/bad.cubin 2>&1 | FileCheck %s --check-prefix=GARBAGE
// RUN: not env FAKE_PTXAS_LOG=%t/garbage.log jfa-opt %t/k.mlir --arch=sm_90a --ptxas=%S/Inputs/fake-ptxas.sh -o %t/bad.cubin 2>&1 | FileCheck %s --check-prefix=SILENT
// RUN: not env FAKE_PTXAS_SLEEP=60 jfa-opt %t/k.mlir --arch=sm_90a --ptxas-timeout=1 --ptxas=%S/Inputs/fake-ptxas.sh -o %t/bad.cubin 2>&1 | FileCheck %s --check-prefix=HANG
// RUN: not ls %t/bad.cubin %t/bad.json

//--- k.mlir
llvm.func @fa_fwd() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384>} {
  llvm.return
}

//--- clean.log
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'fa_fwd' for 'sm_90a'
ptxas info    : Function properties for fa_fwd
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers, 128 bytes smem
ptxas info    : Compile time = 378.951 ms

// CLEAN: "ptxas": "13.0.88"
// CLEAN: "cubin": {
// CLEAN-NEXT: "offset": 0,
// CLEAN-NEXT: "size": 10
// CLEAN: "registers": 168,
// CLEAN: "spill_load_bytes": 0,
// CLEAN: "stack_bytes": 0
// CUBIN: fake cubin

//--- spill.log
ptxas info    : Compiling entry function 'fa_fwd' for 'sm_90a'
ptxas info    : Function properties for fa_fwd
    48 bytes stack frame, 120 bytes spill stores, 84 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 48 bytes cumulative stack size, 552 bytes cmem[0]

// SPILL: k.mlir:{{.*}}: error: expected a kernel without a stack frame or spills, but got 48 bytes of stack, 120 bytes of spill stores and 84 bytes of spill loads with 168 registers
// ALLOWED: warning: expected a kernel without a stack frame or spills
// SPILLED: "spill_load_bytes": 84
// SPILLED: "spill_store_bytes": 120
// SPILLED: "stack_bytes": 48

//--- wgmma.log
ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'fa_fwd'
ptxas info    : Compiling entry function 'fa_fwd' for 'sm_90a'
ptxas info    : Used 168 registers, used 1 barriers

// WGMMA: k.mlir:{{.*}}: error: expected code that ptxas assembles as written, but got: C7508: Potential Performance Loss: 'setmaxnreg' ignored
// WGMMA: k.mlir:{{.*}}: error: expected code that ptxas assembles as written, but got: C7510: {{.*}}serialized
// LOSS: warning: {{.*}}C7508
// LOSS: warning: {{.*}}C7510

//--- unnumbered.log
ptxas info    : Potential Performance Loss: wgmma.mma_async instructions are serialized due to ill formed pipeline stage in the function 'fa_fwd'
ptxas info    : Compiling entry function 'fa_fwd' for 'sm_90a'
ptxas info    : Used 168 registers, used 1 barriers

// UNNUMBERED: error: {{.*}}but got: Potential Performance Loss: wgmma.mma_async instructions are serialized

//--- other.log
ptxas info    : (C7999) Something that no version says yet
ptxas info    : Compiling entry function 'fa_fwd' for 'sm_90a'
ptxas info    : Used 168 registers, used 1 barriers

// OTHER: warning: {{.*}}C7999: Something that no version says yet

//--- error.log
ptxas some.ptx, line 2; error   : Not a name of any known instruction: 'foo'
ptxas fatal   : Ptx assembly aborted due to errors

// ERROR: k.mlir:{{.*}}: error: expected PTX that ptxas accepts, but got: Not a name of any known instruction: 'foo'
// ERROR: note: line 2 of the PTX: // Generated by LLVM NVPTX Back-End
// ERROR: error: expected PTX that ptxas accepts, but got: Ptx assembly aborted due to errors

//--- garbage.log
Segmentation fault

// GARBAGE: error: expected ptxas to write a cubin, but it ended with code 3: Segmentation fault
// SILENT: error: expected ptxas to report the resources of the kernel, but it did not
// HANG: error: expected ptxas to end within 1 s, but it was still running
