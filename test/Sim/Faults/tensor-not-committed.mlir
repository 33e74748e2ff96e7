// RUN: jfa-sim %s -D BUG=false --arg x=random:384x64 --arg y=none:128 --arg n=3
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg x=random:384x64 --arg y=none:128 --arg n=3 2>&1 | FileCheck %s
//
// A product of which nothing says that it is done.
//
// CHECK: error: deadlock: @use waits for a phase of parity 0 of %done: phase 0 has 0 of 1 arrival, and nothing can go on
// CHECK: note: no other task signals it
// CHECK: @use

!map = !tlx.tensormap<[128, 64], bf16>
!tile = !tlx.memdesc<[128, 64], bf16>
!trans = !tlx.memdesc<[64, 128], bf16, transposed>
!sums = !tlx.memdesc<[128, 128], f32, tensor>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<f32>, %n: i32) {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %a = tlx.local_alloc : !tile
  %sums = tlx.local_alloc : !sums
  %full = tlx.alloc_barriers arrivals(1) : !bar
  %done = tlx.alloc_barriers arrivals(1) : !bar
  %free = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @use warps(4) {
      %zero = arith.constant dense<0.0> : tensor<128xf32>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> tensor<128xf32> : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %done, %phase : !bar
        %tile = tlx.local_load %sums : !sums -> tensor<128x128xf32>
        tlx.barrier_arrive %free : !bar
        %row = tlx.reduce add %tile dim 1 : tensor<128x128xf32> -> tensor<128xf32>
        %next = arith.addf %acc, %row : tensor<128xf32>
        scf.yield %next : tensor<128xf32>
      }
      %rows = tlx.iota dim 0 : tensor<128xi32>
      tlx.global_store %sum, %y[%rows] : tensor<128xf32>, !tlx.ptr<f32>, tensor<128xi32>
    }
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %free, %phase producer : !bar
        tlx.barrier_expect_bytes %full, %a : !bar, !tile
        %row = arith.muli %i, %c128 : i32
        tlx.async_descriptor_load %x[%row, %c0], %a signal %full : !map, !tile, !bar
      }
    }
    tlx.async_task @multiply warps(1) {
      %at = tlx.local_trans %a : !tile -> !trans
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %full, %phase : !bar
        tlx.async_dot %a, %at, %sums : !tile, !trans, !sums
        scf.if %bug {
        } else {
          tlx.tcgen05_commit %done : !bar
        }
      }
    }
  }
}
