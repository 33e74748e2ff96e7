// Attention backward for Blackwell, query-stationary: one block of at most 128 queries
// that all sequences share.
//
// Computes what bwd.mlir does. A CTA keeps the queries of one head, streams blocks of 128
// keys of many sequences and sums dQ in tensor memory for its whole life. A block of keys
// meets all its queries at once, so that dK and dV are final and written once. Every head
// of queries has keys of its own (heads_per_group is 1).
//
// Items are runs of blocks of one sequence: the sequence, the first key, the head and the
// number of blocks. All items of a CTA have the same head, CTA i that of i modulo heads.
//
// If DETERMINISTIC, each CTA stores its dQ to sums of its own, which bwd_post.mlir adds up.
//
//   role       warps  does
//   @compute   4 x 2  each replica owns 64 of the queries: S^T to P^T, dP^T to dS^T, a key
//                     in each thread
//   @store     4      copies dV and dK of each block out; at last adds dQ to global memory
//   @load      1      starts every copy: Q, then K[0], LSE and delta, dO, V[0], K[1], …
//   @multiply  1      starts every product
//
// As in bwd.mlir P and dS take the places of S and dP, and dS goes through shared memory
// too. The products of a step are
//     S[n] | dK[n-1], dQ[n-1] | dP[n], dV[n]
//
//   barrier     count        arrives              waits      phase completes when
//   q_full      1            @load (bytes of Q)   @multiply  the queries are there
//   k_full      1 per stage  @load (bytes of K)   @multiply  a block of keys is there
//   k_empty     1 per stage  @multiply (commit)   @load      its S and dQ are done
//   v_full      1 per stage  @load (bytes of V)   @multiply  a block of values is there
//   v_empty     1 per stage  @multiply (commit)   @load      its dP is done
//   do_full     1 per stage  @load (bytes of dO)  @multiply  a run's gradients are there
//   do_empty    1 per stage  @multiply (commit)   @load      its last dV is done
//   rows_full   1            @load (its bytes)    @compute   a run's LSE and delta are there
//   rows_empty  2            @compute             @load      its last block has read them
//   s_full      1            @multiply (commit)   @compute   a block's S is there
//   p_full      1            @compute             @multiply  a replica's P is in its place
//   dp_full     1            @multiply (commit)   @compute   its dP is there, and so the dQ
//                                                            before, which has read its dS
//   ds_full     1            @compute             @multiply  a replica's dS is in its place
//                                                            and in shared memory
//   g_full      1 per stage  @multiply (commit)   @store     its dV is there, or its dK
//   g_empty     1 per stage  @store               @multiply  that is in registers
//   dq_full     1            @multiply (commit)   @store     dQ of all blocks is there
//
//   tensor memory, D 128: S 128 columns, dP 128, dQ 128, and 128 for dV and dK in turns; for
//     D 64 two times 64 for these
//   shared memory, D 128: Q 32 K, dO 32 K, K 64 K, V 32 K, dS 32 K, pieces of dV and dK
//     2 x 16 K, through which dQ leaves too, LSE and delta 2 K
//   registers: @compute 2 x 152, @store 152, others 56: 512 for 4 warps each
//
// Hidden scores are -inf: keys past the end or, if causal, after the query. Queries past
// the end read LSE = +inf, so that their P is 0.

!tensor = !tlx.tensormap<[128, 1, HEAD_DIM], ELEMENT, ragged>
!dkv_tensor = !tlx.tensormap<[128, 1, 64], ELEMENT, ragged>
!dq_tensor = !tlx.tensormap<[128, 1, 32], f32, ragged>
!rows_tensor = !tlx.tensormap<[1, 128], f32>

