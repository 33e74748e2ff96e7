// RUN: jfa-sim %s -D BUG=false
// RUN: jfa-sim %s -D BUG=false --verify --strict
// RUN: %exits 2 jfa-sim %s -D BUG=true 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %s -D BUG=true --schedule=late 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %s -D BUG=true --schedule=random:2 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: %exits 2 jfa-sim %s -D BUG=true --verify 2>&1 | FileCheck %s
//
// Arrivals at a named barrier of a task that does not wait until the other one has come:
// the second may be counted with the first, whether it is in this schedule or not.
//
// CHECK: error: named barrier misused: @produce arrives a second time before the barrier has completed (id 1)
// CHECK: note: @produce has arrived here
// ORDER: error: named barrier misused: @produce can arrive while the barrier still waits for others to arrive that it has completed with before (id 1)
// ORDER: note: @consume arrives here, of which it knows nothing

!bar = !tlx.mbarrier<[1]>

tlx.kernel @k() {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %waits = arith.xori %bug, %true : i1
  %come = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @produce warps(4) {
      tlx.named_barrier_arrive %c1 threads(256)
      scf.if %waits {
        tlx.barrier_wait %come, %c0 : !bar
      }
      tlx.named_barrier_arrive %c1 threads(256)
    }
    tlx.async_task @consume warps(4) {
      tlx.named_barrier_wait %c1 threads(256)
      scf.if %waits {
        tlx.barrier_arrive %come : !bar
      }
      tlx.named_barrier_wait %c1 threads(256)
    }
  }
}
