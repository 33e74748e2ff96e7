// RUN: jfa-sim %S/../launch_control.mlir -D WAIT=true --arg y=zeros:384 --grid=3
// RUN: %exits 2 jfa-sim %S/../launch_control.mlir -D WAIT=false --arg y=zeros:384 --grid=3 --max-steps=20000 2>&1 | FileCheck %s
//
// A response is read that may not have come.
//
// CHECK: error: data race: @add reads %response, but nothing orders that after an operation has written it
// CHECK: note: the operation that @schedule starts writes it here
