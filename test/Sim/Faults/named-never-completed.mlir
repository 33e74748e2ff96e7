// RUN: jfa-sim %s -D BUG=false 
// RUN: %exits 2 jfa-sim %s -D BUG=true  2>&1 | FileCheck %s
//
// A turn that nobody passes on.
//
// CHECK: error: deadlock: @b waits for named barrier 1: 128 of 256 threads
// CHECK: note: no other task signals it

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k() {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      scf.if %bug {
      } else {
        tlx.named_barrier_arrive %c1 threads(256)
      }
    }
    tlx.async_task @b warps(4) {
      tlx.named_barrier_wait %c1 threads(256)
    }
  }
}
