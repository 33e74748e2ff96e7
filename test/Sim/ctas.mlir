// Several CTAs, and the ops that no other test here runs: which CTA this is and
// of how many, a prefetch, a meeting of the task's threads, shared memory read
// as another type, the mark of a masked tail.
//
// RUN: jfa-sim %s --arg x=iota:8x16 --arg y=none:24 --grid=3 --out y=%t.npy
// RUN: %python %S/Inputs/check_ctas.py %t.npy | FileCheck %s
//
// CHECK: sums and facts of each CTA: right

!map = !tlx.tensormap<[8, 16], f32>
!tile = !tlx.memdesc<[8, 16], f32>
!halves = !tlx.memdesc<[8, 32], bf16>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c8 = arith.constant 8 : i32
  %cta = tlx.cta_id : i32
  %ctas = tlx.cta_count : i32
  %buffer = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @k warps(4) {
      tlx.async_descriptor_prefetch %x[%c0, %c0] : !map
      tlx.barrier_expect_bytes %full, %buffer : !bar, !tile
      tlx.async_descriptor_load %x[%c0, %c0], %buffer signal %full : !map, !tile, !bar
      tlx.barrier_wait %full, %c0 : !bar
      // The upper half of a small whole number in f32 is that number in bf16.
      %view = tlx.local_reinterpret %buffer : !tile -> !halves
      %v16 = tlx.local_load %view : !halves -> tensor<8x32xbf16>
      %v = arith.extf %v16 : tensor<8x32xbf16> to tensor<8x32xf32>
      %sum = tlx.reduce add %v dim 1 : tensor<8x32xf32> -> tensor<8xf32>
      tlx.task_barrier
      %tails = scf.for %j = %c0 to %c4 step %c1 iter_args(%n = %c0) -> i32 : i32 {
        %tail = tlx.in_masked_tail %j from %c2 : i32
        %more = arith.extui %tail : i1 to i32
        %n1 = arith.addi %n, %more : i32
        scf.yield %n1 : i32
      }
      // Which CTA, of how many, and how many steps were in the tail.
      %c100 = arith.constant 100 : i32
      %c10 = arith.constant 10 : i32
      %a = arith.muli %cta, %c100 : i32
      %b = arith.muli %ctas, %c10 : i32
      %ab = arith.addi %a, %b : i32
      %facts = arith.addi %ab, %tails : i32
      %facts_f = arith.sitofp %facts : i32 to f32
      %facts_row = tlx.splat %facts_f : f32 -> tensor<8xf32>
      %scale = arith.constant dense<1000.0> : tensor<8xf32>
      %scaled = arith.mulf %facts_row, %scale : tensor<8xf32>
      %result = arith.addf %sum, %scaled : tensor<8xf32>
      %row = tlx.iota dim 0 : tensor<8xi32>
      %begin = arith.muli %cta, %c8 : i32
      %begins = tlx.splat %begin : i32 -> tensor<8xi32>
      %at = arith.addi %row, %begins : tensor<8xi32>
      tlx.global_store %result, %y[%at] : tensor<8xf32>, !tlx.ptr<f32>, tensor<8xi32>
    }
  }
}
