// RUN: jfa-sim %s -D BUG=false --arg o=none:128x64
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg o=none:128x64 2>&1 | FileCheck %s
//
// Two tasks that store to the same rows of a tensor.
//
// CHECK: error: data race: the operation that @store#1 starts writes o, but nothing orders that after an operation has written it
// CHECK: note: the operation that @store#0 starts writes it here
// CHECK: note: @store#1 has learnt nothing from @store#0
// CHECK: note: missing: after this, tlx.async_descriptor_store_wait in @store#0, and then an arrival of @store#0 at a barrier for which @store#1 waits

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
      %tile = tlx.local_view %buffer[%replica] : !ring -> !tile
      %own = arith.muli %replica, %c64 : i32
      %row = arith.select %bug, %c0, %own : i32
      %value = tlx.splat %one : bf16 -> tensor<64x64xbf16>
      tlx.local_store %value, %tile : tensor<64x64xbf16>, !tile
      tlx.async_descriptor_store %o[%row, %c0], %tile : !map, !tile
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
