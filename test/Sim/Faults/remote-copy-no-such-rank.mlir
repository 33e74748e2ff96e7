// RUN: jfa-sim %S/../remote_copy.mlir --arg y=none:128x32 --arg n=5 --grid=2
// RUN: %exits 2 jfa-sim %S/../remote_copy.mlir -D TO=5 --arg y=none:128x32 --arg n=5 --grid=2 2>&1 | FileCheck %s
//
// A rank that the cluster does not have.
//
// CHECK: error: out of bounds: @send of CTA {{[01]}} expects a rank from 0 to 1, but got {{[56]}}
// CHECK: note: the size of its clusters is said here
