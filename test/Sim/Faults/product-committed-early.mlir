// RUN: jfa-sim %S/../tensor.mlir --arg x=random:640x64 --arg y=none:8192 --arg n=5
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D RELEASE=1 --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=late 2>&1 | FileCheck %s
//
// A slot is read by two products, and a commit after the first says that it is free.
//
// CHECK: error: buffer overwritten while it is read: the operation that @load starts writes %buffer, but nothing orders that after an operation has read it
// CHECK: note: the operation that @multiply starts reads it here
