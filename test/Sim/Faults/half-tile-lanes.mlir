// RUN: jfa-sim %S/../half_tiles.mlir --arg x=random:128x64 --arg w=random:256x64 --arg y=none:64x64 --arg n=2
// RUN: %exits 2 jfa-sim %S/../half_tiles.mlir -D P_SLOT=1 --arg x=random:128x64 --arg w=random:256x64 --arg y=none:64x64 --arg n=2 2>&1 | FileCheck %s
// RUN: not jfa-opt %S/../half_tiles.mlir --arch=sm_100a -D P_SLOT=1 --emit=ptx -o - 2>&1 | FileCheck %s
//
// Of two tiles of 64 rows in the same columns, a product takes its factor from one and
// adds to sums in the lanes of the other.
//
// CHECK: error: {{.*}}illegal operation: @multiply starts a product of 64 rows whose A begins at lane 16 of tensor memory and whose sums at lane 0, which must be the same (PTX ISA 9.7.16.10.5)
// CHECK: note: A is defined here
// CHECK: note: the sums are defined here