!k_buffers = !tlx.memdesc<[K_STAGES, 128, HEAD_DIM], ELEMENT>
!v_buffers = !tlx.memdesc<[V_STAGES, 128, HEAD_DIM], ELEMENT>
!do_buffers = !tlx.memdesc<[DO_STAGES, 128, HEAD_DIM], ELEMENT>
!tile = !tlx.memdesc<[128, HEAD_DIM], ELEMENT>
!tile_t = !tlx.memdesc<[HEAD_DIM, 128], ELEMENT, transposed>
!tile_rows = !tlx.memdesc<[64, HEAD_DIM], ELEMENT, of = [128, HEAD_DIM]>
!dst_buffer = !tlx.memdesc<[128, 128], ELEMENT>
!dst_columns = !tlx.memdesc<[128, 64], ELEMENT, of = [128, 128]>
!ds_buffer = !tlx.memdesc<[128, 128], ELEMENT, transposed>
!rows_buffers = !tlx.memdesc<[2, 128], f32>
!rows_buffer = !tlx.memdesc<[128], f32>
!rows_halves = !tlx.memdesc<[4, 64], f32>
!rows_half = !tlx.memdesc<[64], f32>
!dq_pieces = !tlx.memdesc<[2, 128, 32], f32>
!dq_piece = !tlx.memdesc<[128, 32], f32>
!dkv_pieces = !tlx.memdesc<[2, 128, 64], ELEMENT>
!dkv_piece = !tlx.memdesc<[128, 64], ELEMENT>

!s_buffer = !tlx.memdesc<[128, 128], f32, tensor>
!s_half = !tlx.memdesc<[128, 64], f32, tensor>
!p_columns = !tlx.memdesc<[128, 32], f32, tensor>
!p_half = !tlx.memdesc<[128, 64], ELEMENT, tensor>
!g_buffers = !tlx.memdesc<[128 floordiv HEAD_DIM, 128, HEAD_DIM], f32, tensor>
!sum = !tlx.memdesc<[128, HEAD_DIM], f32, tensor>
!sum_part = !tlx.memdesc<[128, 64], f32, tensor>
!dq_part = !tlx.memdesc<[128, 32], f32, tensor>

!one = !tlx.mbarrier<[1]>
!two = !tlx.mbarrier<[2]>
!k_ring = !tlx.mbarrier<[K_STAGES]>
!v_ring = !tlx.mbarrier<[V_STAGES]>
!do_ring = !tlx.mbarrier<[DO_STAGES]>
!g_ring = !tlx.mbarrier<[128 floordiv HEAD_DIM]>

!scores = tensor<128x64xf32, #tlx.dims<[128, 64], ELEMENT>>
!hidden = tensor<128x64xi1, #tlx.dims<[128, 64], ELEMENT>>
!weights = tensor<128x64xbf16, #tlx.dims<[128, 64], ELEMENT>>
!piece = tensor<128x32xf32>
!rows = tensor<64xf32>
!row = tensor<1x64xf32>
!keys = tensor<128xi32>

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

// Of S^T or dP^T 64 queries, and where the same of P^T or dS^T goes once they have been
// read.
func.func private @half_of(%all: !s_buffer, %query: i32) -> (!s_half, !p_half) {
  %c0 = arith.constant 0 : i32
  %half = tlx.local_slice %all[%c0, %query] : !s_buffer -> !s_half
  %place = tlx.local_slice %half[%c0, %c0] : !s_half -> !p_columns
  %weights = tlx.local_reinterpret %place : !p_columns -> !p_half
  return %half, %weights : !s_half, !p_half
}

// LSE or delta of 64 queries, the same for all keys. A fence follows before the rows are
// given back.
func.func private @read_rows(%rows: !rows_halves, %half: i32) -> !scores {
  %place = tlx.local_view %rows[%half] : !rows_halves -> !rows_half
  %loaded = tlx.local_load %place unfenced : !rows_half -> !rows
  %row = tlx.expand_dims %loaded dim 0 : !rows -> !row
  %all = tlx.broadcast %row : !row -> !scores
  return %all : !scores
}

