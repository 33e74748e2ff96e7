// The beginning of the attention backward, for Hopper and Blackwell.
//
// For tiles of 128 query rows of one head:
//     delta = rowsum(dO * O)      lse_log2 = LSE log2(e)      dq_acc = 0
// A row that sees no key, whose LSE is -inf, gets +inf, so that exp2(S - LSE) is 0.
// Rows of delta and lse_log2 are padded: every sequence begins at a multiple of 128,
// and what is past its end is 0 and +inf.
//
//   role      warps  does
//   @load     1      starts the copies of O and dO
//   @sum      8      sums the rows of a tile
//   @clear    1      starts the copies of zeros to dq_acc
//
//   barrier   count        arrives                  waits  phase completes when
//   full      1 per stage  @load (bytes of O, dO)   @sum   a tile is there
//   empty     1 per stage  @sum                     @load  it has been read

!o_tensor = !tlx.tensormap<[128, 1, HEAD_DIM], ELEMENT, ragged>
!acc_tensor = !tlx.tensormap<[64, 1, 64], f32, ragged>
!o_buffers = !tlx.memdesc<[STAGES, 128, HEAD_DIM], ELEMENT>
!o_buffer = !tlx.memdesc<[128, HEAD_DIM], ELEMENT>
!acc_buffer = !tlx.memdesc<[64, 64], f32>
!ring = !tlx.mbarrier<[STAGES]>
!values = tensor<128x?xbf16, #tlx.dims<[128, HEAD_DIM], ELEMENT>>
!products = tensor<128x?xf32, #tlx.dims<[128, HEAD_DIM], ELEMENT>>

// A work item: the sequence, first query row and head of a tile, where the sequence
// lies in O and how long it is, and where its padded rows begin.
func.func private @decode(%item: i32, %items: !tlx.ptr<i32>, %q_offsets: !tlx.ptr<i32>,
                          %q_length: i32, %has_offsets: i1)
    -> (i32, i32, i32, i32, i32, i32) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c128 = arith.constant 128 : i32
  %at = arith.muli %item, %c4 : i32
  %at1 = arith.addi %at, %c1 : i32
  %at2 = arith.addi %at, %c2 : i32
  %sequence = tlx.global_load %items[%at] : !tlx.ptr<i32>, i32 -> i32
  %row = tlx.global_load %items[%at1] : !tlx.ptr<i32>, i32 -> i32
  %head = tlx.global_load %items[%at2] : !tlx.ptr<i32>, i32 -> i32
  %next = arith.addi %sequence, %c1 : i32
  %start, %length = scf.if %has_offsets -> (i32, i32) {
    %begin = tlx.global_load %q_offsets[%sequence] : !tlx.ptr<i32>, i32 -> i32
    %end = tlx.global_load %q_offsets[%next] : !tlx.ptr<i32>, i32 -> i32
    %own = arith.subi %end, %begin : i32
    scf.yield %begin, %own : i32, i32
  } else {
    %dense = arith.muli %sequence, %q_length : i32
    scf.yield %dense, %q_length : i32, i32
  }
  %block = arith.divui %start, %c128 : i32
  %padded_block = arith.addi %block, %sequence : i32
  %padded = arith.muli %padded_block, %c128 : i32
  return %sequence, %head, %row, %start, %length, %padded
      : i32, i32, i32, i32, i32, i32
}

