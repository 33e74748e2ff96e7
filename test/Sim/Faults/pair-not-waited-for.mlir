// RUN: jfa-sim %S/../pair.mlir --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5
// RUN: %exits 2 jfa-sim %S/../pair.mlir -D WAIT_LAST=false --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 2>&1 | FileCheck %s
//
// The pair ends while its last product may be in flight.
//
// CHECK: error: not waited for: the kernel may end before this product is done
// CHECK: note: the last that @multiply of CTA {{[01]}} does before its end, with which CTA {{[01]}} ends
