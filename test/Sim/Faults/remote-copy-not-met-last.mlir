// RUN: jfa-sim %S/../remote_copy.mlir --arg y=none:128x32 --arg n=5 --grid=2
// RUN: %exits 2 jfa-sim %S/../remote_copy.mlir -D MEETS_LAST=false --arg y=none:128x32 --arg n=5 --grid=2 2>&1 | FileCheck %s
//
// A CTA that may end before the other one has copied out of it, or told it so.
//
// CHECK: error: not waited for: the kernel may end before this copy has
// CHECK: note: the last that @send of CTA {{[01]}} does before its end
