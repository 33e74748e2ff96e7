// RUN: jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D WAITS_FOR_WRITES=false --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2 2>&1 | FileCheck %s
//
// A post before the addition is done: its buffer has only been read.
//
// CHECK: error: data race: the operation that @add of CTA 1 starts adds to y
// CHECK: note: the operation that @add of CTA 0 starts adds to it here
// CHECK: note: the last that @add of CTA 1 has learnt from @add of CTA 0 is this post of semaphore 1 of turns
