// Two CTAs compute S = X W^T, P = bf16(S) and O += P W together, n times: each has
// 128 of 256 rows of X, and half of W's rows for the first product and of its
// columns for the second. CTAS=1 computes the same with one CTA each. Parameters
// break it in one place each, for the pairs of Faults/pair-*.mlir.
//
// RUN: %python %S/Inputs/check_pair.py --make 5 %t.x.npy %t.w.npy
// RUN: jfa-sim %s --arg x=%t.x.npy --arg w=%t.w.npy --arg v=%t.w.npy --arg y=none:256x64 --arg n=5 --grid=2 --out y=%t.y.npy
// RUN: %python %S/Inputs/check_pair.py %t.x.npy %t.w.npy %t.y.npy | FileCheck %s
// RUN: jfa-sim %s -D CTAS=1 --arg x=%t.x.npy --arg w=%t.w.npy --arg v=%t.w.npy --arg y=none:256x64 --arg n=5 --grid=2 --out y=%t.y.npy
// RUN: %python %S/Inputs/check_pair.py %t.x.npy %t.w.npy %t.y.npy | FileCheck %s
// RUN: jfa-sim %s --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 --schedule=late
// RUN: jfa-sim %s --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 --schedule=random:3
// RUN: jfa-sim %s --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 --schedule=pct:4
// RUN: jfa-sim %s --arg x=random:256x64 --arg w=random:128x64 --arg v=random:128x64 --arg y=none:256x64 --arg n=1 --order --schedule=all:500
// RUN: jfa-sim %s --verify
// RUN: jfa-sim %s --verify -D CTAS=1
//
// CHECK: 16384 elements, wrong: 0

!x_map = !tlx.tensormap<[128, 64], bf16>
!w_map = !tlx.tensormap<[128 floordiv CTAS, 64], bf16>
!v_map = !tlx.tensormap<[128, 64 floordiv CTAS], bf16>
!x_ring = !tlx.memdesc<[2, 128, 64], bf16>
!x_tile = !tlx.memdesc<[128, 64], bf16>
!w_ring = !tlx.memdesc<[2, 128 floordiv CTAS, 64], bf16>
!w_tile = !tlx.memdesc<[128 floordiv CTAS, 64], bf16>
!w_trans = !tlx.memdesc<[64, 128 floordiv CTAS], bf16, transposed>
!v_ring = !tlx.memdesc<[2, 128, 64 floordiv CTAS], bf16>
!v_tile = !tlx.memdesc<[128, 64 floordiv CTAS], bf16>
!s = !tlx.memdesc<[128, 128], f32, tensor>
!p = !tlx.memdesc<[128, 128], bf16, tensor>
!o = !tlx.memdesc<[128, 64], f32, tensor>
!bar = !tlx.mbarrier<[1]>
!bars = !tlx.mbarrier<[2]>

