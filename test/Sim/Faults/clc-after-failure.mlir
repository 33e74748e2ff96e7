// RUN: jfa-sim %S/../launch_control.mlir -D ENDS=true --arg y=zeros:384 --grid=3
// RUN: %exits 2 jfa-sim %S/../launch_control.mlir -D ENDS=false --arg y=zeros:384 --grid=3 2>&1 | FileCheck %s
//
// A CTA asks again after it has read that a request has failed.
//
// CHECK: error: launch control misused: @schedule asks for a cluster after its CTA has read that a request has failed (PTX ISA 9.7.13.17)
// CHECK: note: read here
