// RUN: jfa-sim %s -D ARRIVALS=2 --arg x=random:256x64 --arg y=none:128 --arg n=4
// RUN: %exits 2 jfa-sim %s -D ARRIVALS=1 --arg x=random:256x64 --arg y=none:128 --arg n=4 2>&1 | FileCheck %s
//
// Two consumers of a slot whose release counts one.
//
// CHECK: error: deadlock: @use#1 waits for a phase of parity 0 of %full[0]: phase 2 has 0 of 1 arrival, and the one before the last has completed without it
// CHECK: note: this completed phase 0 of %full[0], which it may mean

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<bf16>, %n: i32) {
  tlx.param ARRIVALS = 2 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %buffer = tlx.local_alloc : !ring
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(ARRIVALS) : !bars
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
    tlx.async_task @use warps(4) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %begin = arith.muli %replica, %c64 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero)
          -> (tensor<64x64xbf16>) : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !bars
        %value = tlx.local_load %tile : !tile -> tensor<64x64xbf16>
        tlx.barrier_arrive %empty[%slot] : !bars
        %next = arith.addf %acc, %value : tensor<64x64xbf16>
        scf.yield %next : tensor<64x64xbf16>
      }
      %row_0 = tlx.iota dim 0 : tensor<64xi32>
      %begins = tlx.splat %begin : i32 -> tensor<64xi32>
      %rows = arith.addi %row_0, %begins : tensor<64xi32>
      %sums = tlx.reduce add %sum dim 1 : tensor<64x64xbf16> -> tensor<64xbf16>
      tlx.global_store %sums, %y[%rows]
          : tensor<64xbf16>, !tlx.ptr<bf16>, tensor<64xi32>
    }
  }
}
