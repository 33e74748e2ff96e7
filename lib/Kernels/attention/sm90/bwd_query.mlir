// Attention backward for Hopper, query-stationary: one block of at most 128 queries
// that all sequences share.
//
// Computes what bwd.mlir does. A CTA keeps the queries of one head, streams blocks of
// keys of many sequences and sums dQ in registers for its whole life. A block of keys
// meets all its queries at once, so that dK and dV are final and written once. Every
// head of queries has keys of its own (heads_per_group is 1).
//
// Items are runs of blocks of one sequence: the sequence, the first key, the head and
// the number of blocks. All items of a CTA have the same head, CTA i that of i modulo
// heads.
//
// If DETERMINISTIC, each CTA stores its dQ to sums of its own, which bwd_post.mlir adds up.
//
//   role      warps  does
//   @load     1      starts every copy: Q, then K[0], dO with LSE and delta, V[0], K[1], …
//   @compute  2 x 4  each replica owns 64 queries in S, dP and dQ, and 64 keys in dV
//                    and dK
//
// P and dS go through shared memory: as they are stored, a replica reads its keys of
// them as a transposed operand. dS also stays in registers, for dQ. What only one
// replica reads of P and dS takes its dV and dK on their way out.
//
// A step of @compute:
//     start dP | P to shared memory | wait dP, dS to shared memory | meet the other
//     replica, start dV and dQ | wait dV, store it | start dK | wait dQ | start S of
//     the next block | wait dK, store it | wait S
// The last step computes S once more and drops it.
//
//   barrier   count         arrives                    waits      phase completes when
//   q_full    1             @load (bytes of Q)         @compute   the queries are there
//   do_full   1             @load (dO, LSE and delta)  @compute   a run's gradients are there
//   do_empty  2             @compute                   @load      its last dV is done
//   k_full    1 per stage   @load (bytes of K)         @compute   a block of keys is there
//   k_empty   2             @compute                   @load      its dQ is done
//   v_full    1             @load (bytes of V)         @compute   a block of values is there
//   v_empty   2             @compute                   @load      its dP is done
//   named 1   256 threads   @compute                   @compute   P and dS are there
//   named 2   256 threads   @compute                   @compute   P and dS may be written
//
//   shared memory, D 128: Q 32 K, dO 32 K, K 64 K, V 32 K, P 32 K, dS 32 K
//   registers, D 128: dQ 64, S 64 and one of dP, dV and dK 64, P and dS 32, of 240

!q_tensor = !tlx.tensormap<[128, 1, HEAD_DIM], ELEMENT, ragged>
!dkv_tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!dq_tensor = !tlx.tensormap<[64, 1, HEAD_DIM], f32, ragged>
!rows_tensor = !tlx.tensormap<[1, 64], f32>

!tile = !tlx.memdesc<[128, HEAD_DIM], ELEMENT>
!tile_t = !tlx.memdesc<[HEAD_DIM, 128], ELEMENT, transposed>
!tile_rows = !tlx.memdesc<[64, HEAD_DIM], ELEMENT, of = [128, HEAD_DIM]>
!k_buffers = !tlx.memdesc<[2, 128, HEAD_DIM], ELEMENT>
!p_buffer = !tlx.memdesc<[128, 128], ELEMENT>
!p_rows = !tlx.memdesc<[64, 128], ELEMENT, of = [128, 128]>
!p_columns = !tlx.memdesc<[128, 64], ELEMENT, of = [128, 128]>
!pt_rows = !tlx.memdesc<[64, 128], ELEMENT, of = [128, 128], transposed>
!out_buffers = !tlx.memdesc<[(256 - HEAD_DIM) floordiv 64, 64, HEAD_DIM], ELEMENT>
!out_buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!dq_buffers = !tlx.memdesc<[2, 64, HEAD_DIM], f32>
!dq_buffer = !tlx.memdesc<[64, HEAD_DIM], f32>
!rows_buffers = !tlx.memdesc<[2, 64], f32>
!rows_buffer = !tlx.memdesc<[64], f32>
!one = !tlx.mbarrier<[1]>
!ring = !tlx.mbarrier<[2]>

