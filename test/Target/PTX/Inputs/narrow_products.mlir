// A product of elements of 8 bits, of two kinds: rows of A and of B lie along K.

!a_map = !tlx.tensormap<[64, 256], f8E4M3FN>
!b_map = !tlx.tensormap<[32, 256], f8E5M2>
!a_tile = !tlx.memdesc<[64, 256], f8E4M3FN>
!b_tile = !tlx.memdesc<[32, 256], f8E5M2>
!bt_tile = !tlx.memdesc<[256, 32], f8E5M2, transposed>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @narrow_products(%a: !a_map, %b: !b_map, %c: !tlx.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %a_smem = tlx.local_alloc : !a_tile
  %b_smem = tlx.local_alloc : !b_tile
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      tlx.barrier_expect_bytes %full, %a_smem, %b_smem : !bar, !a_tile, !b_tile
      tlx.async_descriptor_load %a[%c0, %c0], %a_smem signal %full : !a_map, !a_tile, !bar
      tlx.async_descriptor_load %b[%c0, %c0], %b_smem signal %full : !b_map, !b_tile, !bar
    }
    tlx.async_task @multiply warps(4) {
      %bt = tlx.local_trans %b_smem : !b_tile -> !bt_tile
      tlx.barrier_wait %full, %c0 : !bar
      %pending = tlx.async_dot %a_smem, %bt : !a_tile, !bt_tile -> tensor<64x32xf32>
      %sums = tlx.async_dot_wait %pending pending(0) : tensor<64x32xf32>
      %rows = tlx.iota dim 0 : tensor<64x32xi32>
      %columns = tlx.iota dim 1 : tensor<64x32xi32>
      %width = arith.constant dense<32> : tensor<64x32xi32>
      %begins = arith.muli %rows, %width : tensor<64x32xi32>
      %index = arith.addi %begins, %columns : tensor<64x32xi32>
      tlx.global_store %sums, %c[%index] : tensor<64x32xf32>, !tlx.ptr<f32>, tensor<64x32xi32>
    }
  }
}