tlx.kernel @pair(%x: !x_map, %w: !w_map, %v: !v_map, %y: !tlx.ptr<f32>, %n: i32)
    cluster(CTAS) attributes {tlx.trip_counts = ["n"]} {
  %ctas = tlx.param CTAS = 2 in [1, 2] : i32
  // Whether the CTAs meet before they reach each other.
  %meet_first = tlx.param MEET_FIRST = true : i1
  // Who starts products, and who is told of them: by S and by O.
  %follower_may = tlx.param FOLLOWER_STARTS = false : i1
  %told_s = tlx.param TOLD_S = 3 : i32
  %told_o = tlx.param TOLD_O = 3 : i32
  // Of how many CTAs bytes are expected, and whose barrier copies signal.
  tlx.param EXPECTED = 2 in [1, 2] : i32
  tlx.param SIGNALLED = 2 in [1, 2] : i32
  // Whom @use tells of P: the leader, or its own CTA.
  %tell_own = tlx.param TELL_OWN = false : i1
  %wait_last = tlx.param WAIT_LAST = true : i1

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %is_pair = arith.cmpi eq, %ctas, %c2 : i32
  %both_s = arith.select %is_pair, %told_s, %c1 : i32
  %both_o = arith.select %is_pair, %told_o, %c1 : i32
  %both = arith.select %is_pair, %c3, %c1 : i32
  %rank = tlx.cluster_rank : i32
  %is_first = arith.cmpi eq, %rank, %c0 : i32
  %true = arith.constant true
  %is_second = arith.xori %is_first, %true : i1
  %follower_starts = arith.andi %is_second, %follower_may : i1
  %own = arith.shli %c1, %rank : i32
  %leader = arith.select %tell_own, %own, %c1 : i32

  %x_smem = tlx.local_alloc : !x_ring
  %w_smem = tlx.local_alloc : !w_ring
  %v_smem = tlx.local_alloc : !v_ring
  %s = tlx.local_alloc : !s
  %o = tlx.local_alloc : !o
  %p = tlx.local_alloc : !p
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  %s_full = tlx.alloc_barriers arrivals(1) : !bar
  %p_full = tlx.alloc_barriers arrivals(CTAS) : !bar
  %o_full = tlx.alloc_barriers arrivals(1) : !bar
  %meets = arith.andi %is_pair, %meet_first : i1
  scf.if %meets {
    tlx.cluster_arrive
    tlx.cluster_wait
  }
  tlx.async_tasks {
    tlx.async_task @use warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %s_full, %phase : !bar
        %sum = tlx.local_load %s : !s -> tensor<128x128xf32>
        %p_16 = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
        tlx.local_store %p_16, %p : tensor<128x128xbf16>, !p
        tlx.remote_barrier_arrive %p_full mask(%leader) : !bar
      }
      %any = arith.cmpi sgt, %n, %c0 : i32
      %reads = arith.andi %any, %wait_last : i1
      scf.if %reads {
        tlx.barrier_wait %o_full, %c0 : !bar
        %sum = tlx.local_load %o : !o -> tensor<128x64xf32>
        %cta = tlx.cta_id : i32
        %first = arith.muli %cta, %c128 : i32
        %firsts = tlx.splat %first : i32 -> tensor<128xi32>
        %iota = tlx.iota dim 0 : tensor<128xi32>
        %rows = arith.addi %iota, %firsts : tensor<128xi32>
        %row = tlx.expand_dims %rows dim 1 : tensor<128xi32> -> tensor<128x1xi32>
        %row_b = tlx.broadcast %row : tensor<128x1xi32> -> tensor<128x64xi32>
        %pitch = tlx.splat %c64 : i32 -> tensor<128x64xi32>
        %begin = arith.muli %row_b, %pitch : tensor<128x64xi32>
        %column = tlx.iota dim 1 : tensor<128x64xi32>
        %at = arith.addi %begin, %column : tensor<128x64xi32>
        tlx.global_store %sum, %y[%at]
            : tensor<128x64xf32>, !tlx.ptr<f32>, tensor<128x64xi32>
      }
    }
    tlx.async_task @load warps(1) {
      %cta = tlx.cta_id : i32
      %cta_row = arith.muli %cta, %c128 : i32
      %w_rows = arith.divui %c128, %ctas : i32
      %w_row = arith.muli %rank, %w_rows : i32
      %v_columns = arith.divui %c64, %ctas : i32
      %v_column = arith.muli %rank, %v_columns : i32
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %x_tile = tlx.local_view %x_smem[%slot] : !x_ring -> !x_tile
        %w_tile = tlx.local_view %w_smem[%slot] : !w_ring -> !w_tile
        %v_tile = tlx.local_view %v_smem[%slot] : !v_ring -> !v_tile
        %block = arith.muli %i, %c128 : i32
        %pair_row = arith.muli %block, %c2 : i32
        %row = arith.addi %pair_row, %cta_row : i32
        %own_row = arith.addi %block, %w_row : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        scf.if %is_first {
          tlx.barrier_expect_bytes %full[%slot], %x_tile, %w_tile, %v_tile
              cta_group(CTAS * EXPECTED floordiv 2) : !bars, !x_tile, !w_tile, !v_tile
        }
        tlx.async_descriptor_load %x[%row, %c0], %x_tile signal %full[%slot]
            cta_group(CTAS * SIGNALLED floordiv 2) : !x_map, !x_tile, !bars
        tlx.async_descriptor_load %w[%own_row, %c0], %w_tile signal %full[%slot]
            cta_group(CTAS * SIGNALLED floordiv 2) : !w_map, !w_tile, !bars
        tlx.async_descriptor_load %v[%block, %v_column], %v_tile signal %full[%slot]
            cta_group(CTAS * SIGNALLED floordiv 2) : !v_map, !v_tile, !bars
      }
    }
    tlx.async_task @multiply warps(1) {
      scf.if %follower_starts {
        %x_tile = tlx.local_view %x_smem[%c0] : !x_ring -> !x_tile
        %w_tile = tlx.local_view %w_smem[%c0] : !w_ring -> !w_tile
        %wt = tlx.local_trans %w_tile : !w_tile -> !w_trans
        tlx.async_dot %x_tile, %wt, %s cta_group(CTAS) : !x_tile, !w_trans, !s
      }
      scf.if %is_first {
        scf.for %i = %c0 to %n step %c1 : i32 {
          %slot, %phase = tlx.ring %i stages(2) : i32
          %one_slot, %one = tlx.ring %i stages(1) : i32
          %x_tile = tlx.local_view %x_smem[%slot] : !x_ring -> !x_tile
          %w_tile = tlx.local_view %w_smem[%slot] : !w_ring -> !w_tile
          %v_tile = tlx.local_view %v_smem[%slot] : !v_ring -> !v_tile
          %wt = tlx.local_trans %w_tile : !w_tile -> !w_trans
          %more = arith.cmpi sgt, %i, %c0 : i32
          tlx.barrier_wait %full[%slot], %phase : !bars
          tlx.async_dot %x_tile, %wt, %s cta_group(CTAS) : !x_tile, !w_trans, !s
          tlx.tcgen05_commit %s_full multicast(%both_s) : !bar
          tlx.barrier_wait %p_full, %one : !bar
          tlx.async_dot %p, %v_tile, %o accumulate(%more) cta_group(CTAS)
              : !p, !v_tile, !o
          tlx.tcgen05_commit %empty[%slot] multicast(%both) : !bars
        }
        %any = arith.cmpi sgt, %n, %c0 : i32
        scf.if %any {
          tlx.tcgen05_commit %o_full multicast(%both_o) : !bar
        }
      }
    }
  }
}
