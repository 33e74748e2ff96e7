// RUN: jfa-sim %S/../tensor.mlir --arg x=random:640x64 --arg y=none:8192 --arg n=5
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D OVERWRITES=true --arg x=random:640x64 --arg y=none:8192 --arg n=5 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D OVERWRITES=true --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=late 2>&1 | FileCheck %s
//
// An operand in tensor memory, in the place of the sums that it is made of, is overwritten
// before the product has read it.
//
// CHECK: error: data race: the operation that @multiply starts reads %p, but nothing orders that after @use has written it
// CHECK: note: @use writes it here
// CHECK: note: the last that @multiply has learnt from @use is this arrival at %p_full