// Starts W^T X, where W^T is in tensor memory and its halves are there one after the other,
// into the place of product `count` of those that leave at once.
func.func private @start_product(
    %weights: !s_buffer, %full: !two, %phase: i32, %x: !tile, %g: !g_buffers,
    %g_full: !g_ring, %g_empty: !g_ring, %count: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %true = arith.constant true
  %slot, %g_phase = tlx.ring %count stages(128 floordiv HEAD_DIM) : i32
  %sum = tlx.local_view %g[%slot] : !g_buffers -> !sum
  %s0, %first = func.call @half_of(%weights, %c0) : (!s_buffer, i32) -> (!s_half, !p_half)
  %s1, %second = func.call @half_of(%weights, %c64)
      : (!s_buffer, i32) -> (!s_half, !p_half)
  %first_x = tlx.local_slice %x[%c0, %c0] : !tile -> !tile_rows
  %second_x = tlx.local_slice %x[%c64, %c0] : !tile -> !tile_rows
  tlx.barrier_wait %g_empty[%slot], %g_phase producer : !g_ring
  tlx.barrier_wait %full[%c0], %phase : !two
  tlx.async_dot %first, %first_x, %sum : !p_half, !tile_rows, !sum
  tlx.barrier_wait %full[%c1], %phase : !two
  tlx.async_dot %second, %second_x, %sum accumulate(%true) : !p_half, !tile_rows, !sum
  tlx.tcgen05_commit %g_full[%slot] : !g_ring
  return
}

// Starts dK and dQ of step `n`.
func.func private @finish_step(
    %n: i32, %q: !tile, %k: !k_buffers, %dst: !dst_buffer, %dp: !s_buffer,
    %g: !g_buffers, %dq: !sum, %ds_full: !two, %g_full: !g_ring, %g_empty: !g_ring,
    %k_empty: !k_ring) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %slot, %phase = tlx.ring %n stages(K_STAGES) : i32
  %step_slot, %step_phase = tlx.ring %n stages(1) : i32
  %k_tile = tlx.local_view %k[%slot] : !k_buffers -> !tile
  %ds = tlx.local_trans %dst : !dst_buffer -> !ds_buffer
  %twice = arith.shli %n, %c1 : i32
  %count = arith.addi %twice, %c1 : i32
  func.call @start_product(%dp, %ds_full, %step_phase, %q, %g, %g_full, %g_empty, %count)
      : (!s_buffer, !two, i32, !tile, !g_buffers, !g_ring, !g_ring, i32) -> ()
  %more = arith.cmpi sgt, %n, %c0 : i32
  tlx.async_dot %ds, %k_tile, %dq accumulate(%more) : !ds_buffer, !tile, !sum
  tlx.tcgen05_commit %k_empty[%slot] : !k_ring
  return
}

// Copies 64 columns of a gradient out; returns the number of copies started so far.
func.func private @store_piece(
    %rounded: !weights, %pieces: !dkv_pieces, %copies: i32, %gradient: !dkv_tensor,
    %row: i32, %head: i32, %column: i32, %start: i32, %length: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %slot, %phase = tlx.ring %copies stages(2) : i32
  %place = tlx.local_view %pieces[%slot] : !dkv_pieces -> !dkv_piece
  // The copy before the last has to have left the buffer.
  tlx.async_descriptor_store_wait pending(1)
  tlx.local_store %rounded, %place : !weights, !dkv_piece
  tlx.async_descriptor_store %gradient[%row, %head, %column] segment(%start, %length),
      %place : !dkv_tensor, !dkv_piece
  %next = arith.addi %copies, %c1 : i32
  return %next : i32
}

// The 64 columns of a sum from `column`, scaled and rounded.
func.func private @take_part(%sum: !sum, %column: i32, %factor: f32) -> !weights {
  %c0 = arith.constant 0 : i32
  %part = tlx.local_slice %sum[%c0, %column] : !sum -> !sum_part
  %values = tlx.local_load %part : !sum_part -> !scores
  %factors = tlx.splat %factor : f32 -> !scores
  %scaled = arith.mulf %values, %factors : !scores
  %rounded = arith.truncf %scaled : !scores to !weights
  return %rounded : !weights
}

