// RUN: jfa-sim %s -D BUG=false --arg y=none:64
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg y=none:64 2>&1 | FileCheck %s
//
// A buffer that aliases another one which a product still reads.
//
// CHECK: error: buffer overwritten while it is read: @dot writes %other, but nothing orders that after an operation has read it
// CHECK: note: the operation that @dot starts reads it here
// CHECK: note: missing: after this, tlx.async_dot_wait in @dot{{$}}

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%y: !tlx.ptr<f32>) {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1.0 : bf16
  %zero_o = arith.constant 0.0 : bf16
  %a = tlx.local_alloc : !tile
  %other = tlx.local_alloc alias(%a) : !tile, !tile
  tlx.async_tasks {
    tlx.async_task @dot warps(4) {
      %value = tlx.splat %one : bf16 -> tensor<64x64xbf16>
      tlx.local_store %value, %a : tensor<64x64xbf16>, !tile
      tlx.fence_async_shared
      %pending = tlx.async_dot %a, %a : !tile, !tile -> tensor<64x64xf32>
      scf.if %bug {
        tlx.local_store %value, %other : tensor<64x64xbf16>, !tile
      }
      %product = tlx.async_dot_wait %pending pending(0) : tensor<64x64xf32>
      tlx.local_store %value, %other : tensor<64x64xbf16>, !tile
      %sums = tlx.reduce add %product dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      %rows = tlx.iota dim 0 : tensor<64xi32>
      tlx.global_store %sums, %y[%rows] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}
