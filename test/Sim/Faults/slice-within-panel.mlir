// RUN: jfa-sim %s --arg column=64 --arg y=none:64
// RUN: %exits 2 jfa-sim %s --arg column=32 --arg y=none:64 2>&1 | FileCheck %s
//
// A part of a tile that begins within a panel, where the swizzle would permute it
// otherwise than the whole.
//
// CHECK: error: out of bounds: expected a slice that begins at a multiple of 8 rows and 64 columns, but it begins at row 0, column 32
// CHECK: note: its tile is defined here

!whole = !tlx.memdesc<[64, 128], bf16>
!part = !tlx.memdesc<[64, 64], bf16, of = [64, 128]>

tlx.kernel @k(%column: i32, %y: !tlx.ptr<bf16>) {
  %c0 = arith.constant 0 : i32
  %buffer = tlx.local_alloc : !whole
  tlx.async_tasks {
    tlx.async_task @use warps(4) {
      %ones = arith.constant dense<1.0> : tensor<64x128xbf16>
      tlx.local_store %ones, %buffer : tensor<64x128xbf16>, !whole
      %part = tlx.local_slice %buffer[%c0, %column] : !whole -> !part
      %value = tlx.local_load %part : !part -> tensor<64x64xbf16>
      %rows = tlx.iota dim 0 : tensor<64xi32>
      %sums = tlx.reduce add %value dim 1 : tensor<64x64xbf16> -> tensor<64xbf16>
      tlx.global_store %sums, %y[%rows]
          : tensor<64xbf16>, !tlx.ptr<bf16>, tensor<64xi32>
    }
  }
}
