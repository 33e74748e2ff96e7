// RUN: jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2
// RUN: %exits 2 jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=none:2 --grid=2 2>&1 | FileCheck %s
//
// A semaphore that nobody has set to 0.
//
// CHECK: error: memory never written: @add of CTA {{[01]}} uses semaphore 1 of turns, which has no value
// CHECK: note: turns is declared here
