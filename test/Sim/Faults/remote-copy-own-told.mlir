// RUN: jfa-sim %S/../remote_copy.mlir --arg y=none:128x32 --arg n=5 --grid=2
// RUN: %exits 2 jfa-sim %S/../remote_copy.mlir -D TELLS_OWN=true --arg y=none:128x32 --arg n=5 --grid=2 --schedule=random:3 2>&1 | FileCheck %s
//
// A CTA tells itself that a tile has come, and not the one that has sent it.
//
// CHECK: error: buffer overwritten while it is read: @send of CTA {{[01]}} writes %out, but nothing orders that after an operation has read it
// CHECK: note: its end completes phase 0 of %full of CTA {{[01]}}, which has to be waited for
