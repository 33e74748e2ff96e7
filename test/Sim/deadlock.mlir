// What a report of a deadlock says: the chain of waits from its first to where it
// closes, without tasks that have passed the op that would signal; and tasks that
// wait for nobody who is left.
//
// RUN: %exits 2 jfa-sim %s 2>&1 | FileCheck %s
//
// CHECK: error: deadlock: @outside waits for a phase of parity 0 of %a: phase 0 has 0 of 1 arrival, and nothing can go on
// CHECK-NEXT: barrier_wait %a
// CHECK-NOT: @early could still signal
// CHECK: note: @first could still signal %a here
// CHECK: note: @first waits for a phase of parity 0 of %c: phase 0 has 0 of 1 arrival
// CHECK: note: @third could still signal %c here
// CHECK: note: @third waits for named barrier 1: 128 of 256 threads
// CHECK: note: @second could still signal named barrier 1 here
// CHECK: note: @second waits for a phase of parity 0 of %a: phase 0 has 0 of 1 arrival
// CHECK: note: @early waits for a phase of parity 0 of %d: phase 0 has 0 of 1 arrival
// CHECK: note: every task that signals %d has ended
// CHECK: note: they wait in a circle: @first for @third to signal %c, which waits for @second to signal named barrier 1, which waits for @first to signal %a

!bar = !tlx.mbarrier<[1]>

tlx.kernel @k() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = tlx.alloc_barriers arrivals(1) : !bar
  %c = tlx.alloc_barriers arrivals(1) : !bar
  %d = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @outside warps(1) {
      tlx.barrier_wait %a, %c0 : !bar
    }
    tlx.async_task @first warps(1) {
      tlx.barrier_wait %c, %c0 : !bar
      tlx.barrier_arrive %a : !bar
    }
    tlx.async_task @second warps(4) {
      tlx.barrier_wait %a, %c0 : !bar
      tlx.named_barrier_wait %c1 threads(256)
    }
    tlx.async_task @third warps(4) {
      tlx.named_barrier_wait %c1 threads(256)
      tlx.barrier_arrive %c : !bar
    }
    tlx.async_task @early warps(1) {
      %cta = tlx.cta_id : i32
      %is_other = arith.cmpi eq, %cta, %c1 : i32
      scf.if %is_other {
        tlx.barrier_arrive %a : !bar
      }
      tlx.barrier_wait %d, %c0 : !bar
    }
    tlx.async_task @ended warps(1) {
      %id = tlx.cta_id : i32
      %never = arith.cmpi eq, %id, %c1 : i32
      scf.if %never {
        tlx.barrier_arrive %d : !bar
      }
    }
  }
}