!scores = tensor<64x128xf32, #tlx.dims<[64, 128], ELEMENT>>
!seen = tensor<64x128xi1, #tlx.dims<[64, 128], ELEMENT>>
!weights = tensor<64x128xbf16, #tlx.dims<[64, 128], ELEMENT>>
!gradient = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!gradient_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>

// An item, and where its keys, its rows of dO and its padded rows of LSE lie.
func.func private @decode(
    %item: i32, %items: !tlx.ptr<i32>, %k_offsets: !tlx.ptr<i32>, %q_length: i32)
    -> (i32, i32, i32, i32, i32, i32, i32) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c128 = arith.constant 128 : i32
  %at = arith.muli %item, %c4 : i32
  %at1 = arith.addi %at, %c1 : i32
  %at2 = arith.addi %at, %c2 : i32
  %at3 = arith.addi %at, %c3 : i32
  %sequence = tlx.global_load %items[%at] : !tlx.ptr<i32>, i32 -> i32
  %row = tlx.global_load %items[%at1] : !tlx.ptr<i32>, i32 -> i32
  %head = tlx.global_load %items[%at2] : !tlx.ptr<i32>, i32 -> i32
  %blocks = tlx.global_load %items[%at3] : !tlx.ptr<i32>, i32 -> i32
  %next = arith.addi %sequence, %c1 : i32
  %k_start = tlx.global_load %k_offsets[%sequence] : !tlx.ptr<i32>, i32 -> i32
  %k_end = tlx.global_load %k_offsets[%next] : !tlx.ptr<i32>, i32 -> i32
  %k_len = arith.subi %k_end, %k_start : i32
  %o_start = arith.muli %sequence, %q_length : i32
  %block = arith.divui %o_start, %c128 : i32
  %padded_block = arith.addi %block, %sequence : i32
  %padded = arith.muli %padded_block, %c128 : i32
  return %head, %row, %blocks, %k_start, %k_len, %o_start, %padded
      : i32, i32, i32, i32, i32, i32, i32
}

