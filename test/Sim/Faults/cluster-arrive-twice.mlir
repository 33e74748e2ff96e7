// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D ARRIVE_TWICE=true --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// Two arrivals at the cluster's barrier in one phase.
//
// CHECK: error: cluster barrier misused: @sum of CTA 0 arrives at the cluster's barrier a second time before it has waited for it
// CHECK: note: the arrival before; missing: a tlx.cluster_wait between the two
