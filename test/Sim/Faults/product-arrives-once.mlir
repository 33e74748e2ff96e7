// RUN: jfa-sim %S/../tensor.mlir --arg x=random:640x64 --arg y=none:8192 --arg n=5
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D ARRIVALS=2 --arg x=random:640x64 --arg y=none:8192 --arg n=5 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D ARRIVALS=2 --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=late 2>&1 | FileCheck %s
//
// A commit is one arrival, at a barrier that counts more.
//
// CHECK: error: deadlock: @use waits for a phase of parity 0 of %s_full: phase 0 has 1 of 2 arrivals, and nothing can go on
// CHECK: note: @multiply could still signal %s_full here
