// RUN: jfa-sim %s -D BUG=false --arg o=none:128x64
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg o=none:128x64 2>&1 | FileCheck %s
//
// Two replicas that stage their results in the same buffer.
//
// CHECK: error: data race: @store#1 writes %buffer, but nothing orders that after @store#0 has written it
// CHECK: note: @store#0 writes it here
// CHECK: note: @store#1 has learnt nothing from @store#0
// CHECK: note: missing: after this, an arrival of @store#0 at a barrier for which @store#1 waits
// CHECK: error: buffer overwritten while it is read: @store#1 writes %buffer, but nothing orders that after an operation has read it

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
  %buffer = tlx.local_alloc : !ring
  tlx.async_tasks {
    tlx.async_task @store warps(4) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %slot = arith.select %bug, %c0, %replica : i32
      %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
      %row = arith.muli %replica, %c64 : i32
      %value = tlx.splat %one : bf16 -> tensor<64x64xbf16>
      tlx.local_store %value, %tile : tensor<64x64xbf16>, !tile
      tlx.async_descriptor_store %o[%row, %c0], %tile : !map, !tile
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
