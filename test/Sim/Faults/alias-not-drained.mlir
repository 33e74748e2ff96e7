// RUN: jfa-sim %s -D BUG=false --arg x=random:256x64 --arg o=none:256x64 --arg n=4
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg x=random:256x64 --arg o=none:256x64 --arg n=4 2>&1 | FileCheck %s
//
// The next tile is loaded into a buffer that aliases the one from which the last
// results are still being stored.
//
// CHECK: error: buffer overwritten while it is read: the operation that @load starts writes %result, but nothing orders that after an operation has read it
// CHECK: note: the operation that @use starts reads it here
// CHECK: note: the last that @load has learnt from @use is this arrival at %empty
// CHECK: note: missing: after this, tlx.async_descriptor_store_wait in @use, and then an arrival of @use at a barrier for which @load waits

!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%x: !map, %o: !map, %n: i32) {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %q = tlx.local_alloc : !tile
  %result = tlx.local_alloc alias(%q) : !tile, !tile
  %full = tlx.alloc_barriers arrivals(1) : !bar
  %empty = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %empty, %phase producer : !bar
        tlx.barrier_expect_bytes %full, %q : !bar, !tile
        %row = arith.muli %i, %c64 : i32
        tlx.async_descriptor_load %x[%row, %c0], %q signal %full
            : !map, !tile, !bar
      }
    }
    tlx.async_task @use warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %full, %phase : !bar
        %value = tlx.local_load %q : !tile -> tensor<64x64xbf16>
        %twice = arith.addf %value, %value : tensor<64x64xbf16>
        tlx.local_store %twice, %result : tensor<64x64xbf16>, !tile
        %row = arith.muli %i, %c64 : i32
        tlx.async_descriptor_store %o[%row, %c0], %result : !map, !tile
        scf.if %bug {
          tlx.barrier_arrive %empty : !bar
        }
        tlx.async_descriptor_store_wait pending(0)
        scf.if %bug {
        } else {
          tlx.barrier_arrive %empty : !bar
        }
      }
    }
  }
}
