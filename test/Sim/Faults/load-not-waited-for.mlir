// RUN: jfa-sim %s -D BUG=false --arg x=random:64x64
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg x=random:64x64 2>&1 | FileCheck %s
//
// A kernel that may end while a copy still writes its shared memory.
//
// CHECK: error: not waited for: the kernel may end before this copy has
// CHECK: note: missing: a wait for phase 0 of %full[0], or for something after it

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%x: !map) {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %buffer = tlx.local_alloc : !ring
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      %tile = tlx.local_view %buffer[%c0] : !ring -> !tile
      tlx.barrier_expect_bytes %full[%c0], %tile : !bars, !tile
      tlx.async_descriptor_load %x[%c0, %c0], %tile signal %full[%c0]
          : !map, !tile, !bars
      scf.if %bug {
      } else {
        tlx.barrier_wait %full[%c0], %c0 : !bars
      }
    }
  }
}
