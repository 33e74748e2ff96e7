// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D ARRIVALS=1 --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A count that forgets the arrivals of the other CTA.
//
// CHECK: error: phase lapped: @load of CTA {{[01]}} arrives in phase 1 of %full[0] of CTA {{[01]}}
// CHECK: note: allocated here
