// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D TO=1 --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A CTA expects the bytes of both halves, but the other one copies only to itself.
//
// CHECK: error: deadlock: @load of CTA 0 waits for a phase of parity 0 of %empty[0] of CTA 0
// CHECK: note: @sum of CTA 1 waits for a phase of parity 0 of %full[0] of CTA 1: phase 0 has 1 of 1 arrival and lacks 4096 bytes
