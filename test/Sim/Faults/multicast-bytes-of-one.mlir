// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D BYTES=4096 --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A CTA expects only the bytes of its own copy.
//
// CHECK: error: memory never written: @sum of CTA 1 reads %parts, which nobody has written
// CHECK: error: data race: @sum of CTA 0 reads %parts, but nothing orders that after an operation has written it
// CHECK: note: its end completes phase {{[01]}} of %full[0] of CTA 0, which has to be waited for
