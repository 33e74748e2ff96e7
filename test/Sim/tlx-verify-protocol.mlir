// Kernels whose trip counts can be enumerated are verified for all of them; of
// the others it is said that they have not been, and where, or refused.
//
// RUN: split-file %s %t
// RUN: jfa-sim %t/right.mlir --verify 2>&1 | count 0
// RUN: not jfa-sim %t/wrong.mlir --verify 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: jfa-sim %t/unused.mlir --verify --strict 2>&1 | count 0
// RUN: jfa-sim %t/unknown.mlir --verify 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %exits 2 jfa-sim %t/unknown.mlir --verify --strict 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: jfa-sim %t/data.mlir --verify 2>&1 | FileCheck %s --check-prefix=DATA
// RUN: %exits 2 jfa-sim %t/data.mlir --verify --strict 2>&1 | FileCheck %s --check-prefix=DATA
// RUN: jfa-sim %t/carried.mlir --verify 2>&1 | FileCheck %s --check-prefix=CARRIED
// RUN: jfa-sim %t/tile.mlir --verify 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: %exits 2 jfa-sim %t/tile.mlir --verify --strict 2>&1 | FileCheck %s --check-prefix=TILE
// RUN: jfa-opt %t/tile.mlir --pass-pipeline='builtin.module(tlx.kernel(tlx-allocate-memory,tlx-verify-protocol))' 2>&1 | FileCheck %s --check-prefix=PART
// RUN: jfa-sim %t/tiles_loop.mlir --verify 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: jfa-sim %t/both_ways.mlir -D WRITES=true --verify --strict 2>&1 | count 0
// RUN: %exits 2 jfa-sim %t/both_ways.mlir -D WRITES=false --verify 2>&1 | FileCheck %s --check-prefix=WAYS
// RUN: jfa-sim %t/many.mlir --verify 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: jfa-sim %t/answers.mlir --verify 2>&1 | FileCheck %s --check-prefix=ANSWERS
// RUN: %exits 2 jfa-sim %t/answers.mlir --verify --strict 2>&1 | FileCheck %s --check-prefix=ANSWERS
// RUN: %exits 3 jfa-sim %t/right.mlir --strict 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: jfa-opt %t/unknown.mlir --pass-pipeline='builtin.module(tlx.kernel(tlx-allocate-memory,tlx-verify-protocol{mode=off}))' 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not jfa-opt %t/unknown.mlir --pass-pipeline='builtin.module(tlx.kernel(tlx-allocate-memory,tlx-verify-protocol{mode=strict}))' 2>&1 | FileCheck %s --check-prefix=STRICT
//
// WRONG: error: deadlock: @a waits for a phase of parity 0 of %empty[0]: phase 0 has 0 of 1 arrival, and nothing can go on
// WRONG: note: every task that signals %empty[0] has ended
// UNKNOWN: unknown.mlir:5:7: remark: the protocol has not been verified: it depends on the argument 'n', which 'tlx.trip_counts' does not name
// UNKNOWN: unknown.mlir:1:21: note: which comes from here
// STRICT: unknown.mlir:5:7: error: the protocol has not been verified: it depends on the argument 'n', which 'tlx.trip_counts' does not name
// DATA: data.mlir:7:7: {{remark|error}}: the protocol has not been verified: it depends on integers in global memory
// DATA: data.mlir:4:8: note: which comes from here
// CARRIED: carried.mlir:14:9: remark: the protocol has not been verified: it depends on integers in global memory
// TILE: tile.mlir:12:7: {{remark|error}}: the protocol has been verified in part: it depends on values of tiles, of which one case was seen
// TILE: tile.mlir:11:14: note: which comes from here
// PART: tlx.protocol = "partly verified: it depends on values of tiles, of which one case was seen"
// LOOP: remark: the protocol has not been verified: it depends on values of tiles
// WAYS: error: memory never written: @a reads %buffer, which nobody has written
// MANY: remark: the protocol has not been verified: 10 values of each of 4 trip counts are more than 1000 launches
// ANSWERS: {{remark|error}}: the protocol has been verified in part: its requests for clusters have more than 1000 sequences of answers, of which so many were tried
// USAGE: jfa-sim: error: expected '--strict' with '--verify' only
// OFF: remark: the protocol has not been verified: it was switched off
// OFF: tlx.protocol = "not verified: it was switched off"

//--- right.mlir
// Trip counts from 0 up: the ring is right for all of them.
!bars = !tlx.mbarrier<[2]>
tlx.kernel @right(%n: i32) attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_arrive %full[%slot] : !bars
      }
    }
    tlx.async_task @b warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %full[%slot], %phase : !bars
        tlx.barrier_arrive %empty[%slot] : !bars
      }
    }
  }
}

//--- wrong.mlir
// Only from the third trip on is something wrong.
!bars = !tlx.mbarrier<[2]>
tlx.kernel @wrong(%n: i32) attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_arrive %full[%slot] : !bars
      }
    }
    tlx.async_task @b warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        tlx.barrier_wait %full[%slot], %phase : !bars
      }
    }
  }
}

