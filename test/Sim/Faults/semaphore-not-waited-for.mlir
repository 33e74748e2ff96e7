// RUN: jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D WAITS=false --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2 2>&1 | FileCheck %s
//
// Sums that are to have the same bits each time, and nobody who waits for his turn.
//
// CHECK: error: data race: the operation that @add of CTA {{[01]}} starts adds to y
// CHECK: note: the operation that @add of CTA {{[01]}} starts adds to it here
