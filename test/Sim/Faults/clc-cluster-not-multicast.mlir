// RUN: jfa-sim %S/../launch_control_cluster.mlir -D MULTICAST=true --arg y=zeros:768 --grid=6
// RUN: %exits 2 jfa-sim %S/../launch_control_cluster.mlir -D MULTICAST=false --arg y=zeros:768 --grid=6 2>&1 | FileCheck %s
//
// Only the CTA that asks is told.
//
// CHECK: error: deadlock
