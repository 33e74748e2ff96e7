// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D MEET_LAST=false --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A CTA ends while the other one still arrives at its barriers.
//
// CHECK: error: remote access to a CTA that may have ended: @sum of CTA {{[01]}} reaches CTA {{[01]}} here, but that may have ended
// CHECK: note: the last that @sum of CTA {{[01]}} does before its end, with which CTA {{[01]}} ends
