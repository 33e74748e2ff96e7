// RUN: jfa-sim %S/../launch_control_cluster.mlir -D MULTICAST=true --arg y=zeros:768 --grid=6
// RUN: %exits 2 jfa-sim %S/../launch_control_cluster.mlir -D MULTICAST=false --arg y=zeros:768 --grid=6 2>&1 | FileCheck %s
//
// Only the CTA that asks is told.
//
// CHECK: error: deadlock: @schedule of CTA {{[01]}} waits for a phase of parity 0 of %empty of CTA {{[01]}}
// CHECK: note: @schedule of CTA {{[01]}} could still signal %empty of CTA {{[01]}} here, after this wait
