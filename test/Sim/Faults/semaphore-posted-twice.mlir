// RUN: jfa-sim %S/../grid.mlir --arg y=zeros:64x32 --arg turns=zeros:2 --grid=3 --schedule=late
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D POSTS_TWICE=true --arg y=zeros:64x32 --arg turns=zeros:2 --grid=3 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D POSTS_TWICE=true --arg y=zeros:64x32 --arg turns=zeros:2 --grid=3 --schedule=late 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %S/../grid.mlir -D POSTS_TWICE=true --arg y=zeros:64x32 --arg turns=zeros:2 --grid=3 --schedule=random:1 2>&1 | FileCheck %s
//
// A turn that is passed on twice lets the one after the next begin too: it reaches
// its count without the post that it means, whether or not that has come first.
//
// CHECK: error: data race: the operation that @add of CTA [[LATER:[12]]] starts adds to y
// CHECK: note: the operation that @add of CTA {{[12]}} starts adds to it here
