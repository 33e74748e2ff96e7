// RUN: jfa-sim %S/../pair.mlir --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5
// RUN: %exits 2 jfa-sim %S/../pair.mlir -D TOLD_O=1 --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 2>&1 | FileCheck %s
//
// The end of the last product is told to the leader only.
//
// CHECK: error: deadlock: @use of CTA {{[01]}} waits for a phase of parity 0 of %o_full of CTA {{[01]}}
// CHECK: note: @multiply signals it here
