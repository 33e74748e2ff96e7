// RUN: jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D INDEX=2 --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2 2>&1 | FileCheck %s
//
// More semaphores than there are.
//
// CHECK: error: out of bounds: expected a semaphore from 0 to 1 of turns, but got 2
// CHECK: note: turns is declared here
