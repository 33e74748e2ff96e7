// RUN: jfa-sim %S/../pair.mlir --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5
// RUN: %exits 2 jfa-sim %S/../pair.mlir -D TELL_OWN=true --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 2>&1 | FileCheck %s
//
// A CTA says to itself that its part of a factor is there, and not to the leader.
//
// CHECK: error: deadlock: @use of CTA {{[01]}} waits for a phase of parity 1 of %s_full of CTA {{[01]}}
// CHECK: note: @multiply of CTA {{[01]}} could still signal %s_full of CTA {{[01]}} here
