// Products in tensor memory: every op and form of Blackwell in one small kernel.
// S = A A^T, then O (+)= bf16(S) A, n times.

!map = !tlx.tensormap<[128, 64], bf16>
!tile = !tlx.memdesc<[128, 64], bf16>
!ring = !tlx.memdesc<[2, 128, 64], bf16>
!trans = !tlx.memdesc<[64, 128], bf16, transposed>
!s = !tlx.memdesc<[128, 128], f32, tensor>
!s_half = !tlx.memdesc<[128, 64], f32, tensor>
!p = !tlx.memdesc<[128, 128], bf16, tensor>
!o = !tlx.memdesc<[128, 64], f32, tensor>
!bar = !tlx.mbarrier<[1]>
!bars = !tlx.mbarrier<[2]>
tlx.kernel @tensor_products(%in: !map, %out: !map, %n: i32)
    attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %a = tlx.local_alloc : !ring
  %x = tlx.local_alloc : !tile
  %s = tlx.local_alloc : !s
  %o = tlx.local_alloc : !o
  %p_place = tlx.local_slice %s[%c0, %c64] : !s -> !s_half
  %p = tlx.local_reinterpret %p_place : !s_half -> !p
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  %s_full = tlx.alloc_barriers arrivals(1) : !bar
  %p_full = tlx.alloc_barriers arrivals(1) : !bar
  %o_full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @scale warps(4) registers(240) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %s_full, %phase : !bar
        %sum = tlx.local_load %s : !s -> tensor<128x128xf32>
        %p_16 = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
        tlx.local_store %p_16, %p : tensor<128x128xbf16>, !p
        tlx.barrier_arrive %p_full : !bar
      }
      %any = arith.cmpi sgt, %n, %c0 : i32
      scf.if %any {
        tlx.barrier_wait %o_full, %c0 : !bar
        %sum = tlx.local_load %o : !o -> tensor<128x64xf32>
        %o_16 = arith.truncf %sum : tensor<128x64xf32> to tensor<128x64xbf16>
        tlx.local_store %o_16, %x : tensor<128x64xbf16>, !tile
        tlx.async_descriptor_store %out[%c0, %c0], %x : !map, !tile
        tlx.async_descriptor_store_wait pending(0)
      }
    }
    tlx.async_task @load warps(1) registers(64) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %t = tlx.local_view %a[%slot] : !ring -> !tile
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_expect_bytes %full[%slot], %t : !bars, !tile
        %row = arith.muli %i, %c128 : i32
        tlx.async_descriptor_load %in[%row, %c0], %t signal %full[%slot] : !map, !tile, !bars
      }
    }
    tlx.async_task @multiply warps(1) registers(64) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %one_slot, %one = tlx.ring %i stages(1) : i32
        %t = tlx.local_view %a[%slot] : !ring -> !tile
        %tt = tlx.local_trans %t : !tile -> !trans
        tlx.barrier_wait %full[%slot], %phase : !bars
        tlx.async_dot %t, %tt, %s : !tile, !trans, !s
        tlx.tcgen05_commit %s_full : !bar
        tlx.barrier_wait %p_full, %one : !bar
        %more = arith.cmpi sgt, %i, %c0 : i32
        tlx.async_dot %p, %t, %o accumulate(%more) : !p, !tile, !o
        tlx.tcgen05_commit %empty[%slot] : !bars
      }
      tlx.tcgen05_commit %o_full : !bar
    }
  }
}
