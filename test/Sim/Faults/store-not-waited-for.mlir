// RUN: jfa-sim %s -D BUG=false --arg o=none:64x64
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg o=none:64x64 2>&1 | FileCheck %s
//
// A task that ends while a store still reads its buffer.
//
// CHECK: error: not waited for: @store ends before this store has read its buffer
// CHECK: note: @store does nothing after that

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%o: !map) {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1.0 : bf16
  %buffer = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @store warps(4) {
      %value = tlx.splat %one : bf16 -> tensor<64x64xbf16>
      tlx.local_store %value, %buffer : tensor<64x64xbf16>, !tile
      tlx.async_descriptor_store %o[%c0, %c0], %buffer : !map, !tile
      scf.if %bug {
      } else {
        tlx.async_descriptor_store_wait pending(0)
      }
    }
  }
}
