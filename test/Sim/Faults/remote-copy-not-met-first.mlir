// RUN: jfa-sim %S/../remote_copy.mlir --arg y=none:128x32 --arg n=5 --grid=2
// RUN: %exits 2 jfa-sim %S/../remote_copy.mlir -D MEETS_FIRST=false --arg y=none:128x32 --arg n=5 --grid=2 2>&1 | FileCheck %s
//
// A copy into a CTA that may not have initialised its barrier.
//
// CHECK: error: remote access before the CTA is ready: @send of CTA {{[01]}} reaches %full of CTA {{[01]}}
// CHECK: note: initialised here
