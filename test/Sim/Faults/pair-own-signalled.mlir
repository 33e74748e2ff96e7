// RUN: jfa-sim %S/../pair.mlir --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5
// RUN: %exits 2 jfa-sim %S/../pair.mlir -D EXPECTED=1 -D SIGNALLED=1 --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 2>&1 | FileCheck %s
//
// The copies of each CTA signal its own barrier: the leader does not learn that
// the other one's factors have landed.
//
// CHECK: error: data race: the operation that @multiply of CTA {{[01]}} starts reads %x_smem
// CHECK: note: the operation that @load of CTA {{[01]}} starts writes it here
