// RUN: jfa-sim %S/../pair.mlir --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5
// RUN: %exits 2 jfa-sim %S/../pair.mlir -D FOLLOWER_STARTS=true --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 2>&1 | FileCheck %s
//
// A CTA of odd rank starts a product of the pair.
//
// CHECK: error: illegal operation: @multiply of CTA 1 starts a product of a pair, which only the leader does
// CHECK: note: its clusters begin with an even rank, which leads the first pair
