// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D TO=5 --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A mask that names a CTA that the cluster does not have.
//
// CHECK: error: out of bounds: @load of CTA 0 expects a mask from 1 to 3, a bit for each of the 2 CTAs of a cluster, but got 5
// CHECK: note: the size of its clusters is said here
