// RUN: jfa-opt %s --pass-pipeline='builtin.module(tlx.kernel(tlx-allocate-memory,tlx-verify-protocol))' --split-input-file --verify-diagnostics

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

// -----

// Only from the third trip on is something wrong.
!bars = !tlx.mbarrier<[2]>
tlx.kernel @wrong(%n: i32) attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note @+1 {{every task that signals the mbarrier of line}}
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        // expected-error @+1 {{deadlock: @a waits for a phase of parity 0 of the mbarrier of line}}
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

// -----

// expected-remark @+1 {{the protocol has not been verified: its trip counts cannot be enumerated because of the argument 'n', which 'tlx.trip_counts' does not name}}
tlx.kernel @unknown(%n: i32) {
}

// -----

// expected-remark @+1 {{because of integers in global memory}}
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
