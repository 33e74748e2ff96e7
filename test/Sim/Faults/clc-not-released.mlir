// RUN: jfa-sim %S/../launch_control.mlir -D RELEASE=true --arg y=zeros:384 --grid=3
// RUN: %exits 2 jfa-sim %S/../launch_control.mlir -D RELEASE=false --arg y=zeros:384 --grid=3 2>&1 | FileCheck %s
//
// Nobody says that a response has been read, so none is asked for anew.
//
// CHECK: error: deadlock: @schedule
// CHECK: note: @add waits for a phase of parity 1 of %full: phase 1 has 0 of 1 arrival
