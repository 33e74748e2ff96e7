// RUN: jfa-sim %s -D STAGES=4 --arg x=random:512x64 --arg y=none:2x64 --arg n=8
// RUN: jfa-sim %s -D STAGES=4 --verify 2>&1 | count 0
// RUN: %exits 2 jfa-sim %s -D STAGES=3 --arg x=random:512x64 --arg y=none:2x64 --arg n=8 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %s -D STAGES=3 --arg x=random:512x64 --arg y=none:2x64 --arg n=8 --schedule=late 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %s -D STAGES=3 --verify 2>&1 | FileCheck %s
//
// Replicas take turns at a ring whose depth is no multiple of them: each sees every
// other phase of a slot, and all that it sees have one parity. A replica that is
// ahead of a copy takes the phase before for the one that the copy completes. No
// schedule has to make that happen for it to be found.
//
// CHECK: error: parity aliased: @use#1 can wait for phase 1 of %full[0] before phase 0 has completed, when its parity is that of the phase before the first too, which lets it pass
// CHECK: note: this completes phase 0; @use#1 has to wait for it, or for something after it, first

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[STAGES, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[STAGES]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<bf16>, %n: i32) attributes {tlx.trip_counts = ["n"]} {
  tlx.param STAGES = 4 from 1 to 8 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %buffer = tlx.local_alloc : !ring
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(STAGES) : i32
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
      %zero = arith.constant dense<0.0> : tensor<64x64xbf16>
      %sum = scf.for %i = %replica to %n step %c2 iter_args(%acc = %zero)
          -> (tensor<64x64xbf16>) : i32 {
        %slot, %phase = tlx.ring %i stages(STAGES) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !bars
        %value = tlx.local_load %tile : !tile -> tensor<64x64xbf16>
        tlx.barrier_arrive %empty[%slot] : !bars
        %next = arith.addf %acc, %value : tensor<64x64xbf16>
        scf.yield %next : tensor<64x64xbf16>
      }
      %first = arith.muli %replica, %c64 : i32
      %firsts = tlx.splat %first : i32 -> tensor<64xi32>
      %iota = tlx.iota dim 0 : tensor<64xi32>
      %rows = arith.addi %firsts, %iota : tensor<64xi32>
      %sums = tlx.reduce add %sum dim 1 : tensor<64x64xbf16> -> tensor<64xbf16>
      tlx.global_store %sums, %y[%rows]
          : tensor<64xbf16>, !tlx.ptr<bf16>, tensor<64xi32>
    }
  }
}
