// Kernels whose trip counts can be enumerated are verified for all of them; of
// the others it is said that they have not been.
//
// RUN: split-file %s %t
// RUN: jfa-sim %t/right.mlir --verify 2>&1 | count 0
// RUN: not jfa-sim %t/wrong.mlir --verify 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: jfa-sim %t/unknown.mlir --verify 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: jfa-sim %t/data.mlir --verify 2>&1 | FileCheck %s --check-prefix=DATA
//
// WRONG: error: deadlock: @a waits for a phase of parity 0 of %empty[0]: phase 0 has 0 of 1 arrival, and nothing can go on
// WRONG: note: every task that signals %empty[0] has ended
// UNKNOWN: remark: the protocol has not been verified: its trip counts cannot be enumerated because of the argument 'n', which 'tlx.trip_counts' does not name
// DATA: remark: the protocol has not been verified: its trip counts cannot be enumerated because of integers in global memory

//--- right.mlir
// Trip counts from 0 up: the ring is right for all of them.
!bars = !tlx.mbarrier<[2]>
tlx.kernel @right(%n: i32) attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_arrive %full[%slot] : !bars
      }
    }
    tlx.async_task @b warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %full[%slot], %phase : !bars
        tlx.barrier_arrive %empty[%slot] : !bars
      }
    }
  }
}

//--- wrong.mlir
// Only from the third trip on is something wrong.
!bars = !tlx.mbarrier<[2]>
tlx.kernel @wrong(%n: i32) attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_arrive %full[%slot] : !bars
      }
    }
    tlx.async_task @b warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %full[%slot], %phase : !bars
      }
    }
  }
}

//--- unknown.mlir
tlx.kernel @unknown(%n: i32) {
}

//--- data.mlir
tlx.kernel @data(%p: !tlx.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %n = tlx.global_load %p[%c0] : !tlx.ptr<i32>, i32 -> i32
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %n : i32 {
        tlx.fence_async_shared
      }
    }
  }
}
