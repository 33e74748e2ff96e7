// RUN: jfa-sim %s -D BUG=false --arg x=random:256x64 --arg y=none:64 --arg n=4
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg x=random:256x64 --arg y=none:64 --arg n=4 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %s -D BUG=true --verify 2>&1 | FileCheck %s
//
// A consumer that says a buffer is free when it has started to read, and has no fence
// that would wait for what it reads.
//
// CHECK: error: missing proxy fence: the operation that @load starts writes %buffer through the async proxy, but no fence follows the read
// CHECK: note: @use reads it here
// CHECK: note: @use needs tlx.fence_async_shared between here and its release

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<bf16>, %n: i32)
    attributes {tlx.trip_counts = ["n"]} {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
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
        %row = arith.muli %i, %c64 : i32
        tlx.async_descriptor_load %x[%row, %c0], %tile signal %full[%slot]
            : !map, !tile, !bars
      }
    }
    tlx.async_task @use warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero)
          -> (tensor<64x64xbf16>) : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !bars
        %value = scf.if %bug -> (tensor<64x64xbf16>) {
          %unfenced = tlx.local_load %tile unfenced : !tile -> tensor<64x64xbf16>
          scf.yield %unfenced : tensor<64x64xbf16>
        } else {
          %fenced = tlx.local_load %tile : !tile -> tensor<64x64xbf16>
          scf.yield %fenced : tensor<64x64xbf16>
        }
        tlx.barrier_arrive %empty[%slot] : !bars
        %next = arith.addf %acc, %value : tensor<64x64xbf16>
        scf.yield %next : tensor<64x64xbf16>
      }
      %rows = tlx.iota dim 0 : tensor<64xi32>
      %sums = tlx.reduce add %sum dim 1 : tensor<64x64xbf16> -> tensor<64xbf16>
      tlx.global_store %sums, %y[%rows]
          : tensor<64xbf16>, !tlx.ptr<bf16>, tensor<64xi32>
    }
  }
}
