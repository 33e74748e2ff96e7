// RUN: jfa-sim %s -D BUG=false --arg x=random:256x64 --arg y=none:64 --arg n=4
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg x=random:256x64 --arg y=none:64 --arg n=4 2>&1 | FileCheck %s
//
// A slot that is released while the product still reads it.
//
// CHECK: error: buffer overwritten while it is read: the operation that @load starts writes %buffer, but nothing orders that after an operation has read it
// CHECK: note: the operation that @dot starts reads it here
// CHECK: note: the last that @load has learnt from @dot is this arrival at %empty[0]
// CHECK: note: missing: after this, tlx.async_dot_wait in @dot, and then an arrival of @dot at a barrier for which @load waits

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<f32>, %n: i32) {
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
    tlx.async_task @dot warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero)
          -> (tensor<64x64xf32>) : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !bars
        %pending = tlx.async_dot %tile, %tile, %acc : !tile, !tile -> tensor<64x64xf32>
        scf.if %bug {
          tlx.barrier_arrive %empty[%slot] : !bars
        }
        %product = tlx.async_dot_wait %pending pending(0) : tensor<64x64xf32>
        scf.if %bug {
        } else {
          tlx.barrier_arrive %empty[%slot] : !bars
        }
        scf.yield %product : tensor<64x64xf32>
      }
      %sums = tlx.reduce add %sum dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      %rows = tlx.iota dim 0 : tensor<64xi32>
      tlx.global_store %sums, %y[%rows] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}
