// RUN: jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D LAST_FIRST=true --arg y=zeros:64x32 --arg turns=zeros:2 --grid=2 2>&1 | FileCheck %s
//
// Turns that begin at 1: everyone waits for somebody else.
//
// CHECK: error: deadlock: @add of CTA 0 waits for semaphore 1 of turns: 0 of 1 post, and nothing can go on
// CHECK: note: @add of CTA 1 could still signal semaphore 1 of turns here
// CHECK: note: they wait in a circle: @add of CTA 0
