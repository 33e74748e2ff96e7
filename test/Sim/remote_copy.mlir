// Two CTAs send each other a tile n times, and add up what comes. Parameters break it
// in one place each, for the pairs of Faults/remote-copy-*.mlir.
//
// RUN: jfa-sim %s --arg y=none:128x32 --arg n=5 --grid=2 --out y=%t.y.npy
// RUN: %python %S/Inputs/check_remote_copy.py %t.y.npy 5 | FileCheck %s
// RUN: jfa-sim %s --arg y=none:128x32 --arg n=5 --grid=2 --schedule=late
// RUN: jfa-sim %s --arg y=none:128x32 --arg n=5 --grid=2 --schedule=random:3
// RUN: jfa-sim %s --arg y=none:128x32 --arg n=5 --grid=2 --schedule=pct:4
// RUN: jfa-sim %s --arg y=none:128x32 --arg n=2 --grid=2 --order --schedule=all:500
// RUN: jfa-sim %s --verify
//
// CHECK: 4096 elements, wrong: 0

!tile = !tlx.memdesc<[64, 32], f32>
!bar = !tlx.mbarrier<[1]>
!values = tensor<64x32xf32>

tlx.kernel @exchange(%y: !tlx.ptr<f32>, %n: i32) cluster(2)
    attributes {tlx.trip_counts = ["n"]} {
  // To whom a tile goes: 2 is the other CTA, less how far from this one.
  %to = tlx.param TO = 2 : i32
  // The bytes that are expected.
  tlx.param EXPECTED = 8192 : i32
  // Whether the sender waits until its tile has arrived, and who says so.
  %waits = tlx.param WAITS = true : i1
  %tells_own = tlx.param TELLS_OWN = false : i1
  %meets_first = tlx.param MEETS_FIRST = true : i1
  %meets_last = tlx.param MEETS_LAST = true : i1

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %rank = tlx.cluster_rank : i32
  %peer = arith.xori %rank, %c1 : i32
  %sends_to_peer = arith.cmpi eq, %to, %c2 : i32
  %other = arith.addi %rank, %to : i32
  %receiver = arith.select %sends_to_peer, %peer, %other : i32
  %told = arith.select %tells_own, %rank, %peer : i32
  %told_mask = arith.shli %c1, %told : i32
  %out = tlx.local_alloc : !tile
  %in = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !bar
  %empty = tlx.alloc_barriers arrivals(1) : !bar
  scf.if %meets_first {
    tlx.cluster_arrive
    tlx.cluster_wait
  }
  tlx.async_tasks {
    tlx.async_task @send warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        %hundred = arith.constant 100 : i32
        %mine = arith.muli %rank, %hundred : i32
        %number = arith.addi %mine, %i : i32
        %real = arith.sitofp %number : i32 to f32
        %values = tlx.splat %real : f32 -> !values
        scf.if %waits {
          tlx.barrier_wait %empty, %phase producer : !bar
        }
        tlx.local_store %values, %out : !values, !tile
        tlx.async_remote_copy %out, %in rank(%receiver) signal %full
            : !tile, !tile, !bar
      }
      scf.if %meets_last {
        tlx.cluster_arrive
        tlx.cluster_wait
      }
    }
    tlx.async_task @receive warps(4) {
      %zero = arith.constant dense<0.0> : !values
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero)
          -> (!values) : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_expect_bytes %full bytes(EXPECTED) : !bar
        tlx.barrier_wait %full, %phase : !bar
        %values = tlx.local_load %in : !tile -> !values
        tlx.remote_barrier_arrive %empty mask(%told_mask) : !bar
        %after = arith.addf %before, %values : !values
        scf.yield %after : !values
      }
      %first = arith.muli %rank, %c64 : i32
      %firsts = tlx.splat %first : i32 -> tensor<64xi32>
      %iota = tlx.iota dim 0 : tensor<64xi32>
      %rows = arith.addi %iota, %firsts : tensor<64xi32>
      %row = tlx.expand_dims %rows dim 1 : tensor<64xi32> -> tensor<64x1xi32>
      %row_b = tlx.broadcast %row : tensor<64x1xi32> -> tensor<64x32xi32>
      %pitch = tlx.splat %c32 : i32 -> tensor<64x32xi32>
      %begin = arith.muli %row_b, %pitch : tensor<64x32xi32>
      %column = tlx.iota dim 1 : tensor<64x32xi32>
      %at = arith.addi %begin, %column : tensor<64x32xi32>
      tlx.global_store %sum, %y[%at]
          : !values, !tlx.ptr<f32>, tensor<64x32xi32>
      scf.if %meets_last {
        tlx.cluster_arrive
        tlx.cluster_wait
      }
    }
  }
}
