// RUN: jfa-sim %S/../launch_control_cluster.mlir -D TELL_ALWAYS=false --arg y=zeros:768 --grid=6
// RUN: %exits 2 jfa-sim %S/../launch_control_cluster.mlir -D TELL_ALWAYS=true --arg y=zeros:768 --grid=6 2>&1 | FileCheck %s
//
// A CTA tells another one that it has read the last response: that one may have ended.
//
// CHECK: error: remote access to a CTA that may have ended: @schedule of CTA 1 reaches CTA 0 here
// CHECK: note: {{.*}}, with which CTA {{[01]}} ends
