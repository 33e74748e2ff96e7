// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D MEET_FIRST=false --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// CTAs reach each other's barriers without having met after their initialisation.
//
// CHECK: error: remote access before the CTA is ready: @load of CTA 0 reaches %full[0] of CTA 1, but nothing orders that after its initialisation
// CHECK: note: initialised here