// Takes product `count` of those that leave at once out of tensor memory, and copies it
// out. All of it is in registers before its buffers are free, so that the products go on.
func.func private @copy_out(
    %g: !g_buffers, %g_full: !g_ring, %g_empty: !g_ring, %count: i32, %factor: f32,
    %pieces: !dkv_pieces, %copies: i32, %gradient: !dkv_tensor, %row: i32, %head: i32,
    %start: i32, %length: i32, %head_dim: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %slot, %phase = tlx.ring %count stages(128 floordiv HEAD_DIM) : i32
  %sum = tlx.local_view %g[%slot] : !g_buffers -> !sum
  // For D 64 the last part is the first one.
  %last_column = arith.subi %head_dim, %c64 : i32
  %has_two = arith.cmpi sgt, %last_column, %c0 : i32
  tlx.barrier_wait %g_full[%slot], %phase : !g_ring
  %first = func.call @take_part(%sum, %c0, %factor) : (!sum, i32, f32) -> !weights
  %last = scf.if %has_two -> (!weights) {
    %second = func.call @take_part(%sum, %last_column, %factor)
        : (!sum, i32, f32) -> !weights
    scf.yield %second : !weights
  } else {
    scf.yield %first : !weights
  }
  tlx.barrier_arrive %g_empty[%slot] : !g_ring
  %copies_1 = func.call @store_piece(%first, %pieces, %copies, %gradient, %row, %head,
      %c0, %start, %length) : (!weights, !dkv_pieces, i32, !dkv_tensor, i32, i32, i32,
      i32, i32) -> i32
  %end = scf.if %has_two -> (i32) {
    %copies_2 = func.call @store_piece(%last, %pieces, %copies_1, %gradient, %row, %head,
        %last_column, %start, %length) : (!weights, !dkv_pieces, i32, !dkv_tensor, i32,
        i32, i32, i32, i32) -> i32
    scf.yield %copies_2 : i32
  } else {
    scf.yield %copies_1 : i32
  }
  return %end : i32
}

