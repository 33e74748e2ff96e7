// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D ARRIVE=false --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A wait for the cluster's barrier without an arrival.
//
// CHECK: error: cluster barrier misused: @sum of CTA 0 waits for the cluster's barrier, at which it has not arrived
// CHECK: note: it has not done so since here; missing: a tlx.cluster_arrive between the two
