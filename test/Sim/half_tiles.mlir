// Products of 64 rows in tensor memory: P = bf16(X W^T) and O += P W, n times, where
// two steps have the two tiles of each ring in the same columns. P takes the place of
// the sums that it is made of. P_SLOT breaks it for Faults/half-tile-lanes.mlir.
//
// RUN: %python %S/Inputs/check_pair.py --make 5 %t.x.npy %t.w.npy 64
// RUN: jfa-sim %s --arg x=%t.x.npy --arg w=%t.w.npy --arg y=none:64x64 --arg n=5 --out y=%t.y.npy
// RUN: %python %S/Inputs/check_pair.py %t.x.npy %t.w.npy %t.y.npy | FileCheck %s
// RUN: jfa-sim %s --arg x=%t.x.npy --arg w=%t.w.npy --arg y=none:64x64 --arg n=5 --schedule=late
// RUN: jfa-sim %s --arg x=%t.x.npy --arg w=%t.w.npy --arg y=none:64x64 --arg n=5 --schedule=random:3
// RUN: jfa-sim %s --arg x=%t.x.npy --arg w=%t.w.npy --arg y=none:64x64 --arg n=1 --schedule=pct:4
// RUN: jfa-sim %s -D WARPS=8 --arg x=%t.x.npy --arg w=%t.w.npy --arg y=none:64x64 --arg n=5 --out y=%t.y.npy
// RUN: %python %S/Inputs/check_pair.py %t.x.npy %t.w.npy %t.y.npy | FileCheck %s
// RUN: jfa-sim %s --verify
//
// CHECK: 4096 elements, wrong: 0

!x_map = !tlx.tensormap<[64, 64], bf16>
!w_map = !tlx.tensormap<[128, 64], bf16>
!x_ring = !tlx.memdesc<[2, 64, 64], bf16>
!x_tile = !tlx.memdesc<[64, 64], bf16>
!w_ring = !tlx.memdesc<[2, 128, 64], bf16>
!w_tile = !tlx.memdesc<[128, 64], bf16>
!w_trans = !tlx.memdesc<[64, 128], bf16, transposed>
!s_ring = !tlx.memdesc<[2, 64, 128], f32, tensor>
!s = !tlx.memdesc<[64, 128], f32, tensor>
!p_ring = !tlx.memdesc<[2, 64, 128], bf16, tensor>
!p = !tlx.memdesc<[64, 128], bf16, tensor>
!o_ring = !tlx.memdesc<[2, 64, 64], f32, tensor>
!o = !tlx.memdesc<[64, 64], f32, tensor>
!bar = !tlx.mbarrier<[1]>
!bars = !tlx.mbarrier<[2]>

tlx.kernel @half_tiles(%x: !x_map, %w: !w_map, %y: !tlx.ptr<f32>, %n: i32)
    attributes {tlx.trip_counts = ["n"]} {
  tlx.param WARPS = 4 in [4, 8] : i32
  // What is added to the number of the tile of P that a product takes.
  %p_slot_off = tlx.param P_SLOT = 0 in [0, 1] : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %xs = tlx.local_alloc : !x_ring
  %ws = tlx.local_alloc : !w_ring
  %s_tmem = tlx.local_alloc : !s_ring
  %p_tmem = tlx.local_alloc alias(%s_tmem) : !p_ring, !s_ring
  %o_tmem = tlx.local_alloc : !o_ring
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  %s_full = tlx.alloc_barriers arrivals(1) : !bars
  %p_full = tlx.alloc_barriers arrivals(1) : !bars
  %o_full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @use warps(WARPS) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %s = tlx.local_view %s_tmem[%slot] : !s_ring -> !s
        %p = tlx.local_view %p_tmem[%slot] : !p_ring -> !p
        tlx.barrier_wait %s_full[%slot], %phase : !bars
        %sum = tlx.local_load %s : !s -> tensor<64x128xf32>
        %p_16 = arith.truncf %sum : tensor<64x128xf32> to tensor<64x128xbf16>
        tlx.local_store %p_16, %p : tensor<64x128xbf16>, !p
        tlx.barrier_arrive %p_full[%slot] : !bars
      }
      %any = arith.cmpi sgt, %n, %c0 : i32
      scf.if %any {
        tlx.barrier_wait %o_full, %c0 : !bar
        %even = tlx.local_view %o_tmem[%c0] : !o_ring -> !o
        %odd = tlx.local_view %o_tmem[%c1] : !o_ring -> !o
        %o_even = tlx.local_load %even : !o -> tensor<64x64xf32>
        %has_odd = arith.cmpi sgt, %n, %c1 : i32
        %o = scf.if %has_odd -> (tensor<64x64xf32>) {
          %o_odd = tlx.local_load %odd : !o -> tensor<64x64xf32>
          %both = arith.addf %o_even, %o_odd : tensor<64x64xf32>
          scf.yield %both : tensor<64x64xf32>
        } else {
          scf.yield %o_even : tensor<64x64xf32>
        }
        %rows = tlx.iota dim 0 : tensor<64x64xi32>
        %pitch = tlx.splat %c64 : i32 -> tensor<64x64xi32>
        %begin = arith.muli %rows, %pitch : tensor<64x64xi32>
        %column = tlx.iota dim 1 : tensor<64x64xi32>
        %at = arith.addi %begin, %column : tensor<64x64xi32>
        tlx.global_store %o, %y[%at]
            : tensor<64x64xf32>, !tlx.ptr<f32>, tensor<64x64xi32>
      }
    }
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %x_tile = tlx.local_view %xs[%slot] : !x_ring -> !x_tile
        %w_tile = tlx.local_view %ws[%slot] : !w_ring -> !w_tile
        %x_row = arith.muli %i, %c64 : i32
        %w_row = arith.muli %i, %c128 : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_expect_bytes %full[%slot], %x_tile, %w_tile
            : !bars, !x_tile, !w_tile
        tlx.async_descriptor_load %x[%x_row, %c0], %x_tile signal %full[%slot]
            : !x_map, !x_tile, !bars
        tlx.async_descriptor_load %w[%w_row, %c0], %w_tile signal %full[%slot]
            : !w_map, !w_tile, !bars
      }
    }
    tlx.async_task @multiply warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %x_tile = tlx.local_view %xs[%slot] : !x_ring -> !x_tile
        %w_tile = tlx.local_view %ws[%slot] : !w_ring -> !w_tile
        %w_trans = tlx.local_trans %w_tile : !w_tile -> !w_trans
        %s = tlx.local_view %s_tmem[%slot] : !s_ring -> !s
        %number = arith.addi %slot, %p_slot_off : i32
        %p_slot = arith.remui %number, %c2 : i32
        %p = tlx.local_view %p_tmem[%p_slot] : !p_ring -> !p
        %o = tlx.local_view %o_tmem[%slot] : !o_ring -> !o
        %more = arith.cmpi sgt, %i, %c1 : i32
        tlx.barrier_wait %full[%slot], %phase : !bars
        tlx.async_dot %x_tile, %w_trans, %s : !x_tile, !w_trans, !s
        tlx.tcgen05_commit %s_full[%slot] : !bars
        tlx.barrier_wait %p_full[%slot], %phase : !bars
        tlx.async_dot %p, %w_tile, %o accumulate(%more) : !p, !w_tile, !o
        tlx.tcgen05_commit %empty[%slot] : !bars
      }
      %any = arith.cmpi sgt, %n, %c0 : i32
      scf.if %any {
        tlx.tcgen05_commit %o_full : !bar
      }
    }
  }
}