tlx.kernel @attention_bwd_pre(
    %o: !o_tensor, %do: !o_tensor, %dq_acc: !acc_tensor, %lse: !tlx.ptr<f32>,
    %lse_log2: !tlx.ptr<f32>, %delta: !tlx.ptr<f32>, %q_offsets: !tlx.ptr<i32>,
    %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>, %q_length: i32,
    %lse_stride: i64, %rows_stride: i64) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  // Lengths come from the offsets; otherwise all are q_length.
  %jagged = tlx.param JAGGED = true : i1
  // All sequences share the q_length rows of q, and so of dq_acc.
  %broadcast_query = tlx.param BROADCAST_QUERY = false : i1

  // How it is computed.
  tlx.param STAGES = 2 from 1 to 3 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %true = arith.constant true
  %own_queries = arith.xori %broadcast_query, %true : i1
  %has_offsets = arith.andi %jagged, %own_queries : i1
  %cta = tlx.cta_id : i32
  %next_cta = arith.addi %cta, %c1 : i32
  %first_item = tlx.global_load %item_starts[%cta] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_cta] : !tlx.ptr<i32>, i32 -> i32

  %o_smem = tlx.local_alloc : !o_buffers
  %do_smem = tlx.local_alloc : !o_buffers
  %zeros = tlx.local_alloc : !acc_buffer
  %full = tlx.alloc_barriers arrivals(1) : !ring
  %empty = tlx.alloc_barriers arrivals(1) : !ring

  tlx.grid_launch_dependents
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      %end = scf.for %item = %first_item to %end_item step %c1
          iter_args(%n = %c0) -> (i32) : i32 {
        %at:6 = func.call @decode(%item, %items, %q_offsets, %q_length, %has_offsets)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i1)
            -> (i32, i32, i32, i32, i32, i32)
        %slot, %phase = tlx.ring %n stages(STAGES) : i32
        %o_tile = tlx.local_view %o_smem[%slot] : !o_buffers -> !o_buffer
        %do_tile = tlx.local_view %do_smem[%slot] : !o_buffers -> !o_buffer
        tlx.barrier_wait %empty[%slot], %phase producer : !ring
        tlx.barrier_expect_bytes %full[%slot], %o_tile, %do_tile
            : !ring, !o_buffer, !o_buffer
        tlx.async_descriptor_load %o[%at#2, %at#1, %c0] segment(%at#3, %at#4),
            %o_tile signal %full[%slot] : !o_tensor, !o_buffer, !ring
        tlx.async_descriptor_load %do[%at#2, %at#1, %c0] segment(%at#3, %at#4),
            %do_tile signal %full[%slot] : !o_tensor, !o_buffer, !ring
        %n1 = arith.addi %n, %c1 : i32
        scf.yield %n1 : i32
      }
    }

    tlx.async_task @clear warps(1) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      tlx.local_store %zero, %zeros : tensor<64x64xf32>, !acc_buffer
      scf.for %item = %first_item to %end_item step %c1 : i32 {
        %at:6 = func.call @decode(%item, %items, %q_offsets, %q_length, %has_offsets)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i1)
            -> (i32, i32, i32, i32, i32, i32)
        %is_first = arith.cmpi eq, %at#0, %c0 : i32
        %owns_sums = arith.ori %own_queries, %is_first : i1
        scf.if %owns_sums {
          %start = arith.select %broadcast_query, %c0, %at#3 : i32
          %row_end = arith.addi %at#2, %c128 : i32
          %end = arith.minsi %row_end, %at#4 : i32
          scf.for %row = %at#2 to %end step %c64 : i32 {
            scf.for %column = %c0 to %head_dim step %c64 : i32 {
              tlx.async_descriptor_store %dq_acc[%row, %at#1, %column]
                  segment(%start, %at#4), %zeros : !acc_tensor, !acc_buffer
            }
          }
        }
      }
      tlx.async_descriptor_store_wait pending(0)
    }

    tlx.async_task @sum warps(8) {
      %minus_infinity = arith.constant dense<0xFF800000> : tensor<128xf32>
      %infinity = arith.constant dense<0x7F800000> : tensor<128xf32>
      %log2e = arith.constant dense<1.44269504> : tensor<128xf32>
      %row_in_tile = tlx.iota dim 0 : tensor<128xi32>
      %row_in_tile_64 = arith.extui %row_in_tile : tensor<128xi32> to tensor<128xi64>
      %end = scf.for %item = %first_item to %end_item step %c1
          iter_args(%n = %c0) -> (i32) : i32 {
        %at:6 = func.call @decode(%item, %items, %q_offsets, %q_length, %has_offsets)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i1)
            -> (i32, i32, i32, i32, i32, i32)
        // LSE is on its way while the tile is.
        %head_64 = arith.extui %at#1 : i32 to i64
        %head_begin = arith.muli %head_64, %lse_stride : i64
        %first = arith.addi %at#3, %at#2 : i32
        %first_64 = arith.extui %first : i32 to i64
        %lse_begin = arith.addi %head_begin, %first_64 : i64
        %lse_begins = tlx.splat %lse_begin : i64 -> tensor<128xi64>
        %lse_index = arith.addi %lse_begins, %row_in_tile_64 : tensor<128xi64>
        %left = arith.subi %at#4, %at#2 : i32
        %rows_left = tlx.splat %left : i32 -> tensor<128xi32>
        %exists = arith.cmpi slt, %row_in_tile, %rows_left : tensor<128xi32>
        %lse_rows = tlx.global_load %lse[%lse_index] mask %exists other %minus_infinity
            : !tlx.ptr<f32>, tensor<128xi64> -> tensor<128xf32>
            mask tensor<128xi1> other tensor<128xf32>

        %slot, %phase = tlx.ring %n stages(STAGES) : i32
        %o_tile = tlx.local_view %o_smem[%slot] : !o_buffers -> !o_buffer
        %do_tile = tlx.local_view %do_smem[%slot] : !o_buffers -> !o_buffer
        tlx.barrier_wait %full[%slot], %phase : !ring
        %o_16 = tlx.local_load %o_tile : !o_buffer -> !values
        %do_16 = tlx.local_load %do_tile : !o_buffer -> !values
        tlx.barrier_arrive %empty[%slot] : !ring
        %o_32 = arith.extf %o_16 : !values to !products
        %do_32 = arith.extf %do_16 : !values to !products
        %product = arith.mulf %o_32, %do_32 : !products
        %sums = tlx.reduce add %product dim 1 : !products -> tensor<128xf32>

        %sees_none = arith.cmpf oeq, %lse_rows, %minus_infinity : tensor<128xf32>
        %lse_2 = arith.mulf %lse_rows, %log2e : tensor<128xf32>
        %lse_out = arith.select %sees_none, %infinity, %lse_2
            : tensor<128xi1>, tensor<128xf32>
        %rows_begin = arith.muli %head_64, %rows_stride : i64
        %padded = arith.addi %at#5, %at#2 : i32
        %padded_64 = arith.extui %padded : i32 to i64
        %out_begin = arith.addi %rows_begin, %padded_64 : i64
        %out_begins = tlx.splat %out_begin : i64 -> tensor<128xi64>
        %out_index = arith.addi %out_begins, %row_in_tile_64 : tensor<128xi64>
        tlx.global_store %sums, %delta[%out_index]
            : tensor<128xf32>, !tlx.ptr<f32>, tensor<128xi64>
        tlx.global_store %lse_out, %lse_log2[%out_index]
            : tensor<128xf32>, !tlx.ptr<f32>, tensor<128xi64>
        %n1 = arith.addi %n, %c1 : i32
        scf.yield %n1 : i32
      }
    }
  }
}
