// RUN: jfa-sim %s -D REGISTERS=240 --arg n=3
// RUN: %exits 2 jfa-sim %s -D REGISTERS=248 --arg n=3 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %s -D REGISTERS=248 --verify 2>&1 | FileCheck %s
//
// Registers that the CTA does not have: setmaxnreg would wait for ever.
//
// CHECK: error: 'tlx.async_tasks' op expected register budgets of at most 64512 in sum, the 384 threads' share of the 65536 of an SM, but got 66560
// CHECK: note: 'a' asks for 24 registers for each of 128 threads
// CHECK: note: 'b' asks for 248 registers for each of 256 threads

tlx.kernel @k(%n: i32) {
  tlx.param REGISTERS = 240 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %go = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  %done = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @a warps(1) registers(24) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %done, %phase producer : !tlx.mbarrier<[1]>
        tlx.barrier_arrive %go : !tlx.mbarrier<[1]>
      }
    }
    tlx.async_task @b warps(4) registers(REGISTERS) replicate(2) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %go, %phase : !tlx.mbarrier<[1]>
        tlx.barrier_arrive %done : !tlx.mbarrier<[1]>
      }
    }
  }
}
