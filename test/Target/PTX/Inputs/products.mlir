// Products of tiles with themselves: every op family in one small kernel.

!tile = !tlx.memdesc<[64, 64], bf16>
!map = !tlx.tensormap<[64, 64], bf16>
tlx.kernel @products(%in: !map, %out: !map, %sums: !tlx.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %a = tlx.local_alloc : !tlx.memdesc<[2, 64, 64], bf16>
  %o = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  %empty = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
  tlx.async_tasks {
    tlx.async_task @load warps(1) registers(24) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %t = tlx.local_view %a[%slot] : !tlx.memdesc<[2, 64, 64], bf16> -> !tile
        tlx.barrier_wait %empty[%slot], %phase producer : !tlx.mbarrier<[2]>
        tlx.barrier_expect_bytes %full[%slot], %t : !tlx.mbarrier<[2]>, !tile
        %row = arith.muli %i, %c64 : i32
        tlx.async_descriptor_load %in[%row, %c0], %t signal %full[%slot] : !map, !tile, !tlx.mbarrier<[2]>
      }
    }
    tlx.async_task @compute warps(4) registers(240) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %t = tlx.local_view %a[%slot] : !tlx.memdesc<[2, 64, 64], bf16> -> !tile
        %tt = tlx.local_trans %t : !tile -> !tlx.memdesc<[64, 64], bf16, transposed>
        tlx.barrier_wait %full[%slot], %phase : !tlx.mbarrier<[2]>
        %p = tlx.async_dot %t, %tt : !tile, !tlx.memdesc<[64, 64], bf16, transposed> -> tensor<64x64xf32>
        %s = tlx.async_dot_wait %p pending(0) : tensor<64x64xf32>
        %s_16 = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
        %q = tlx.async_dot %s_16, %t : tensor<64x64xbf16>, !tile -> tensor<64x64xf32>
        %r = tlx.async_dot_wait %q pending(0) : tensor<64x64xf32>
        tlx.barrier_arrive %empty[%slot] : !tlx.mbarrier<[2]>
        %sum = tlx.reduce add %r dim 1 : tensor<64x64xf32> -> tensor<64xf32>
        %row = arith.muli %i, %c64 : i32
        %rows = tlx.iota dim 0 : tensor<64xi32>
        %start = tlx.splat %row : i32 -> tensor<64xi32>
        %at = arith.addi %rows, %start : tensor<64xi32>
        tlx.global_store %sum, %sums[%at] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
        %x = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xbf16>
        tlx.async_descriptor_store_wait pending(0)
        tlx.local_store %x, %o : tensor<64x64xbf16>, !tile
        tlx.async_descriptor_store %out[%row, %c0], %o : !map, !tile
      }
      tlx.async_descriptor_store_wait pending(0) written
    }
  }
}