//--- unused.mlir
// What decides on nothing that others notice need not be known: an extent that is
// in coordinates only, numbers from memory that are, and a vote on arithmetic.
!map = !tlx.tensormap<[64, 64], f32>
!tile = !tlx.memdesc<[64, 64], f32>
!bar = !tlx.mbarrier<[1]>
tlx.kernel @unused(%x: !map, %p: !tlx.ptr<i32>, %y: !tlx.ptr<f32>, %rows: i32, %scale: f32) {
  %c0 = arith.constant 0 : i32
  %buffer = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      %row = tlx.global_load %p[%rows] : !tlx.ptr<i32>, i32 -> i32
      tlx.barrier_expect_bytes %full, %buffer : !bar, !tile
      tlx.async_descriptor_load %x[%row, %c0], %buffer signal %full : !map, !tile, !bar
      tlx.barrier_wait %full, %c0 : !bar
      %tile = tlx.local_load %buffer : !tile -> tensor<64x64xf32>
      %sums = tlx.reduce add %tile dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      %zero = arith.constant dense<0.0> : tensor<64xf32>
      %negative = arith.cmpf olt, %sums, %zero : tensor<64xf32>
      %any = tlx.vote_any %negative : tensor<64xi1>
      %clamped = scf.if %any -> tensor<64xf32> {
        %positive = arith.maximumf %sums, %zero : tensor<64xf32>
        scf.yield %positive : tensor<64xf32>
      } else {
        scf.yield %sums : tensor<64xf32>
      }
      %index = tlx.iota dim 0 : tensor<64xi32>
      tlx.global_store %clamped, %y[%index] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

//--- unknown.mlir
tlx.kernel @unknown(%n: i32) {
  %c0 = arith.constant 0 : i32   %c1 = arith.constant 1 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        tlx.fence_async_shared
      }
    }
  }
}

//--- data.mlir
// A step of which nobody knows that it is not 0: nothing is run.
tlx.kernel @data(%p: !tlx.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %n = tlx.global_load %p[%c0] : !tlx.ptr<i32>, i32 -> i32
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %n : i32 {
        tlx.fence_async_shared
      }
    }
  }
}

//--- carried.mlir
// A phase that a loop carries, from the second trip on out of memory.
!bar = !tlx.mbarrier<[1]>
tlx.kernel @carried(%p: !tlx.ptr<i32>, %n: i32) attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%parity = %c0) -> (i32) : i32 {
        tlx.barrier_arrive %full : !bar
        %sum = arith.addi %parity, %i : i32
        %phase = arith.remui %sum, %c2 : i32
        tlx.barrier_wait %full, %phase : !bar
        %next = tlx.global_load %p[%i] : !tlx.ptr<i32>, i32 -> i32
        scf.yield %next : i32
      }
    }
  }
}

//--- tile.mlir
// An arrival that values decide on: the launches have seen it done.
!bar = !tlx.mbarrier<[1]>
tlx.kernel @tile(%x: !tlx.ptr<f32>) {
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      %index = tlx.iota dim 0 : tensor<128xi32>
      %values = tlx.global_load %x[%index] : !tlx.ptr<f32>, tensor<128xi32> -> tensor<128xf32>
      %zero = arith.constant dense<0.0> : tensor<128xf32>
      %negative = arith.cmpf olt, %values, %zero : tensor<128xf32>
      %any = tlx.vote_any %negative : tensor<128xi1>
      scf.if %any {
        tlx.barrier_arrive %full : !bar
      }
    }
  }
}

//--- tiles_loop.mlir
// A loop that values decide on might not end without them.
!bar = !tlx.mbarrier<[1]>
tlx.kernel @tiles_loop() {
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      %values = arith.constant dense<true> : tensor<128xi1>
      scf.while : () -> () {
        %any = tlx.vote_any %values : tensor<128xi1>
        scf.condition(%any)
      } do {
        tlx.barrier_arrive %full : !bar
        scf.yield
      }
    }
  }
}

//--- both_ways.mlir
// Values decide only on whether a buffer is written: both ways are run.
!tile = !tlx.memdesc<[64, 64], f32>
tlx.kernel @both_ways(%x: !tlx.ptr<f32>) {
  %writes = tlx.param WRITES = true : i1
  %buffer = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      %index = tlx.iota dim 0 : tensor<64xi32>
      %values = tlx.global_load %x[%index] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32>
      %zero = arith.constant dense<0.0> : tensor<64xf32>
      %negative = arith.cmpf olt, %values, %zero : tensor<64xf32>
      %any = tlx.vote_any %negative : tensor<64xi1>
      %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
      scf.if %any {
        tlx.local_store %zeros, %buffer : tensor<64x64xf32>, !tile
      } else {
        scf.if %writes {
          tlx.local_store %zeros, %buffer : tensor<64x64xf32>, !tile
        }
      }
      %read = tlx.local_load %buffer : !tile -> tensor<64x64xf32>
      %sums = tlx.reduce add %read dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      tlx.global_store %sums, %x[%index] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

//--- many.mlir
!ring = !tlx.mbarrier<[6]>
tlx.kernel @many(%a: i32, %b: i32, %c: i32, %d: i32) attributes {tlx.trip_counts = ["a", "b", "c", "d"]} {
  %full = tlx.alloc_barriers arrivals(1) : !ring
}

//--- answers.mlir
// Two of 40 requests may get one of the two other clusters.
!response = !tlx.memdesc<[4], i32>
!bar = !tlx.mbarrier<[1]>
tlx.kernel @answers() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c40 = arith.constant 40 : i32
  %response = tlx.local_alloc : !response
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @ask warps(1) {
      scf.for %i = %c0 to %c40 step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_expect_bytes %full, %response : !bar, !response
        tlx.clc_try_cancel %response signal %full : !response, !bar
        tlx.barrier_wait %full, %phase : !bar
      }
    }
  }
}
