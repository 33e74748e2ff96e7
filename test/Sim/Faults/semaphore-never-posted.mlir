// RUN: jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D POSTS=false --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2 2>&1 | FileCheck %s
//
// Who has had his turn does not say so.
//
// CHECK: error: deadlock: @add of CTA 1 waits for semaphore 1 of turns: 0 of 1 post, and nothing can go on
// CHECK: note: every task that signals semaphore 1 of turns has ended
