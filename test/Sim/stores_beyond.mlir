// A copy to global memory writes what of its box is inside: nothing of one that begins
// past the end of an axis. One that begins before an axis is an error.
//
// RUN: jfa-sim %s --arg y=iota:96x64 --arg row=0 --arg column=64 --out y=%t.column.npy
// RUN: jfa-sim %s --arg y=iota:96x64 --arg row=96 --arg column=0 --out y=%t.row.npy
// RUN: jfa-sim %s --arg y=iota:96x64 --arg row=1000 --arg column=1000 --out y=%t.both.npy
// RUN: cmp %t.column.npy %t.row.npy
// RUN: cmp %t.column.npy %t.both.npy
// RUN: jfa-sim %s --arg y=iota:96x64 --arg row=64 --arg column=32 --out y=%t.part.npy
// RUN: not cmp -s %t.column.npy %t.part.npy
// RUN: %python -c "import struct, sys; d = open(sys.argv[1], 'rb').read()[-96 * 64 * 4:]; v = struct.unpack('<6144f', d); print(sum(x == 0 for x in v[64 * 64:]))" %t.part.npy | FileCheck %s --check-prefix=PART
// RUN: %exits 2 jfa-sim %s --arg y=iota:96x64 --arg row=0 --arg column=-8 2>&1 | FileCheck %s --check-prefix=COLUMN
// RUN: %exits 2 jfa-sim %s --arg y=iota:96x64 --arg row=-8 --arg column=0 2>&1 | FileCheck %s --check-prefix=ROW
//
// Half of the columns of the last 32 rows.
// PART: 1024
// COLUMN: error: out of bounds: @store copies a box of y that begins at -8 of axis 1, but the tensor has 64 there
// ROW: error: out of bounds: @store copies a box of y that begins at -8 of axis 0, but the tensor has 96 there

!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>

tlx.kernel @k(%y: !map, %row: i32, %column: i32) {
  %buffer = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @store warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
      tlx.local_store %zero, %buffer : tensor<64x64xbf16>, !tile
      tlx.async_descriptor_store %y[%row, %column], %buffer : !map, !tile
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
