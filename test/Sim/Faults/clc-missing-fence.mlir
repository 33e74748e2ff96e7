// RUN: jfa-sim %S/../launch_control.mlir --fences=insert --arg y=zeros:384 --grid=3
// RUN: %exits 2 jfa-sim %S/../launch_control.mlir --fences=as-written --arg y=zeros:384 --grid=3 2>&1 | FileCheck %s
//
// A response is read, and another one written over it without a proxy fence between.
//
// CHECK: error: missing proxy fence: the operation that @schedule starts writes %response through the async proxy, but no fence follows the read
// CHECK: note: @add reads it here
