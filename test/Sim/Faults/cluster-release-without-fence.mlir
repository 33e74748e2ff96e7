// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D FENCED=false --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A generic read, released to the CTA whose copy overwrites it without a fence.
//
// CHECK: error: missing proxy fence: the operation that @load of CTA {{[01]}} starts writes %parts through the async proxy, but no fence follows the read
// CHECK: note: @sum of CTA {{[01]}} reads it here
