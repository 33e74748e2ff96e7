// RUN: jfa-sim %s -D THREADS=256 
// RUN: %exits 2 jfa-sim %s -D THREADS=384  2>&1 | FileCheck %s
//
// Two users of a named barrier that do not agree how many there are.
//
// CHECK: error: named barrier misused: @b expects 256 threads of a barrier that others use with 384 (id 1)
// CHECK: note: @a has arrived here

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k() {
  tlx.param THREADS = 256 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      tlx.named_barrier_arrive %c1 threads(THREADS)
    }
    tlx.async_task @b warps(4) {
      tlx.named_barrier_wait %c1 threads(256)
    }
  }
}
