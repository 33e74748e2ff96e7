// RUN: jfa-sim %s -D BUG=false 
// RUN: %exits 2 jfa-sim %s -D BUG=true  2>&1 | FileCheck %s
//
// A barrier that goes on to its next phase before a waiter has seen the last.
//
// CHECK: error: phase lapped: @a arrives in phase 1 of %tick, but nobody has to have seen phase 0 complete before that
// CHECK: note: allocated here
// CHECK: error: deadlock: @b waits for a phase of parity 0 of %tick: phase 64 has 0 of 1 arrival, and the one before the last has completed without it, which was of that parity, and nothing can go on

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
  %tick = tlx.alloc_barriers arrivals(1) : !bar
  %tock = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %c64 step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        scf.if %bug {
        } else {
          tlx.barrier_wait %tock, %phase producer : !bar
        }
        tlx.barrier_arrive %tick : !bar
      }
    }
    tlx.async_task @b warps(1) {
      scf.for %i = %c0 to %c64 step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %tick, %phase : !bar
        tlx.barrier_arrive %tock : !bar
      }
    }
  }
}
