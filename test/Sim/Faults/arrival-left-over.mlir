// RUN: jfa-sim %s -D BUG=false 
// RUN: %exits 2 jfa-sim %s -D BUG=true  2>&1 | FileCheck %s
//
// An arrival that no phase is left for.
//
// CHECK: error: unbalanced barrier: the kernel ends while %done is in the middle of a phase: phase 1 has 1 of 2 arrivals
// CHECK: note: @a has arrived here

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
  %done = tlx.alloc_barriers arrivals(2) : !bar
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      tlx.barrier_arrive %done : !bar
      tlx.barrier_arrive %done : !bar
      tlx.barrier_wait %done, %c0 : !bar
      scf.if %bug {
        tlx.barrier_arrive %done : !bar
      }
    }
  }
}
