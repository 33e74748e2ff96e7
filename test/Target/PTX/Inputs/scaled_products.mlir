// A product of 8-bit elements of two kinds, 32 of which share a scale: C = A B^T, with
// two cells of four scales for each row of A and of B. A parameter breaks it, for
// Faults/scales-not-copied.mlir.

!a_map = !tlx.tensormap<[128, 256], f8E4M3FN>
!b_map = !tlx.tensormap<[160, 256], f8E5M2>
!a_tile = !tlx.memdesc<[128, 256], f8E4M3FN>
!b_tile = !tlx.memdesc<[160, 256], f8E5M2>
!bt_tile = !tlx.memdesc<[256, 160], f8E5M2, transposed>
!a_cells = !tlx.memdesc<[256], i32>
!b_cells = !tlx.memdesc<[512], i32>
!a_scale = !tlx.memdesc<[128, 8], i32, tensor>
!b_scale = !tlx.memdesc<[128, 16], i32, tensor>
!sums = !tlx.memdesc<[128, 160], f32, tensor>
!sums_part = !tlx.memdesc<[128, 32], f32, tensor>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @scaled_products(%a: !a_map, %b: !b_map, %sa: !tlx.ptr<i32>, %sb: !tlx.ptr<i32>,
                            %c: !tlx.ptr<f32>) {
  // Whether B's scales are put into tensor memory.
  %copies = tlx.param COPIES = true : i1
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %c160 = arith.constant 160 : i32
  %a_smem = tlx.local_alloc : !a_tile
  %b_smem = tlx.local_alloc : !b_tile
  %a_cells = tlx.local_alloc : !a_cells
  %b_cells = tlx.local_alloc : !b_cells
  %a_scale = tlx.local_alloc : !a_scale
  %b_scale = tlx.local_alloc : !b_scale
  %sums = tlx.local_alloc : !sums
  %full = tlx.alloc_barriers arrivals(2) : !bar
  %done = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @scale warps(4) {
      %a_at = tlx.iota dim 0 : tensor<256xi32>
      %b_at = tlx.iota dim 0 : tensor<512xi32>
      %a_words = tlx.global_load %sa[%a_at] : !tlx.ptr<i32>, tensor<256xi32> -> tensor<256xi32>
      %b_words = tlx.global_load %sb[%b_at] : !tlx.ptr<i32>, tensor<512xi32> -> tensor<512xi32>
      tlx.local_store %a_words, %a_cells : tensor<256xi32>, !a_cells
      tlx.local_store %b_words, %b_cells : tensor<512xi32>, !b_cells
      tlx.barrier_arrive %full : !bar
      tlx.barrier_wait %done, %c0 : !bar
      %rows = tlx.iota dim 0 : tensor<128x32xi32>
      %columns = tlx.iota dim 1 : tensor<128x32xi32>
      %width = tlx.splat %c160 : i32 -> tensor<128x32xi32>
      %begins = arith.muli %rows, %width : tensor<128x32xi32>
      scf.for %at = %c0 to %c160 step %c32 : i32 {
        %part = tlx.local_slice %sums[%c0, %at] : !sums -> !sums_part
        %values = tlx.local_load %part : !sums_part -> tensor<128x32xf32>
        %firsts = tlx.splat %at : i32 -> tensor<128x32xi32>
        %within = arith.addi %firsts, %columns : tensor<128x32xi32>
        %index = arith.addi %begins, %within : tensor<128x32xi32>
        tlx.global_store %values, %c[%index] : tensor<128x32xf32>, !tlx.ptr<f32>, tensor<128x32xi32>
      }
    }
    tlx.async_task @multiply warps(1) {
      %bt = tlx.local_trans %b_smem : !b_tile -> !bt_tile
      tlx.barrier_expect_bytes %full, %a_smem, %b_smem : !bar, !a_tile, !b_tile
      tlx.async_descriptor_load %a[%c0, %c0], %a_smem signal %full : !a_map, !a_tile, !bar
      tlx.async_descriptor_load %b[%c0, %c0], %b_smem signal %full : !b_map, !b_tile, !bar
      tlx.barrier_wait %full, %c0 : !bar
      tlx.tmem_copy %a_cells, %a_scale : !a_cells, !a_scale
      scf.if %copies {
        tlx.tmem_copy %b_cells, %b_scale : !b_cells, !b_scale
      }
      tlx.async_dot_scaled %a_smem scale(%a_scale), %bt scale(%b_scale), %sums
          : !a_tile, !a_scale, !bt_tile, !b_scale, !sums
      tlx.tcgen05_commit %done : !bar
    }
  }
}
