// RUN: jfa-sim %s -D BUG=false --arg o=none:64x64 --fences=as-written
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg o=none:64x64 --fences=as-written 2>&1 | FileCheck %s
//
// The task that copies fences for the one that has written, but before it has
// learnt of the write.
//
// CHECK: error: missing proxy fence: the operation that @copy starts reads %buffer
// CHECK: note: @write writes it here

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
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @write warps(4) {
      %value = tlx.splat %one : bf16 -> tensor<64x64xbf16>
      tlx.local_store %value, %buffer unfenced : tensor<64x64xbf16>, !tile
      tlx.barrier_arrive %full : !bar
    }
    tlx.async_task @copy warps(1) {
      scf.if %bug {
        tlx.fence_async_shared
      }
      tlx.barrier_wait %full, %c0 : !bar
      scf.if %bug {
      } else {
        tlx.fence_async_shared
      }
      tlx.async_descriptor_store %o[%c0, %c0], %buffer : !map, !tile
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
