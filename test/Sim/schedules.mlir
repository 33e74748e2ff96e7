// Every order of a small ring, and runs that are the same every time.
//
// RUN: jfa-sim %s --arg x=iota:24x32 --arg n=3 --schedule=all:20000 | FileCheck %s --check-prefix=ALL
// RUN: jfa-sim %s --arg x=iota:24x32 --arg n=3 --schedule=random:5 --trace=%t.json --out x=%t.npy
// RUN: jfa-sim %s --arg x=iota:24x32 --arg n=3 --schedule=random:5 --trace=%t.again.json
// RUN: cmp %t.json %t.again.json
// RUN: FileCheck %s --check-prefix=TRACE < %t.json
// RUN: jfa-sim %s --arg x=%t.npy --arg n=3
//
// ALL: no violation under schedule
// TRACE: {"traceEvents":[{"name":"
// TRACE: "ph":"B"
// TRACE: "ph":"X"

!map = !tlx.tensormap<[8, 32], f32>
!ring = !tlx.memdesc<[2, 8, 32], f32>
!tile = !tlx.memdesc<[8, 32], f32>
!bars = !tlx.mbarrier<[2]>

tlx.kernel @k(%x: !map, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %buffer = tlx.local_alloc : !ring
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_expect_bytes %full[%slot], %tile : !bars, !tile
        %row = arith.muli %i, %c8 : i32
        tlx.async_descriptor_load %x[%row, %c0], %tile signal %full[%slot]
            : !map, !tile, !bars
      }
    }
    tlx.async_task @use warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %full[%slot], %phase : !bars
        tlx.barrier_arrive %empty[%slot] : !bars
      }
    }
  }
}
