// RUN: jfa-sim %s -D ID=2 
// RUN: %exits 2 jfa-sim %s -D ID=1  2>&1 | FileCheck %s
//
// An id that two pairs of tasks use at the same time.
//
// CHECK: error: named barrier misused: @a arrives a second time before the barrier has completed (id 1)
// CHECK: note: @a has arrived here

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k() {
  %id = tlx.param ID = 2 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      tlx.named_barrier_arrive %c1 threads(256)
      tlx.named_barrier_arrive %id threads(256)
    }
    tlx.async_task @b warps(4) {
      tlx.named_barrier_wait %id threads(256)
      tlx.named_barrier_wait %c1 threads(256)
    }
  }
}