tlx.kernel @attention_bwd_query(
    %q: !q_tensor, %k: !q_tensor, %v: !q_tensor, %do: !q_tensor, %dk: !dkv_tensor,
    %dv: !dkv_tensor, %dq_acc: !dq_tensor, %lse_log2: !rows_tensor,
    %delta: !rows_tensor, %k_offsets: !tlx.ptr<i32>, %items: !tlx.ptr<i32>,
    %item_starts: !tlx.ptr<i32>, %heads: i32, %q_length: i32, %scale_log2: f32,
    %scale: f32) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  // Whether the same inputs give the same bits of dQ.
  %deterministic = tlx.param DETERMINISTIC = false : i1

  // How it is computed.
  // Whether it may be launched while the kernel before it ends, as a programmatic
  // dependent; only the work list is read before that has ended.
  %dependent = tlx.param DEPENDENT_LAUNCH = true : i1
  tlx.param LOAD_REGISTERS = 24 from 24 to 256 step 8 : i32
  tlx.param COMPUTE_REGISTERS = 240 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %cta = tlx.cta_id : i32
  %next_cta = arith.addi %cta, %c1 : i32
  %first_item = tlx.global_load %item_starts[%cta] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_cta] : !tlx.ptr<i32>, i32 -> i32
  %has_items = arith.cmpi slt, %first_item, %end_item : i32

  %q_smem = tlx.local_alloc : !tile
  %do_smem = tlx.local_alloc : !tile
  %k_smem = tlx.local_alloc : !k_buffers
  %v_smem = tlx.local_alloc : !tile
  %p_smem = tlx.local_alloc : !p_buffer
  %ds_smem = tlx.local_alloc : !p_buffer
  %dv_smem = tlx.local_alloc alias(%p_smem) : !out_buffers, !p_buffer
  %dk_smem = tlx.local_alloc alias(%ds_smem) : !out_buffers, !p_buffer
  %dq_smem = tlx.local_alloc alias(%k_smem) : !dq_buffers, !k_buffers
  %lse_smem = tlx.local_alloc : !rows_buffers
  %delta_smem = tlx.local_alloc : !rows_buffers
  %q_full = tlx.alloc_barriers arrivals(1) : !one
  %do_full = tlx.alloc_barriers arrivals(1) : !one
  %do_empty = tlx.alloc_barriers arrivals(2) : !one
  %k_full = tlx.alloc_barriers arrivals(1) : !ring
  %k_empty = tlx.alloc_barriers arrivals(2) : !ring
  %v_full = tlx.alloc_barriers arrivals(1) : !one
  %v_empty = tlx.alloc_barriers arrivals(2) : !one

  tlx.grid_launch_dependents
  scf.if %dependent {
    tlx.grid_dependency_wait
  }
  tlx.async_tasks {
    // `count` runs over all blocks that this CTA takes, `run` over its items.
    tlx.async_task @load warps(1) registers(LOAD_REGISTERS) {
      scf.if %has_items {
        %first:7 = func.call @decode(%first_item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)
        tlx.barrier_expect_bytes %q_full, %q_smem : !one, !tile
        tlx.async_descriptor_load %q[%c0, %first#0, %c0] segment(%c0, %q_length),
            %q_smem signal %q_full : !q_tensor, !tile, !one
      }
      %end:2 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %run = %c0) -> (i32, i32) : i32 {
        %at:7 = func.call @decode(%item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)
        %loaded = scf.for %j = %c0 to %at#2 step %c1
            iter_args(%n = %count) -> (i32) : i32 {
          %distance = arith.muli %j, %c128 : i32
          %row = arith.addi %at#1, %distance : i32
          %slot, %phase = tlx.ring %n stages(2) : i32
          %k_tile = tlx.local_view %k_smem[%slot] : !k_buffers -> !tile
          tlx.barrier_wait %k_empty[%slot], %phase producer : !ring
          tlx.barrier_expect_bytes %k_full[%slot], %k_tile : !ring, !tile
          tlx.async_descriptor_load %k[%row, %at#0, %c0] segment(%at#3, %at#4),
              %k_tile signal %k_full[%slot] : !q_tensor, !tile, !ring

          %is_first = arith.cmpi eq, %j, %c0 : i32
          scf.if %is_first {
            %run_slot, %run_phase = tlx.ring %run stages(1) : i32
            %lse_0 = tlx.local_view %lse_smem[%c0] : !rows_buffers -> !rows_buffer
            %lse_1 = tlx.local_view %lse_smem[%c1] : !rows_buffers -> !rows_buffer
            %delta_0 = tlx.local_view %delta_smem[%c0] : !rows_buffers -> !rows_buffer
            %delta_1 = tlx.local_view %delta_smem[%c1] : !rows_buffers -> !rows_buffer
            %padded_1 = arith.addi %at#6, %c64 : i32
            tlx.barrier_wait %do_empty, %run_phase producer : !one
            tlx.barrier_expect_bytes %do_full, %do_smem, %lse_0, %lse_1, %delta_0,
                %delta_1 : !one, !tile, !rows_buffer, !rows_buffer, !rows_buffer, !rows_buffer
            tlx.async_descriptor_load %do[%c0, %at#0, %c0] segment(%at#5, %q_length),
                %do_smem signal %do_full : !q_tensor, !tile, !one
            tlx.async_descriptor_load %lse_log2[%at#0, %at#6], %lse_0 signal %do_full
                : !rows_tensor, !rows_buffer, !one
            tlx.async_descriptor_load %lse_log2[%at#0, %padded_1], %lse_1 signal %do_full
                : !rows_tensor, !rows_buffer, !one
            tlx.async_descriptor_load %delta[%at#0, %at#6], %delta_0 signal %do_full
                : !rows_tensor, !rows_buffer, !one
            tlx.async_descriptor_load %delta[%at#0, %padded_1], %delta_1 signal %do_full
                : !rows_tensor, !rows_buffer, !one
          }

          %v_slot, %v_phase = tlx.ring %n stages(1) : i32
          tlx.barrier_wait %v_empty, %v_phase producer : !one
          tlx.barrier_expect_bytes %v_full, %v_smem : !one, !tile
          tlx.async_descriptor_load %v[%row, %at#0, %c0] segment(%at#3, %at#4),
              %v_smem signal %v_full : !q_tensor, !tile, !one
          %n1 = arith.addi %n, %c1 : i32
          scf.yield %n1 : i32
        }
        %next_run = arith.addi %run, %c1 : i32
        scf.yield %loaded, %next_run : i32, i32
      }
    }

    tlx.async_task @compute warps(4) registers(COMPUTE_REGISTERS) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %own = arith.muli %replica, %c64 : i32
      %q_rows = tlx.local_slice %q_smem[%own, %c0] : !tile -> !tile_rows
      %do_rows = tlx.local_slice %do_smem[%own, %c0] : !tile -> !tile_rows
      %v_t = tlx.local_trans %v_smem : !tile -> !tile_t
      %p_rows = tlx.local_slice %p_smem[%own, %c0] : !p_buffer -> !p_rows
      %p_columns = tlx.local_slice %p_smem[%c0, %own] : !p_buffer -> !p_columns
      %pt_rows = tlx.local_trans %p_columns : !p_columns -> !pt_rows
      %ds_rows = tlx.local_slice %ds_smem[%own, %c0] : !p_buffer -> !p_rows
      %ds_columns = tlx.local_slice %ds_smem[%c0, %own] : !p_buffer -> !p_columns
      %dst_rows = tlx.local_trans %ds_columns : !p_columns -> !pt_rows
      // Where this replica's columns of P and dS begin.
      %c192 = arith.constant 192 : i32
      %rest = arith.subi %c192, %head_dim : i32
      %per_replica = arith.divui %rest, %c64 : i32
      %out_slot = arith.muli %replica, %per_replica : i32
      %dv_out = tlx.local_view %dv_smem[%out_slot] : !out_buffers -> !out_buffer
      %dk_out = tlx.local_view %dk_smem[%out_slot] : !out_buffers -> !out_buffer
      %lse_own = tlx.local_view %lse_smem[%replica] : !rows_buffers -> !rows_buffer
      %delta_own = tlx.local_view %delta_smem[%replica] : !rows_buffers -> !rows_buffer

      %zero = arith.constant 0.0 : f32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %scales = tlx.splat %scale_log2 : f32 -> !scores
      %hidden_score = tlx.splat %minus_infinity : f32 -> !scores
      %no_gradient = tlx.splat %zero : f32 -> !gradient
      %dk_scale = tlx.splat %scale : f32 -> !gradient
      %row_in_tile = tlx.iota dim 0 : tensor<64xi32>
      %last_item = arith.subi %end_item, %c1 : i32

      scf.if %has_items {
        %k0 = tlx.local_view %k_smem[%c0] : !k_buffers -> !tile
        %k0_t = tlx.local_trans %k0 : !tile -> !tile_t
        tlx.barrier_wait %q_full, %c0 : !one
        tlx.barrier_wait %k_full[%c0], %c0 : !ring
        %s0_pending = tlx.async_dot %q_rows, %k0_t : !tile_rows, !tile_t -> !scores
        %s0 = tlx.async_dot_wait %s0_pending pending(0) : !scores

        %total:4 = scf.for %item = %first_item to %end_item step %c1
            iter_args(%count = %c0, %run = %c0, %dq_item = %no_gradient, %s_item = %s0)
            -> (i32, i32, !gradient, !scores) : i32 {
          %at:7 = func.call @decode(%item, %items, %k_offsets, %q_length)
              : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
              -> (i32, i32, i32, i32, i32, i32, i32)
          %is_last_item = arith.cmpi eq, %item, %last_item : i32
          %last_block = arith.subi %at#2, %c1 : i32
          %run_slot, %run_phase = tlx.ring %run stages(1) : i32

          // A row sees the keys before its limit. Blocks up to `unmasked` are seen
          // by all rows of this replica.
          %shift = arith.subi %at#4, %q_length : i32
          %first_seen = arith.addi %own, %shift : i32
          %first_limit = arith.addi %first_seen, %c1 : i32
          %least_causal = arith.minsi %first_limit, %at#4 : i32
          %unmasked = arith.select %causal, %least_causal, %at#4 : i32

          tlx.barrier_wait %do_full, %run_phase : !one
          // With the writes of P a fence comes before these rows are given back.
          %lse = tlx.local_load %lse_own unfenced : !rows_buffer -> tensor<64xf32>
          %delta_rows = tlx.local_load %delta_own unfenced : !rows_buffer -> tensor<64xf32>

          %of_item:3 = scf.for %j = %c0 to %at#2 step %c1
              iter_args(%n = %count, %dq_in = %dq_item, %s_in = %s_item)
              -> (i32, !gradient, !scores) : i32 {
            %slot, %phase = tlx.ring %n stages(2) : i32
            %v_slot, %v_phase = tlx.ring %n stages(1) : i32
            %k_tile = tlx.local_view %k_smem[%slot] : !k_buffers -> !tile
            %distance = arith.muli %j, %c128 : i32
            %row = arith.addi %at#1, %distance : i32
            tlx.barrier_wait %v_full, %v_phase : !one
            %dp_pending = tlx.async_dot %do_rows, %v_t : !tile_rows, !tile_t -> !scores

            %row_end = arith.addi %row, %c128 : i32
            %hides = arith.cmpi sgt, %row_end, %unmasked : i32
            %s = scf.if %hides -> (!scores) {
              %left = arith.subi %at#4, %row : i32
              %keys_left = tlx.splat %left : i32 -> tensor<64xi32>
              %seen_by_first = arith.subi %first_limit, %row : i32
              %begin = tlx.splat %seen_by_first : i32 -> tensor<64xi32>
              %diagonal = arith.addi %begin, %row_in_tile : tensor<64xi32>
              %least = arith.minsi %diagonal, %keys_left : tensor<64xi32>
              %limit = arith.select %causal, %least, %keys_left : tensor<64xi32>
              %seen = tlx.prefix_mask %limit dim 1 : tensor<64xi32> -> !seen
              %masked = arith.select %seen, %s_in, %hidden_score : !seen, !scores
              scf.yield %masked : !scores
            } else {
              scf.yield %s_in : !scores
            }
            %lse_c = tlx.expand_dims %lse dim 1 : tensor<64xf32> -> tensor<64x1xf32>
            %lse_b = tlx.broadcast %lse_c : tensor<64x1xf32> -> !scores
            %s_scaled = arith.mulf %s, %scales fastmath<contract> : !scores
            %e = arith.subf %s_scaled, %lse_b fastmath<contract> : !scores
            %p = math.exp2 %e fastmath<afn> : !scores
            %p_16 = arith.truncf %p : !scores to !weights

            // Until here the block before left through these buffers.
            tlx.async_descriptor_store_wait pending(0)
            tlx.named_barrier_wait %c2 threads(256)
            tlx.local_store %p_16, %p_rows : !weights, !p_rows
            %dp = tlx.async_dot_wait %dp_pending pending(0) : !scores
            tlx.barrier_arrive %v_empty : !one
            // P as it was rounded, so that its fp32 values need no registers.
            %p_32 = arith.extf %p_16 : !weights to !scores
            %delta_c = tlx.expand_dims %delta_rows dim 1
                : tensor<64xf32> -> tensor<64x1xf32>
            %delta_b = tlx.broadcast %delta_c : tensor<64x1xf32> -> !scores
            %dp_centred = arith.subf %dp, %delta_b : !scores
            %ds = arith.mulf %p_32, %dp_centred : !scores
            %ds_16 = arith.truncf %ds : !scores to !weights
            tlx.local_store %ds_16, %ds_rows : !weights, !p_rows
            tlx.named_barrier_wait %c1 threads(256)

            %dv_pending = tlx.async_dot %pt_rows, %do_smem : !pt_rows, !tile -> !gradient
            %dq_pending = tlx.async_dot %ds_16, %k_tile, %dq_in
                : !weights, !tile -> !gradient
            %dv_sum = tlx.async_dot_wait %dv_pending pending(1) : !gradient
            %ends_run = arith.cmpi eq, %j, %last_block : i32
            scf.if %ends_run {
              tlx.barrier_arrive %do_empty : !one
            }
            %dv_16 = arith.truncf %dv_sum : !gradient to !gradient_16
            tlx.local_store %dv_16, %dv_out : !gradient_16, !out_buffer
            %dk_pending = tlx.async_dot %dst_rows, %q_smem : !pt_rows, !tile -> !gradient
            %dq_out = tlx.async_dot_wait %dq_pending pending(1) : !gradient
            tlx.barrier_arrive %k_empty[%slot] : !ring

            %n1 = arith.addi %n, %c1 : i32
            %is_last = arith.andi %ends_run, %is_last_item : i1
            %next_n = arith.select %is_last, %n, %n1 : i32
            %next_slot, %next_phase = tlx.ring %next_n stages(2) : i32
            %k_next = tlx.local_view %k_smem[%next_slot] : !k_buffers -> !tile
            %k_next_t = tlx.local_trans %k_next : !tile -> !tile_t
            tlx.barrier_wait %k_full[%next_slot], %next_phase : !ring
            %s_pending = tlx.async_dot %q_rows, %k_next_t : !tile_rows, !tile_t -> !scores

            %out_row = arith.addi %row, %own : i32
            tlx.async_descriptor_store %dv[%out_row, %at#0, %c0] segment(%at#3, %at#4),
                %dv_out : !dkv_tensor, !out_buffer
            %dk_sum = tlx.async_dot_wait %dk_pending pending(1) : !gradient
            %dk_scaled = arith.mulf %dk_sum, %dk_scale : !gradient
            %dk_16 = arith.truncf %dk_scaled : !gradient to !gradient_16
            tlx.local_store %dk_16, %dk_out : !gradient_16, !out_buffer
            tlx.async_descriptor_store %dk[%out_row, %at#0, %c0] segment(%at#3, %at#4),
                %dk_out : !dkv_tensor, !out_buffer
            %s_next = tlx.async_dot_wait %s_pending pending(0) : !scores
            scf.yield %n1, %dq_out, %s_next : i32, !gradient, !scores
          }
          %next_run = arith.addi %run, %c1 : i32
          scf.yield %of_item#0, %next_run, %of_item#1, %of_item#2
              : i32, i32, !gradient, !scores
        }

        // dQ leaves through the keys, once nobody reads them.
        %now:7 = func.call @decode(%first_item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)
        %dq_out = tlx.local_view %dq_smem[%replica] : !dq_buffers -> !dq_buffer
        tlx.named_barrier_wait %c2 threads(256)
        tlx.local_store %total#2, %dq_out : !gradient, !dq_buffer
        scf.if %deterministic {
          %copy = arith.divui %cta, %heads : i32
          %first_sum = arith.muli %copy, %q_length : i32
          tlx.async_descriptor_store %dq_acc[%own, %now#0, %c0]
              segment(%first_sum, %q_length), %dq_out : !dq_tensor, !dq_buffer
        } else {
          tlx.async_descriptor_reduce %dq_acc[%own, %now#0, %c0]
              segment(%c0, %q_length), %dq_out : !dq_tensor, !dq_buffer
        }
        tlx.async_descriptor_store_wait pending(0)
      }
    }
  }
}
