// The way from the LLVM dialect to PTX.

// RUN: jfa-opt %s --arch=sm_90a --emit=llvm --opt-level=0 -o - | FileCheck %s --check-prefix=LLVM
// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=PTX
// RUN: jfa-opt %s --arch=sm_100a --emit=ptx --ptx-version=88 -o - | FileCheck %s --check-prefix=SM100
// RUN: jfa-opt %s --arch=sm_90a --emit=ptx --lineinfo -o - | FileCheck %s --check-prefix=LINES

// LLVM: target datalayout = "e-p6:32:32
// LLVM: target triple = "nvptx64-nvidia-cuda"
// LLVM: define ptx_kernel void @kernel({{.*}}byval([128 x i8]) align 64{{.*}}) #[[KERNEL:[0-9]+]]
// LLVM: call void asm sideeffect "setmaxnreg.dec.sync.aligned.u32 24;", ""() #[[ASM:[0-9]+]]
// LLVM: call i32 asm "mov.u32 $0, %laneid;", "=r"(){{$}}
// LLVM: attributes #[[KERNEL]] = { convergent
// LLVM: attributes #[[ASM]] = { convergent }

// PTX: .version 8.6
// PTX: .target sm_90a
// PTX: .visible .entry kernel(
// PTX: .param .align 64 .b8 kernel_param_0[128]
// PTX: .reqntid 128
// PTX-NOT: .loc
// PTX: setmaxnreg.dec.sync.aligned.u32 24;

// SM100: .version 8.8
// SM100: .target sm_100a

// LINES: .loc 1 [[#@LINE + 7]]
// LINES: setmaxnreg
// LINES: .file 1 "{{.*}}ptx.mlir"

llvm.func @kernel(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                  %out: !llvm.ptr<1>)
    attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  llvm.inline_asm has_side_effects "setmaxnreg.dec.sync.aligned.u32 24;", "" : () -> ()
  %lane = llvm.inline_asm "mov.u32 $0, %laneid;", "=r" : () -> i32
  llvm.store %lane, %out : i32, !llvm.ptr<1>
  llvm.return
}
