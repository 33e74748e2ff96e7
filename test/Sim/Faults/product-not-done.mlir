// RUN: jfa-sim %S/../tensor.mlir --arg x=random:640x64 --arg y=none:8192 --arg n=5
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D RELEASE=2 --arg x=random:640x64 --arg y=none:8192 --arg n=5 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D RELEASE=2 --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=late 2>&1 | FileCheck %s
//
// A slot is said to be free when the product that reads it has been started: an arrival
// in place of a commit.
//
// CHECK: error: buffer overwritten while it is read: the operation that @load starts writes %buffer, but nothing orders that after an operation has read it
// CHECK: note: the operation that @multiply starts reads it here
// CHECK: note: missing: after this, a wait for an mbarrier that a tlx.tcgen05_commit arrives at in @multiply
