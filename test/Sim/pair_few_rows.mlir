// The product of a pair with 128 rows, 64 of each CTA: S += X W^T, n times. A CTA
// has the first half of S's columns in lanes 0 to 63, the second one in the others.
//
// RUN: %python %S/Inputs/check_pair.py --make 3 %t.x.npy %t.w.npy 128
// RUN: jfa-sim %s --arg x=%t.x.npy --arg w=%t.w.npy --arg y=none:128x128 --arg n=3 --out y=%t.y.npy
// RUN: %python %S/Inputs/check_pair.py %t.x.npy %t.w.npy %t.y.npy | FileCheck %s
// RUN: jfa-sim %s --arg x=%t.x.npy --arg w=%t.w.npy --arg y=none:128x128 --arg n=3 --schedule=late
// RUN: jfa-sim %s --verify
//
// CHECK: 16384 elements, wrong: 0

!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!trans = !tlx.memdesc<[64, 64], bf16, transposed>
!s = !tlx.memdesc<[128, 64], f32, tensor>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @pair_few_rows(%x: !map, %w: !map, %y: !tlx.ptr<f32>, %n: i32)
    cluster(2) attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %both = arith.constant 3 : i32
  %rank = tlx.cluster_rank : i32
  %leads = arith.cmpi eq, %rank, %c0 : i32
  %own_row = arith.muli %rank, %c64 : i32
  %x_tile = tlx.local_alloc : !tile
  %w_tile = tlx.local_alloc : !tile
  %s = tlx.local_alloc : !s
  %full = tlx.alloc_barriers arrivals(1) : !bar
  %empty = tlx.alloc_barriers arrivals(1) : !bar
  %done = tlx.alloc_barriers arrivals(1) : !bar
  tlx.cluster_arrive
  tlx.cluster_wait
  tlx.async_tasks {
    tlx.async_task @use warps(4) {
      %any = arith.cmpi sgt, %n, %c0 : i32
      scf.if %any {
        tlx.barrier_wait %done, %c0 : !bar
        %sum = tlx.local_load %s : !s -> tensor<128x64xf32>
        %lane = tlx.iota dim 0 : tensor<128xi32>
        %half = tlx.splat %c64 : i32 -> tensor<128xi32>
        %half_of = arith.divui %lane, %half : tensor<128xi32>
        %lane_row = arith.remui %lane, %half : tensor<128xi32>
        %own_rows = tlx.splat %own_row : i32 -> tensor<128xi32>
        %row = arith.addi %lane_row, %own_rows : tensor<128xi32>
        %pitch = tlx.splat %c128 : i32 -> tensor<128xi32>
        %row_at = arith.muli %row, %pitch : tensor<128xi32>
        %first_column = arith.muli %half_of, %half : tensor<128xi32>
        %begin = arith.addi %row_at, %first_column : tensor<128xi32>
        %begin_c = tlx.expand_dims %begin dim 1 : tensor<128xi32> -> tensor<128x1xi32>
        %begins = tlx.broadcast %begin_c : tensor<128x1xi32> -> tensor<128x64xi32>
        %column = tlx.iota dim 1 : tensor<128x64xi32>
        %at = arith.addi %begins, %column : tensor<128x64xi32>
        tlx.global_store %sum, %y[%at]
            : tensor<128x64xf32>, !tlx.ptr<f32>, tensor<128x64xi32>
      }
    }
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        %block = arith.muli %i, %c128 : i32
        %row = arith.addi %block, %own_row : i32
        tlx.barrier_wait %empty, %phase producer : !bar
        scf.if %leads {
          tlx.barrier_expect_bytes %full, %x_tile, %w_tile cta_group(2)
              : !bar, !tile, !tile
        }
        tlx.async_descriptor_load %x[%row, %c0], %x_tile signal %full cta_group(2)
            : !map, !tile, !bar
        tlx.async_descriptor_load %w[%row, %c0], %w_tile signal %full cta_group(2)
            : !map, !tile, !bar
      }
    }
    tlx.async_task @multiply warps(1) {
      scf.if %leads {
        %wt = tlx.local_trans %w_tile : !tile -> !trans
        scf.for %i = %c0 to %n step %c1 : i32 {
          %slot, %phase = tlx.ring %i stages(1) : i32
          %more = arith.cmpi sgt, %i, %c0 : i32
          tlx.barrier_wait %full, %phase : !bar
          tlx.async_dot %x_tile, %wt, %s accumulate(%more) cta_group(2)
              : !tile, !trans, !s
          tlx.tcgen05_commit %empty multicast(%both) : !bar
        }
        %any = arith.cmpi sgt, %n, %c0 : i32
        scf.if %any {
          tlx.tcgen05_commit %done multicast(%both) : !bar
        }
      }
    }
  }
}
