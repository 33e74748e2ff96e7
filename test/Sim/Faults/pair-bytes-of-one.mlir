// RUN: jfa-sim %S/../pair.mlir --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5
// RUN: %exits 2 jfa-sim %S/../pair.mlir -D EXPECTED=1 --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 2>&1 | FileCheck %s
//
// The leader expects the bytes of one CTA of the pair only.
//
// CHECK: error: data race: the operation that @multiply of CTA {{[01]}} starts reads %x_smem
// CHECK: note: the operation that @load of CTA {{[01]}} starts writes it here