tlx.kernel @attention_bwd_query(
    %q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %dk: !dkv_tensor,
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
  tlx.param K_STAGES = 2 from 2 to 6 : i32
  tlx.param V_STAGES = 1 from 1 to 6 : i32
  tlx.param DO_STAGES = 1 from 1 to 2 : i32
  tlx.param COMPUTE_REGISTERS = 152 from 24 to 256 step 8 : i32
  tlx.param STORE_REGISTERS = 152 from 24 to 256 step 8 : i32
  tlx.param OTHER_REGISTERS = 56 from 24 to 256 step 8 : i32

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
  %do_smem = tlx.local_alloc : !do_buffers
  %k_smem = tlx.local_alloc : !k_buffers
  %v_smem = tlx.local_alloc : !v_buffers
  %dst_smem = tlx.local_alloc : !dst_buffer
  %dkv_smem = tlx.local_alloc : !dkv_pieces
  %dq_smem = tlx.local_alloc alias(%dkv_smem) : !dq_pieces, !dkv_pieces
  %lse_smem = tlx.local_alloc : !rows_buffers
  %delta_smem = tlx.local_alloc : !rows_buffers
  %s_tmem = tlx.local_alloc : !s_buffer
  %dp_tmem = tlx.local_alloc : !s_buffer
  %dq_tmem = tlx.local_alloc : !sum
  %g_tmem = tlx.local_alloc : !g_buffers
  %q_full = tlx.alloc_barriers arrivals(1) : !one
  %do_full = tlx.alloc_barriers arrivals(1) : !do_ring
  %do_empty = tlx.alloc_barriers arrivals(1) : !do_ring
  %rows_full = tlx.alloc_barriers arrivals(1) : !two
  %rows_empty = tlx.alloc_barriers arrivals(2) : !two
  %k_full = tlx.alloc_barriers arrivals(1) : !k_ring
  %k_empty = tlx.alloc_barriers arrivals(1) : !k_ring
  %v_full = tlx.alloc_barriers arrivals(1) : !v_ring
  %v_empty = tlx.alloc_barriers arrivals(1) : !v_ring
  %s_full = tlx.alloc_barriers arrivals(1) : !one
  %p_full = tlx.alloc_barriers arrivals(1) : !two
  %dp_full = tlx.alloc_barriers arrivals(1) : !one
  %ds_full = tlx.alloc_barriers arrivals(1) : !two
  %g_full = tlx.alloc_barriers arrivals(1) : !g_ring
  %g_empty = tlx.alloc_barriers arrivals(1) : !g_ring
  %dq_full = tlx.alloc_barriers arrivals(1) : !one

  // `n` counts the blocks that this CTA takes, `run` its items.
  tlx.async_tasks {
    tlx.async_task @compute warps(4) registers(COMPUTE_REGISTERS) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %first_query = arith.muli %replica, %c64 : i32
      %s_half, %p_half = func.call @half_of(%s_tmem, %first_query)
          : (!s_buffer, i32) -> (!s_half, !p_half)
      %dp_half, %ds_half = func.call @half_of(%dp_tmem, %first_query)
          : (!s_buffer, i32) -> (!s_half, !p_half)
      %dst_columns = tlx.local_slice %dst_smem[%c0, %first_query]
          : !dst_buffer -> !dst_columns
      %lse_halves = tlx.local_reinterpret %lse_smem : !rows_buffers -> !rows_halves
      %delta_halves = tlx.local_reinterpret %delta_smem : !rows_buffers -> !rows_halves

      %minus_infinity = arith.constant 0xFF800000 : f32
      %scales = tlx.splat %scale_log2 : f32 -> !scores
      %hidden_score = tlx.splat %minus_infinity : f32 -> !scores
      %key_in_tile = tlx.iota dim 0 : !keys
      %all_queries = tlx.splat %c64 : i32 -> !keys
      %none = tlx.splat %c0 : i32 -> !keys

      // An item is decoded while the one before it is computed.
      %first_at:7 = func.call @decode(%first_item, %items, %k_offsets, %q_length)
          : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
          -> (i32, i32, i32, i32, i32, i32, i32)
      %end:5 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %run = %c0, %key = %first_at#1, %blocks = %first_at#2,
                    %k_len = %first_at#4) -> (i32, i32, i32, i32, i32) : i32 {
        %next_item = arith.addi %item, %c1 : i32
        %next:7 = func.call @decode(%next_item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)

        // The first query of this replica sees the keys before its limit, the others
        // at least these. Keys count from the first one of the run.
        %left = arith.subi %k_len, %key : i32
        %hidden_from_last = arith.subi %q_length, %first_query : i32
        %after_limit = arith.subi %hidden_from_last, %c1 : i32
        %diagonal_limit = arith.subi %left, %after_limit : i32
        %least_limit = arith.minsi %diagonal_limit, %left : i32
        %first_limit = arith.select %causal, %least_limit, %left : i32
        %positive_limit = arith.maxsi %first_limit, %c0 : i32
        %first_masked = arith.divui %positive_limit, %c128 : i32

        %run_slot, %run_phase = tlx.ring %run stages(2) : i32
        %first_half = arith.muli %run_slot, %c2 : i32
        %half = arith.addi %first_half, %replica : i32
        tlx.barrier_wait %rows_full[%run_slot], %run_phase : !two
        %count_end = scf.for %j = %c0 to %blocks step %c1
            iter_args(%n = %count) -> (i32) : i32 {
          %step_slot, %step_phase = tlx.ring %n stages(1) : i32
          tlx.barrier_wait %s_full, %step_phase : !one
          %s_all = tlx.local_load %s_half : !s_half -> !scores

          // A key is hidden from the queries before its limit: if causal, those that
          // do not see it; past the end, all.
          %hides = tlx.in_masked_tail %j from %first_masked : i32
          %s = scf.if %hides -> (!scores) {
            %distance = arith.muli %j, %c128 : i32
            %begin = tlx.splat %distance : i32 -> !keys
            %key_in_run = arith.addi %begin, %key_in_tile : !keys
            %keys_left = tlx.splat %left : i32 -> !keys
            %exists = arith.cmpi slt, %key_in_run, %keys_left : !keys
            %one_more = arith.subi %c1, %diagonal_limit : i32
            %offset = tlx.splat %one_more : i32 -> !keys
            %diagonal = arith.addi %key_in_run, %offset : !keys
            %own_limits = arith.select %causal, %diagonal, %none : !keys
            %limits = arith.select %exists, %own_limits, %all_queries
                : tensor<128xi1>, !keys
            %hidden = tlx.prefix_mask %limits dim 1 : !keys -> !hidden
            %masked = arith.select %hidden, %hidden_score, %s_all : !hidden, !scores
            scf.yield %masked : !scores
          } else {
            scf.yield %s_all : !scores
          }
          %lse = func.call @read_rows(%lse_halves, %half) : (!rows_halves, i32) -> !scores
          %s_scaled = arith.mulf %s, %scales fastmath<contract> : !scores
          %e = arith.subf %s_scaled, %lse fastmath<contract> : !scores
          %p = math.exp2 %e fastmath<afn> : !scores
          %p_16 = arith.truncf %p : !scores to !weights
          tlx.local_store %p_16, %p_half : !weights, !p_half
          tlx.barrier_arrive %p_full[%replica] : !two

          tlx.barrier_wait %dp_full, %step_phase : !one
          %dp = tlx.local_load %dp_half : !s_half -> !scores
          %delta_rows = func.call @read_rows(%delta_halves, %half)
              : (!rows_halves, i32) -> !scores
          %dp_centred = arith.subf %dp, %delta_rows : !scores
          %ds = arith.mulf %p, %dp_centred : !scores
          %ds_16 = arith.truncf %ds : !scores to !weights
          tlx.local_store %ds_16, %ds_half : !weights, !p_half
          // With dP the dQ before is done, which has read what is there.
          tlx.local_store %ds_16, %dst_columns : !weights, !dst_columns
          tlx.barrier_arrive %ds_full[%replica] : !two
          %n1 = arith.addi %n, %c1 : i32
          scf.yield %n1 : i32
        }
        tlx.barrier_arrive %rows_empty[%run_slot] : !two
        %next_run = arith.addi %run, %c1 : i32
        scf.yield %count_end, %next_run, %next#1, %next#2, %next#4
            : i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @store warps(4) registers(STORE_REGISTERS) {
      %one_f = arith.constant 1.0 : f32
      %c32 = arith.constant 32 : i32
      %end:2 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %copies_before = %c0) -> (i32, i32) : i32 {
        %at:7 = func.call @decode(%item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)
        %of_item:2 = scf.for %j = %c0 to %at#2 step %c1
            iter_args(%n = %count, %copies = %copies_before) -> (i32, i32) : i32 {
          %distance = arith.muli %j, %c128 : i32
          %row = arith.addi %at#1, %distance : i32
          %dv_count = arith.shli %n, %c1 : i32
          %dk_count = arith.addi %dv_count, %c1 : i32
          %after_dv = func.call @copy_out(%g_tmem, %g_full, %g_empty, %dv_count, %one_f,
              %dkv_smem, %copies, %dv, %row, %at#0, %at#3, %at#4, %head_dim)
              : (!g_buffers, !g_ring, !g_ring, i32, f32, !dkv_pieces, i32, !dkv_tensor,
              i32, i32, i32, i32, i32) -> i32
          %after_dk = func.call @copy_out(%g_tmem, %g_full, %g_empty, %dk_count, %scale,
              %dkv_smem, %after_dv, %dk, %row, %at#0, %at#3, %at#4, %head_dim)
              : (!g_buffers, !g_ring, !g_ring, i32, f32, !dkv_pieces, i32, !dkv_tensor,
              i32, i32, i32, i32, i32) -> i32
          %n1 = arith.addi %n, %c1 : i32
          scf.yield %n1, %after_dk : i32, i32
        }
        scf.yield %of_item#0, %of_item#1 : i32, i32
      }
      scf.if %has_items {
        %now:7 = func.call @decode(%first_item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)
        tlx.barrier_wait %dq_full, %c0 : !one
        %added = scf.for %column = %c0 to %head_dim step %c32
            iter_args(%copies = %end#1) -> (i32) : i32 {
          %part = tlx.local_slice %dq_tmem[%c0, %column] : !sum -> !dq_part
          %piece = tlx.local_load %part : !dq_part -> !piece
          %slot, %phase = tlx.ring %copies stages(2) : i32
          %place = tlx.local_view %dq_smem[%slot] : !dq_pieces -> !dq_piece
          tlx.async_descriptor_store_wait pending(1)
          tlx.local_store %piece, %place : !piece, !dq_piece
          scf.if %deterministic {
            %copy = arith.divui %cta, %heads : i32
            %first_sum = arith.muli %copy, %q_length : i32
            tlx.async_descriptor_store %dq_acc[%c0, %now#0, %column]
                segment(%first_sum, %q_length), %place : !dq_tensor, !dq_piece
          } else {
            tlx.async_descriptor_reduce %dq_acc[%c0, %now#0, %column]
                segment(%c0, %q_length), %place : !dq_tensor, !dq_piece
          }
          %next = arith.addi %copies, %c1 : i32
          scf.yield %next : i32
        }
      }
      // Shared memory has to outlive the last copy out of it.
      tlx.async_descriptor_store_wait pending(0)
    }

    tlx.async_task @load warps(1) registers(OTHER_REGISTERS) {
      scf.if %has_items {
        %first:7 = func.call @decode(%first_item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)
        tlx.barrier_expect_bytes %q_full, %q_smem : !one, !tile
        tlx.async_descriptor_load %q[%c0, %first#0, %c0] segment(%c0, %q_length),
            %q_smem signal %q_full : !tensor, !tile, !one
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
          %k_slot, %k_phase = tlx.ring %n stages(K_STAGES) : i32
          %k_tile = tlx.local_view %k_smem[%k_slot] : !k_buffers -> !tile
          tlx.barrier_wait %k_empty[%k_slot], %k_phase producer : !k_ring
          tlx.barrier_expect_bytes %k_full[%k_slot], %k_tile : !k_ring, !tile
          tlx.async_descriptor_load %k[%row, %at#0, %c0] segment(%at#3, %at#4),
              %k_tile signal %k_full[%k_slot] : !tensor, !tile, !k_ring

          %is_first = arith.cmpi eq, %j, %c0 : i32
          scf.if %is_first {
            %run_slot, %run_phase = tlx.ring %run stages(2) : i32
            %lse_rows = tlx.local_view %lse_smem[%run_slot]
                : !rows_buffers -> !rows_buffer
            %delta_rows = tlx.local_view %delta_smem[%run_slot]
                : !rows_buffers -> !rows_buffer
            tlx.barrier_wait %rows_empty[%run_slot], %run_phase producer : !two
            tlx.barrier_expect_bytes %rows_full[%run_slot], %lse_rows, %delta_rows
                : !two, !rows_buffer, !rows_buffer
            tlx.async_descriptor_load %lse_log2[%at#0, %at#6], %lse_rows
                signal %rows_full[%run_slot] : !rows_tensor, !rows_buffer, !two
            tlx.async_descriptor_load %delta[%at#0, %at#6], %delta_rows
                signal %rows_full[%run_slot] : !rows_tensor, !rows_buffer, !two

            %do_slot, %do_phase = tlx.ring %run stages(DO_STAGES) : i32
            %do_tile = tlx.local_view %do_smem[%do_slot] : !do_buffers -> !tile
            tlx.barrier_wait %do_empty[%do_slot], %do_phase producer : !do_ring
            tlx.barrier_expect_bytes %do_full[%do_slot], %do_tile : !do_ring, !tile
            tlx.async_descriptor_load %do[%c0, %at#0, %c0] segment(%at#5, %q_length),
                %do_tile signal %do_full[%do_slot] : !tensor, !tile, !do_ring
          }

          %v_slot, %v_phase = tlx.ring %n stages(V_STAGES) : i32
          %v_tile = tlx.local_view %v_smem[%v_slot] : !v_buffers -> !tile
          tlx.barrier_wait %v_empty[%v_slot], %v_phase producer : !v_ring
          tlx.barrier_expect_bytes %v_full[%v_slot], %v_tile : !v_ring, !tile
          tlx.async_descriptor_load %v[%row, %at#0, %c0] segment(%at#3, %at#4),
              %v_tile signal %v_full[%v_slot] : !tensor, !tile, !v_ring
          %n1 = arith.addi %n, %c1 : i32
          scf.yield %n1 : i32
        }
        %next_run = arith.addi %run, %c1 : i32
        scf.yield %loaded, %next_run : i32, i32
      }
    }

    tlx.async_task @multiply warps(1) registers(OTHER_REGISTERS) {
      %q_t = tlx.local_trans %q_smem : !tile -> !tile_t
      scf.if %has_items {
        tlx.barrier_wait %q_full, %c0 : !one
      }
      %first_at:7 = func.call @decode(%first_item, %items, %k_offsets, %q_length)
          : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
          -> (i32, i32, i32, i32, i32, i32, i32)
      %end:3 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %run = %c0, %blocks = %first_at#2)
          -> (i32, i32, i32) : i32 {
        %next_item = arith.addi %item, %c1 : i32
        %next:7 = func.call @decode(%next_item, %items, %k_offsets, %q_length)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32)
            -> (i32, i32, i32, i32, i32, i32, i32)
        %count_end = arith.addi %count, %blocks : i32
        %do_slot, %do_phase = tlx.ring %run stages(DO_STAGES) : i32
        %do_tile = tlx.local_view %do_smem[%do_slot] : !do_buffers -> !tile
        %do_t = tlx.local_trans %do_tile : !tile -> !tile_t
        scf.for %n = %count to %count_end step %c1 : i32 {
          %is_first = arith.cmpi eq, %n, %count : i32
          %step_slot, %step_phase = tlx.ring %n stages(1) : i32
          %k_slot, %k_phase = tlx.ring %n stages(K_STAGES) : i32
          %k_tile = tlx.local_view %k_smem[%k_slot] : !k_buffers -> !tile
          tlx.barrier_wait %k_full[%k_slot], %k_phase : !k_ring
          tlx.async_dot %k_tile, %q_t, %s_tmem : !tile, !tile_t, !s_buffer
          tlx.tcgen05_commit %s_full : !one

          %has_before = arith.cmpi sgt, %n, %c0 : i32
          scf.if %has_before {
            %before = arith.subi %n, %c1 : i32
            func.call @finish_step(%before, %q_smem, %k_smem, %dst_smem, %dp_tmem,
                %g_tmem, %dq_tmem, %ds_full, %g_full, %g_empty, %k_empty) : (i32, !tile,
                !k_buffers, !dst_buffer, !s_buffer, !g_buffers, !sum, !two, !g_ring,
                !g_ring, !k_ring) -> ()
          }

          %v_slot, %v_phase = tlx.ring %n stages(V_STAGES) : i32
          %v_tile = tlx.local_view %v_smem[%v_slot] : !v_buffers -> !tile
          tlx.barrier_wait %v_full[%v_slot], %v_phase : !v_ring
          scf.if %is_first {
            tlx.barrier_wait %do_full[%do_slot], %do_phase : !do_ring
          }
          tlx.async_dot %v_tile, %do_t, %dp_tmem : !tile, !tile_t, !s_buffer
          tlx.tcgen05_commit %dp_full : !one
          tlx.tcgen05_commit %v_empty[%v_slot] : !v_ring
          %dv_count = arith.shli %n, %c1 : i32
          func.call @start_product(%s_tmem, %p_full, %step_phase, %do_tile, %g_tmem,
              %g_full, %g_empty, %dv_count) : (!s_buffer, !two, i32, !tile, !g_buffers,
              !g_ring, !g_ring, i32) -> ()
        }
        tlx.tcgen05_commit %do_empty[%do_slot] : !do_ring
        %next_run = arith.addi %run, %c1 : i32
        scf.yield %count_end, %next_run, %next#2 : i32, i32, i32
      }
      scf.if %has_items {
        %n = arith.subi %end#0, %c1 : i32
        func.call @finish_step(%n, %q_smem, %k_smem, %dst_smem, %dp_tmem, %g_tmem,
            %dq_tmem, %ds_full, %g_full, %g_empty, %k_empty) : (i32, !tile, !k_buffers,
            !dst_buffer, !s_buffer, !g_buffers, !sum, !two, !g_ring, !g_ring, !k_ring)
            -> ()
        tlx.tcgen05_commit %dq_full : !one
      }
    }
  }
}
