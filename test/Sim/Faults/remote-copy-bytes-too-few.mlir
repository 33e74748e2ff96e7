// RUN: jfa-sim %S/../remote_copy.mlir --arg y=none:128x32 --arg n=5 --grid=2
// RUN: %exits 2 jfa-sim %S/../remote_copy.mlir -D EXPECTED=4096 --arg y=none:128x32 --arg n=5 --grid=2 2>&1 | FileCheck %s
//
// Half of the bytes are expected.
//
// CHECK: error: deadlock: @send of CTA 0 waits for a phase of parity 0 of %empty of CTA 0
// CHECK: note: @receive of CTA 0 waits for a phase of parity 0 of %full of CTA 0: phase 0 has 1 of 1 arrival and got 4096 bytes too many
