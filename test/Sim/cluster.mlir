// Two CTAs sum the same tiles. Each copies one half of every tile to both, and a
// slot is free when both have read it. Parameters break it in one place each, for
// the pairs of Faults/cluster-*.mlir and Faults/multicast-*.mlir.
//
// RUN: jfa-sim %s --arg x=iota:320x32 --arg y=none:256 --arg n=5 --grid=4 --out y=%t.npy
// RUN: %python %S/Inputs/check_cluster.py %t.npy | FileCheck %s
// RUN: jfa-sim %s --arg x=iota:320x32 --arg y=none:128 --arg n=5 --schedule=late
// RUN: jfa-sim %s --arg x=iota:320x32 --arg y=none:128 --arg n=5 --schedule=random:3
// RUN: jfa-sim %s --arg x=iota:320x32 --arg y=none:128 --arg n=5 --schedule=pct:4
// RUN: jfa-sim %s --arg x=iota:64x32 --arg y=none:128 --arg n=1 --schedule=all:2000
// RUN: jfa-sim %s --verify
//
// CHECK: sums of each CTA: right

!map = !tlx.tensormap<[32, 32], f32>
!halves = !tlx.memdesc<[4, 32, 32], f32>
!half = !tlx.memdesc<[32, 32], f32>
!ring = !tlx.memdesc<[2, 64, 32], f32>
!tile = !tlx.memdesc<[64, 32], f32>
!bars = !tlx.mbarrier<[2]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<f32>, %n: i32) cluster(2)
    attributes {tlx.trip_counts = ["n"]} {
  // Whether the CTAs meet before they reach each other, and before they end.
  %meet_first = tlx.param MEET_FIRST = true : i1
  %meet_last = tlx.param MEET_LAST = true : i1
  %arrive_twice = tlx.param ARRIVE_TWICE = false : i1
  %arrive = tlx.param ARRIVE = true : i1
  // Who is told that a slot has been read, how many say so, and how.
  %told = tlx.param TOLD = 3 : i32
  %tell_own = tlx.param TELL_OWN = false : i1
  tlx.param ARRIVALS = 2 : i32
  %fenced = tlx.param FENCED = true : i1
  // What is copied: bytes to expect, and to whom rank 0 copies.
  tlx.param BYTES = 8192 : i32
  %to = tlx.param TO = 3 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %rank = tlx.cluster_rank : i32
  %own = arith.shli %c1, %rank : i32
  %release = arith.select %tell_own, %own, %told : i32
  %is_first = arith.cmpi eq, %rank, %c0 : i32
  %targets = arith.select %is_first, %to, %c3 : i32
  %parts = tlx.local_alloc : !halves
  %buffer = tlx.local_reinterpret %parts : !halves -> !ring
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(ARRIVALS) : !bars
  scf.if %meet_first {
    tlx.cluster_arrive
    tlx.cluster_wait
  }
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %pair = arith.muli %slot, %c2 : i32
        %part = arith.addi %pair, %rank : i32
        %half = tlx.local_view %parts[%part] : !halves -> !half
        %tile_row = arith.muli %i, %c64 : i32
        %half_row = arith.muli %rank, %c32 : i32
        %row = arith.addi %tile_row, %half_row : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_expect_bytes %full[%slot] bytes(BYTES) : !bars
        tlx.async_descriptor_load %x[%row, %c0], %half signal %full[%slot]
            multicast(%targets) : !map, !half, !bars
      }
    }
    tlx.async_task @sum warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x32xf32>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero)
          -> (tensor<64x32xf32>) : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !bars
        %value = scf.if %fenced -> (tensor<64x32xf32>) {
          %loaded = tlx.local_load %tile : !tile -> tensor<64x32xf32>
          scf.yield %loaded : tensor<64x32xf32>
        } else {
          %loaded = tlx.local_load %tile unfenced : !tile -> tensor<64x32xf32>
          scf.yield %loaded : tensor<64x32xf32>
        }
        tlx.remote_barrier_arrive %empty[%slot] mask(%release) : !bars
        %next = arith.addf %acc, %value : tensor<64x32xf32>
        scf.yield %next : tensor<64x32xf32>
      }
      %cta = tlx.cta_id : i32
      %begin = arith.muli %cta, %c64 : i32
      %begins = tlx.splat %begin : i32 -> tensor<64xi32>
      %iota = tlx.iota dim 0 : tensor<64xi32>
      %rows = arith.addi %iota, %begins : tensor<64xi32>
      %sums = tlx.reduce add %sum dim 1 : tensor<64x32xf32> -> tensor<64xf32>
      tlx.global_store %sums, %y[%rows]
          : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
      scf.if %meet_last {
        scf.if %arrive {
          tlx.cluster_arrive
        }
        scf.if %arrive_twice {
          tlx.cluster_arrive
        }
        tlx.cluster_wait
      }
    }
  }
}
