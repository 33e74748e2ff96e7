// RUN: jfa-sim %S/../remote_copy.mlir --arg y=none:128x32 --arg n=5 --grid=2
// RUN: %exits 2 jfa-sim %S/../remote_copy.mlir -D WAITS=false --arg y=none:128x32 --arg n=5 --grid=2 --schedule=late 2>&1 | FileCheck %s
//
// The tile that is sent is overwritten before it has been read.
//
// CHECK: error: data race: the operation that @send of CTA {{[01]}} starts reads %out, but nothing orders that after @send of CTA {{[01]}} has written it
// CHECK: note: missing: after this, an arrival of @send of CTA {{[01]}} at a barrier for which @send of CTA {{[01]}} waits
