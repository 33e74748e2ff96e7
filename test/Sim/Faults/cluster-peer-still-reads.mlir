// RUN: jfa-sim %S/../cluster.mlir --arg x=iota:320x32 --arg y=none:128 --arg n=5
// RUN: %exits 2 jfa-sim %S/../cluster.mlir -D TELL_OWN=true -D ARRIVALS=1 --arg x=iota:320x32 --arg y=none:128 --arg n=5 2>&1 | FileCheck %s
//
// A slot is filled in both CTAs when only the own one has read it.
//
// CHECK: error: data race: the operation that @load of CTA {{[01]}} starts writes %parts
// CHECK: note: the operation that @load of CTA {{[01]}} starts writes it here
