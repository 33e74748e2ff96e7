// RUN: jfa-sim %S/../launch_control.mlir -D BYTES=16 --arg y=zeros:384 --grid=3
// RUN: %exits 2 jfa-sim %S/../launch_control.mlir -D BYTES=32 --arg y=zeros:384 --grid=3 2>&1 | FileCheck %s
//
// More bytes are expected than a response has.
//
// CHECK: error: deadlock: @schedule waits for a phase of parity 0 of %full
// CHECK: note: @schedule could still signal %full here, after this wait
