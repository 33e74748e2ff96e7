// RUN: jfa-sim %S/../tensor.mlir --arg x=random:640x64 --arg y=none:8192 --arg n=5
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D WAITS=false --arg x=random:640x64 --arg y=none:8192 --arg n=5 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %S/../tensor.mlir -D WAITS=false --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=late 2>&1 | FileCheck %s
//
// The kernel may end while its last product is in flight.
//
// CHECK: error: not waited for: the kernel may end before this product is done
// CHECK: note: the last that @multiply does before its end, with which CTA 0 ends
