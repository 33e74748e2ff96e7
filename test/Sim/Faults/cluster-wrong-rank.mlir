// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D TOLD=1 --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// Both CTAs tell only rank 0 that a slot has been read.
//
// CHECK: error: deadlock: @load of CTA {{[01]}} waits for a phase of parity 1 of %empty[0] of CTA {{[01]}}
// CHECK: note: @sum of CTA {{[01]}} could still signal %empty[0] of CTA {{[01]}} here
