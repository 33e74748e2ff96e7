// RUN: jfa-sim %S/../launch_control_cluster.mlir -D ALL_EXPECT=true --arg y=zeros:768 --grid=6
// RUN: %exits 2 jfa-sim %S/../launch_control_cluster.mlir -D ALL_EXPECT=false --arg y=zeros:768 --grid=6 2>&1 | FileCheck %s
//
// Only the CTA that asks expects the bytes that come to both.
//
// CHECK: error: deadlock: @schedule of CTA 0 waits for a phase of parity 0 of %empty of CTA 0
// CHECK: note: @schedule of CTA {{[01]}} could still signal %empty of CTA {{[01]}} here, after this wait
