// RUN: jfa-sim %S/../remote_copy.mlir --arg y=none:128x32 --arg n=5 --grid=2
// RUN: %exits 2 jfa-sim %S/../remote_copy.mlir -D TO=0 --arg y=none:128x32 --arg n=5 --grid=2 2>&1 | FileCheck %s
//
// Each CTA sends to itself.
//
// CHECK: error: deadlock: @send of CTA 0 waits for a phase of parity 1 of %empty of CTA 0
// CHECK: note: @send of CTA 1 could still signal %full of CTA 0 here
