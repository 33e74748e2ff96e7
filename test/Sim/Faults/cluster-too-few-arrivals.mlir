// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D TELL_OWN=true --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// Only the own CTA is told, but the count includes the other one.
//
// CHECK: error: deadlock: @load of CTA {{[01]}} waits for a phase of parity 0 of %empty[0] of CTA {{[01]}}
// CHECK: note: @sum of CTA {{[01]}} could still signal %empty[0] of CTA {{[01]}} here
