// Attention backward for Hopper, key-stationary: jagged, dense or with a broadcast
// query.
//
// Computes, for every sequence b and query head h (docs/Attention.md), from
// LSE log2(e) and delta = rowsum(dO * O), which bwd_pre.mlir has left,
//     P = exp(S - LSE)      dP = dO V^T          dS = P * (dP - delta)
//     dV = P^T dO           dK = scale dS^T Q    dQ = scale dS K
//
// A persistent CTA takes blocks of BLOCK_N keys, in the order that the host has
// balanced: items item_starts[cta] to item_starts[cta + 1] of the work list. It
// keeps K and V, streams the queries of every head of the group that see them, and
// sums dK and dV in registers. Its share of dQ is added to dq_acc in global memory,
// which bwd_post.mlir scales and rounds.
//
//   role      warps  does
//   @load     1      starts every copy: K, V, then Q with LSE and dO with delta
//   @reduce   2 x 1  each replica adds one piece of dQ to global memory
//   @compute  2 x 4  each replica owns 64 keys: their rows of S^T, dP^T, dK and dV
//
// Everything is computed transposed, so that P^T and dS^T in registers are operands
// of dV and dK as they are; dS also goes through shared memory, since dQ needs that
// of all keys. A piece of dQ^T is 64 columns of K by 64 queries: the replicas share
// the columns (D 128) or the queries (D 64).
//
// A step of @compute, so that the tensor cores always have work queued:
//     start dP | P, start dV | wait dP, dS to shared memory, start dK | meet the other
//     replica, start dQ | wait dV | start S of the next step | wait dK | wait dQ and
//     hand it over | wait S
// The last step computes S once more and drops it, so that no product is under a
// branch.
//
//   barrier   count         arrives               waits      phase completes when
//   k_full    1             @load (bytes of K)    @compute   a tile's keys are there
//   v_full    1             @load (bytes of V)    @compute   its values are there
//   kv_empty  2             @compute              @load      its last product is done
//   q_full    1 per stage   @load (Q and LSE)     @compute   a step's queries are there
//   q_empty   2             @compute              @load      its S and dK are done
//   do_full   1 per stage   @load (dO and delta)  @compute   a step's gradients are there
//   do_empty  2             @compute              @load      its dP and dV are done
//   named 1   256 threads   @compute              @compute   dS of all keys is there
//   named 2,3 160 threads   @compute              @reduce    a piece of dQ is there
//   named 4,5 160 threads   @reduce               @compute   its buffer may be written
//
//   shared memory, D 128: K 32 K, V 32 K, Q 32 K, dO 32 K, dS 32 K, dQ 32 K, dK and dV 32 K
//   registers, D 128: dK 64, dV 64, S or dP or dQ 32 each, P and dS 16 each, of 240
//
// Hidden scores are -inf: keys past the end or, if causal, after the query. Queries
// past the end read LSE = +inf, so that their P is 0.

!q_tensor = !tlx.tensormap<[BLOCK_M, 1, HEAD_DIM], ELEMENT, ragged>
!kv_tensor = !tlx.tensormap<[BLOCK_N, 1, HEAD_DIM], ELEMENT, ragged>
!dkv_tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!dq_tensor = !tlx.tensormap<[64, 1, 64], f32, ragged>
!rows_tensor = !tlx.tensormap<[1, BLOCK_M], f32>

!q_buffers = !tlx.memdesc<[Q_STAGES, BLOCK_M, HEAD_DIM], ELEMENT>
!do_buffers = !tlx.memdesc<[DO_STAGES, BLOCK_M, HEAD_DIM], ELEMENT>
!q_buffer = !tlx.memdesc<[BLOCK_M, HEAD_DIM], ELEMENT>
!qt_buffer = !tlx.memdesc<[HEAD_DIM, BLOCK_M], ELEMENT, transposed>
!kv_buffer = !tlx.memdesc<[BLOCK_N, HEAD_DIM], ELEMENT>
!kv_rows = !tlx.memdesc<[64, HEAD_DIM], ELEMENT, of = [BLOCK_N, HEAD_DIM]>
!k_columns = !tlx.memdesc<[BLOCK_N, 64], ELEMENT, of = [BLOCK_N, HEAD_DIM]>
!kt_rows = !tlx.memdesc<[64, BLOCK_N], ELEMENT, of = [HEAD_DIM, BLOCK_N], transposed>
!ds_buffers = !tlx.memdesc<[DS_STAGES, BLOCK_M, BLOCK_N], ELEMENT>
!ds_buffer = !tlx.memdesc<[BLOCK_M, BLOCK_N], ELEMENT>
!ds_columns = !tlx.memdesc<[BLOCK_M, 64], ELEMENT, of = [BLOCK_M, BLOCK_N]>
!dst_rows = !tlx.memdesc<[64, BLOCK_M], ELEMENT, of = [BLOCK_N, BLOCK_M], transposed>
!ds_rows = !tlx.memdesc<[64, BLOCK_N], ELEMENT, of = [BLOCK_M, BLOCK_N]>
!dst_columns = !tlx.memdesc<[BLOCK_N, 64], ELEMENT, of = [BLOCK_N, BLOCK_M], transposed>
!dq_buffers = !tlx.memdesc<[2, 64, 64], f32>
!dq_buffer = !tlx.memdesc<[64, 64], f32>
!dqt_buffer = !tlx.memdesc<[64, 64], f32, transposed>
!dkv_buffers = !tlx.memdesc<[2, 64, HEAD_DIM], ELEMENT>
!dkv_buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!lse_buffers = !tlx.memdesc<[Q_STAGES, BLOCK_M], f32>
!delta_buffers = !tlx.memdesc<[DO_STAGES, BLOCK_M], f32>
!rows_buffer = !tlx.memdesc<[BLOCK_M], f32>
!one = !tlx.mbarrier<[1]>
!q_ring = !tlx.mbarrier<[Q_STAGES]>
!do_ring = !tlx.mbarrier<[DO_STAGES]>

!scores = tensor<64x?xf32, #tlx.dims<[64, BLOCK_M], ELEMENT>>
!hidden = tensor<64x?xi1, #tlx.dims<[64, BLOCK_M], ELEMENT>>
!weights = tensor<64x?xbf16, #tlx.dims<[64, BLOCK_M], ELEMENT>>
!rows = tensor<?xf32, #tlx.dims<[BLOCK_M]>>
!row = tensor<1x?xf32, #tlx.dims<[1, BLOCK_M]>>
!gradient = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!gradient_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>

// A work item: the sequence, first key row and KV head of a tile, and where they
// lie. Items are four 32-bit integers; the host deals them to the CTAs. The rows of
// LSE and delta are padded: each sequence begins at a multiple of 128.
func.func private @decode(
    %item: i32, %items: !tlx.ptr<i32>, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %q_length: i32, %k_length: i32, %jagged: i1,
    %broadcast_query: i1) -> (i32, i32, i32, i32, i32, i32, i32, i32) {
  %c0 = arith.constant 0 : i32
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
  %dense_q = arith.muli %sequence, %q_length : i32
  %k_start, %k_len = scf.if %jagged -> (i32, i32) {
    %begin = tlx.global_load %k_offsets[%sequence] : !tlx.ptr<i32>, i32 -> i32
    %end = tlx.global_load %k_offsets[%next] : !tlx.ptr<i32>, i32 -> i32
    %len = arith.subi %end, %begin : i32
    scf.yield %begin, %len : i32, i32
  } else {
    %dense_k = arith.muli %sequence, %k_length : i32
    scf.yield %dense_k, %k_length : i32, i32
  }
  %q_start, %q_len, %o_start = scf.if %broadcast_query -> (i32, i32, i32) {
    scf.yield %c0, %q_length, %dense_q : i32, i32, i32
  } else {
    %start, %len = scf.if %jagged -> (i32, i32) {
      %begin = tlx.global_load %q_offsets[%sequence] : !tlx.ptr<i32>, i32 -> i32
      %end = tlx.global_load %q_offsets[%next] : !tlx.ptr<i32>, i32 -> i32
      %own = arith.subi %end, %begin : i32
      scf.yield %begin, %own : i32, i32
    } else {
      scf.yield %dense_q, %q_length : i32, i32
    }
    scf.yield %start, %len, %start : i32, i32, i32
  }
  %block = arith.divui %o_start, %c128 : i32
  %padded_block = arith.addi %block, %sequence : i32
  %padded = arith.muli %padded_block, %c128 : i32
  return %head, %row, %q_start, %q_len, %o_start, %k_start, %k_len, %padded
      : i32, i32, i32, i32, i32, i32, i32, i32
}

// The first query of the first block that sees a tile's keys.
func.func private @first_query(%key: i32, %q_len: i32, %k_len: i32, %block_m: i32,
                               %causal: i1) -> i32 {
  %c0 = arith.constant 0 : i32
  %first = scf.if %causal -> i32 {
    %shift = arith.subi %k_len, %q_len : i32
    %sees = arith.subi %key, %shift : i32
    %positive = arith.maxsi %sees, %c0 : i32
    %block = arith.divui %positive, %block_m : i32
    %begin = arith.muli %block, %block_m : i32
    scf.yield %begin : i32
  } else {
    scf.yield %c0 : i32
  }
  return %first : i32
}

tlx.kernel @attention_bwd(
    %q: !q_tensor, %k: !kv_tensor, %v: !kv_tensor, %do: !q_tensor,
    %dk: !dkv_tensor, %dv: !dkv_tensor, %dq_acc: !dq_tensor,
    %lse_log2: !rows_tensor, %delta: !rows_tensor, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>,
    %heads_per_group: i32, %q_length: i32, %k_length: i32, %scale_log2: f32,
    %scale: f32) {
  // What is computed.
  tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  // Lengths come from the offsets; otherwise all are q_length and k_length.
  %jagged = tlx.param JAGGED = true : i1
  // All sequences share the q_length rows of q.
  %broadcast_query = tlx.param BROADCAST_QUERY = false : i1

  // How it is computed.
  %block_m = tlx.param BLOCK_M = 64 in [64, 128] : i32
  tlx.param BLOCK_N = 128 in [128] : i32
  tlx.param Q_STAGES = 2 from 1 to 4 : i32
  tlx.param DO_STAGES = 2 from 1 to 4 : i32
  tlx.param DS_STAGES = 2 from 1 to 2 : i32
  // Whether dS takes P as it was rounded for dV, so that its fp32 values need no
  // registers while dP is in flight.
  %rounded_p = tlx.param ROUNDED_P = true : i1
  tlx.param LOAD_REGISTERS = 24 from 24 to 256 step 8 : i32
  tlx.param COMPUTE_REGISTERS = 240 from 24 to 256 step 8 : i32
  // Pieces of dQ are 64 by 64, one for each replica.
  tlx.constraint BLOCK_M + HEAD_DIM eq 192

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
  %c63 = arith.constant 63 : i32
  %c64 = arith.constant 64 : i32
  %cta = tlx.cta_id : i32
  %next_cta = arith.addi %cta, %c1 : i32
  %first_item = tlx.global_load %item_starts[%cta] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_cta] : !tlx.ptr<i32>, i32 -> i32

  %k_smem = tlx.local_alloc : !kv_buffer
  %v_smem = tlx.local_alloc : !kv_buffer
  %q_smem = tlx.local_alloc : !q_buffers
  %do_smem = tlx.local_alloc : !do_buffers
  %ds_smem = tlx.local_alloc : !ds_buffers
  %dq_smem = tlx.local_alloc : !dq_buffers
  %dkv_smem = tlx.local_alloc : !dkv_buffers
  %lse_smem = tlx.local_alloc : !lse_buffers
  %delta_smem = tlx.local_alloc : !delta_buffers
  %k_full = tlx.alloc_barriers arrivals(1) : !one
  %v_full = tlx.alloc_barriers arrivals(1) : !one
  %kv_empty = tlx.alloc_barriers arrivals(2) : !one
  %q_full = tlx.alloc_barriers arrivals(1) : !q_ring
  %q_empty = tlx.alloc_barriers arrivals(2) : !q_ring
  %do_full = tlx.alloc_barriers arrivals(1) : !do_ring
  %do_empty = tlx.alloc_barriers arrivals(2) : !do_ring

  tlx.async_tasks {
    // `count` runs over all steps that this CTA takes, `tile` over its tiles.
    tlx.async_task @load warps(1) registers(LOAD_REGISTERS) {
      %end:2 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0) -> (i32, i32) : i32 {
        %at:8 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
            i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32)
        %first = func.call @first_query(%at#1, %at#3, %at#6, %block_m, %causal)
            : (i32, i32, i32, i32, i1) -> i32
        %has_queries = arith.cmpi sgt, %at#3, %c0 : i32
        %next:2 = scf.if %has_queries -> (i32, i32) {
          %kv_slot, %kv_phase = tlx.ring %tile stages(1) : i32
          tlx.barrier_wait %kv_empty, %kv_phase producer : !one
          tlx.barrier_expect_bytes %k_full, %k_smem : !one, !kv_buffer
          tlx.async_descriptor_load %k[%at#1, %at#0, %c0] segment(%at#5, %at#6),
              %k_smem signal %k_full : !kv_tensor, !kv_buffer, !one
          tlx.barrier_expect_bytes %v_full, %v_smem : !one, !kv_buffer
          tlx.async_descriptor_load %v[%at#1, %at#0, %c0] segment(%at#5, %at#6),
              %v_smem signal %v_full : !kv_tensor, !kv_buffer, !one

          %first_head = arith.muli %at#0, %heads_per_group : i32
          %end_head = arith.addi %first_head, %heads_per_group : i32
          %loaded = scf.for %head = %first_head to %end_head step %c1
              iter_args(%count_h = %count) -> (i32) : i32 {
            %of_head = scf.for %row = %first to %at#3 step %block_m
                iter_args(%n = %count_h) -> (i32) : i32 {
              %padded_row = arith.addi %at#7, %row : i32
              %slot, %phase = tlx.ring %n stages(Q_STAGES) : i32
              %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
              %lse_rows = tlx.local_view %lse_smem[%slot] : !lse_buffers -> !rows_buffer
              tlx.barrier_wait %q_empty[%slot], %phase producer : !q_ring
              tlx.barrier_expect_bytes %q_full[%slot], %q_tile, %lse_rows
                  : !q_ring, !q_buffer, !rows_buffer
              tlx.async_descriptor_load %q[%row, %head, %c0] segment(%at#2, %at#3),
                  %q_tile signal %q_full[%slot] : !q_tensor, !q_buffer, !q_ring
              tlx.async_descriptor_load %lse_log2[%head, %padded_row],
                  %lse_rows signal %q_full[%slot] : !rows_tensor, !rows_buffer, !q_ring

              %do_slot, %do_phase = tlx.ring %n stages(DO_STAGES) : i32
              %do_tile = tlx.local_view %do_smem[%do_slot] : !do_buffers -> !q_buffer
              %delta_rows = tlx.local_view %delta_smem[%do_slot]
                  : !delta_buffers -> !rows_buffer
              tlx.barrier_wait %do_empty[%do_slot], %do_phase producer : !do_ring
              tlx.barrier_expect_bytes %do_full[%do_slot], %do_tile, %delta_rows
                  : !do_ring, !q_buffer, !rows_buffer
              tlx.async_descriptor_load %do[%row, %head, %c0] segment(%at#4, %at#3),
                  %do_tile signal %do_full[%do_slot] : !q_tensor, !q_buffer, !do_ring
              tlx.async_descriptor_load %delta[%head, %padded_row],
                  %delta_rows signal %do_full[%do_slot]
                  : !rows_tensor, !rows_buffer, !do_ring
              %n1 = arith.addi %n, %c1 : i32
              scf.yield %n1 : i32
            }
            scf.yield %of_head : i32
          }
          %next_tile = arith.addi %tile, %c1 : i32
          scf.yield %loaded, %next_tile : i32, i32
        } else {
          scf.yield %count, %tile : i32, i32
        }
        scf.yield %next#0, %next#1 : i32, i32
      }
    }

    tlx.async_task @reduce warps(1) registers(LOAD_REGISTERS) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %piece = tlx.local_view %dq_smem[%replica] : !dq_buffers -> !dq_buffer
      %is_there = arith.addi %replica, %c2 : i32
      %is_free = arith.addi %replica, %c4 : i32
      %spare_rows = arith.subi %block_m, %c64 : i32
      %row_in_block = arith.muli %replica, %spare_rows : i32
      %columns = arith.subi %c64, %spare_rows : i32
      %column = arith.muli %replica, %columns : i32
      tlx.named_barrier_arrive %is_free threads(160)
      scf.for %item = %first_item to %end_item step %c1 : i32 {
        %at:8 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
            i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32)
        %first = func.call @first_query(%at#1, %at#3, %at#6, %block_m, %causal)
            : (i32, i32, i32, i32, i1) -> i32
        %first_head = arith.muli %at#0, %heads_per_group : i32
        %end_head = arith.addi %first_head, %heads_per_group : i32
        scf.for %head = %first_head to %end_head step %c1 : i32 {
          scf.for %block = %first to %at#3 step %block_m : i32 {
            %row = arith.addi %block, %row_in_block : i32
            tlx.named_barrier_wait %is_there threads(160)
            tlx.async_descriptor_reduce %dq_acc[%row, %head, %column]
                segment(%at#2, %at#3), %piece : !dq_tensor, !dq_buffer
            tlx.async_descriptor_store_wait pending(0)
            tlx.named_barrier_arrive %is_free threads(160)
          }
        }
      }
    }

    tlx.async_task @compute warps(4) registers(COMPUTE_REGISTERS) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %first_key = arith.muli %replica, %c64 : i32
      %k_rows = tlx.local_slice %k_smem[%first_key, %c0] : !kv_buffer -> !kv_rows
      %v_rows = tlx.local_slice %v_smem[%first_key, %c0] : !kv_buffer -> !kv_rows
      // This replica's piece of dQ.
      %spare_rows = arith.subi %block_m, %c64 : i32
      %ds_row = arith.muli %replica, %spare_rows : i32
      %columns = arith.subi %c64, %spare_rows : i32
      %k_column = arith.muli %replica, %columns : i32
      %k_columns = tlx.local_slice %k_smem[%c0, %k_column] : !kv_buffer -> !k_columns
      %kt_rows = tlx.local_trans %k_columns : !k_columns -> !kt_rows
      %piece = tlx.local_view %dq_smem[%replica] : !dq_buffers -> !dq_buffer
      %piece_t = tlx.local_trans %piece : !dq_buffer -> !dqt_buffer
      %is_there = arith.addi %replica, %c2 : i32
      %is_free = arith.addi %replica, %c4 : i32
      %out = tlx.local_view %dkv_smem[%replica] : !dkv_buffers -> !dkv_buffer

      %zero = arith.constant 0.0 : f32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %scales = tlx.splat %scale_log2 : f32 -> !scores
      %hidden_score = tlx.splat %minus_infinity : f32 -> !scores
      %no_gradient = tlx.splat %zero : f32 -> !gradient
      %key_in_rows = tlx.iota dim 0 : tensor<64xi32>

      %end:2 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0) -> (i32, i32) : i32 {
        %at:8 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
            i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32)
        %first = func.call @first_query(%at#1, %at#3, %at#6, %block_m, %causal)
            : (i32, i32, i32, i32, i1) -> i32
        %queries = arith.subi %at#3, %first : i32
        %blocks = arith.ceildivui %queries, %block_m : i32
        %steps = arith.muli %blocks, %heads_per_group : i32
        %count_end = arith.addi %count, %steps : i32

        // The keys from this replica's first to the end of the sequence. If causal,
        // rows count from the query that is the first to see it.
        %key_0 = arith.addi %at#1, %first_key : i32
        %left = arith.subi %at#6, %key_0 : i32
        %sees_first = arith.subi %at#3, %left : i32
        %first_row = arith.subi %first, %sees_first : i32

        %has_queries = arith.cmpi sgt, %at#3, %c0 : i32
        %dk_sum, %dv_sum, %next_tile = scf.if %has_queries
            -> (!gradient, !gradient, i32) {
          %kv_slot, %kv_phase = tlx.ring %tile stages(1) : i32
          %slot0, %phase0 = tlx.ring %count stages(Q_STAGES) : i32
          %q0 = tlx.local_view %q_smem[%slot0] : !q_buffers -> !q_buffer
          %q0_t = tlx.local_trans %q0 : !q_buffer -> !qt_buffer
          tlx.barrier_wait %k_full, %kv_phase : !one
          tlx.barrier_wait %q_full[%slot0], %phase0 : !q_ring
          %s0_pending = tlx.async_dot %k_rows, %q0_t : !kv_rows, !qt_buffer -> !scores
          tlx.barrier_wait %v_full, %kv_phase : !one
          %s0 = tlx.async_dot_wait %s0_pending pending(0) : !scores

          %row_end, %dk_last, %dv_last, %s_last = scf.for %n = %count to %count_end step %c1
              iter_args(%row = %first_row, %dk_in = %no_gradient, %dv_in = %no_gradient,
                        %s_in = %s0)
              -> (i32, !gradient, !gradient, !scores) : i32 {
            %slot, %phase = tlx.ring %n stages(Q_STAGES) : i32
            %do_slot, %do_phase = tlx.ring %n stages(DO_STAGES) : i32
            %ds_slot, %ds_phase = tlx.ring %n stages(DS_STAGES) : i32
            %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
            %do_tile = tlx.local_view %do_smem[%do_slot] : !do_buffers -> !q_buffer
            %do_t = tlx.local_trans %do_tile : !q_buffer -> !qt_buffer
            %lse_rows = tlx.local_view %lse_smem[%slot] : !lse_buffers -> !rows_buffer
            %delta_rows = tlx.local_view %delta_smem[%do_slot]
                : !delta_buffers -> !rows_buffer
            %ds_all = tlx.local_view %ds_smem[%ds_slot] : !ds_buffers -> !ds_buffer
            %ds_columns = tlx.local_slice %ds_all[%c0, %first_key]
                : !ds_buffer -> !ds_columns
            %dst_rows = tlx.local_trans %ds_columns : !ds_columns -> !dst_rows
            %ds_rows = tlx.local_slice %ds_all[%ds_row, %c0] : !ds_buffer -> !ds_rows
            %dst_columns = tlx.local_trans %ds_rows : !ds_rows -> !dst_columns

            tlx.barrier_wait %do_full[%do_slot], %do_phase : !do_ring
            %dp_pending = tlx.async_dot %v_rows, %do_t : !kv_rows, !qt_buffer -> !scores

            // A key is hidden from the queries before its limit: if causal, those that
            // do not see it; past the end, all.
            %lacks_keys = arith.cmpi slt, %left, %c64 : i32
            %on_diagonal = arith.cmpi slt, %row, %c63 : i32
            %hides_any = arith.ori %lacks_keys, %on_diagonal : i1
            %hides = arith.select %causal, %hides_any, %lacks_keys : i1
            %s = scf.if %hides -> (!scores) {
              %limit_0 = arith.subi %c0, %row : i32
              %limit_begin = tlx.splat %limit_0 : i32 -> tensor<64xi32>
              %diagonal = arith.addi %limit_begin, %key_in_rows : tensor<64xi32>
              %none = tlx.splat %c0 : i32 -> tensor<64xi32>
              %own_limits = arith.select %causal, %diagonal, %none : tensor<64xi32>
              %keys_left = tlx.splat %left : i32 -> tensor<64xi32>
              %exists = arith.cmpi slt, %key_in_rows, %keys_left : tensor<64xi32>
              %all_queries = tlx.splat %block_m : i32 -> tensor<64xi32>
              %limits = arith.select %exists, %own_limits, %all_queries
                  : tensor<64xi1>, tensor<64xi32>
              %hidden = tlx.prefix_mask %limits dim 1 : tensor<64xi32> -> !hidden
              %masked = arith.select %hidden, %hidden_score, %s_in : !hidden, !scores
              scf.yield %masked : !scores
            } else {
              scf.yield %s_in : !scores
            }
            %lse = tlx.local_load %lse_rows : !rows_buffer -> !rows
            %lse_r = tlx.expand_dims %lse dim 0 : !rows -> !row
            %lse_b = tlx.broadcast %lse_r : !row -> !scores
            %s_scaled = arith.mulf %s, %scales fastmath<contract> : !scores
            %e = arith.subf %s_scaled, %lse_b fastmath<contract> : !scores
            %p = math.exp2 %e fastmath<afn> : !scores
            %p_16 = arith.truncf %p : !scores to !weights
            %dv_pending = tlx.async_dot %p_16, %do_tile, %dv_in
                : !weights, !q_buffer -> !gradient

            %delta_loaded = tlx.local_load %delta_rows : !rows_buffer -> !rows
            %delta_r = tlx.expand_dims %delta_loaded dim 0 : !rows -> !row
            %delta_b = tlx.broadcast %delta_r : !row -> !scores
            %dp = tlx.async_dot_wait %dp_pending pending(1) : !scores
            %dp_centred = arith.subf %dp, %delta_b : !scores
            %p_ds = scf.if %rounded_p -> !scores {
              %p_32 = arith.extf %p_16 : !weights to !scores
              scf.yield %p_32 : !scores
            } else {
              scf.yield %p : !scores
            }
            %ds = arith.mulf %p_ds, %dp_centred : !scores
            %ds_16 = arith.truncf %ds : !scores to !weights
            tlx.local_store %ds_16, %dst_rows : !weights, !dst_rows
            %dk_pending = tlx.async_dot %ds_16, %q_tile, %dk_in
                : !weights, !q_buffer -> !gradient

            tlx.named_barrier_wait %c1 threads(256)
            %dq_pending = tlx.async_dot %kt_rows, %dst_columns
                : !kt_rows, !dst_columns -> tensor<64x64xf32>
            %dv_out = tlx.async_dot_wait %dv_pending pending(2) : !gradient
            tlx.barrier_arrive %do_empty[%do_slot] : !do_ring

            %n1 = arith.addi %n, %c1 : i32
            %is_last = arith.cmpi eq, %n1, %count_end : i32
            %next_n = arith.select %is_last, %n, %n1 : i32
            %next_slot, %next_phase = tlx.ring %next_n stages(Q_STAGES) : i32
            %q_next = tlx.local_view %q_smem[%next_slot] : !q_buffers -> !q_buffer
            %q_next_t = tlx.local_trans %q_next : !q_buffer -> !qt_buffer
            tlx.barrier_wait %q_full[%next_slot], %next_phase : !q_ring
            %s_pending = tlx.async_dot %k_rows, %q_next_t
                : !kv_rows, !qt_buffer -> !scores
            %dk_out = tlx.async_dot_wait %dk_pending pending(2) : !gradient
            %dq = tlx.async_dot_wait %dq_pending pending(1) : tensor<64x64xf32>
            tlx.named_barrier_wait %is_free threads(160)
            tlx.local_store %dq, %piece_t : tensor<64x64xf32>, !dqt_buffer
            tlx.named_barrier_arrive %is_there threads(160)

            // Only the diagonal asks for the row; every head begins at the first again.
            %next_row = scf.if %causal -> i32 {
              %row_1 = arith.addi %row, %block_m : i32
              %ends = arith.cmpi sge, %row_1, %left : i32
              %row_of_next = arith.select %ends, %first_row, %row_1 : i32
              scf.yield %row_of_next : i32
            } else {
              scf.yield %row : i32
            }
            %s_next = tlx.async_dot_wait %s_pending pending(0) : !scores
            tlx.barrier_arrive %q_empty[%slot] : !q_ring
            scf.yield %next_row, %dk_out, %dv_out, %s_next
                : i32, !gradient, !gradient, !scores
          }
          tlx.barrier_arrive %kv_empty : !one
          %tile_1 = arith.addi %tile, %c1 : i32
          scf.yield %dk_last, %dv_last, %tile_1 : !gradient, !gradient, i32
        } else {
          scf.yield %no_gradient, %no_gradient, %tile : !gradient, !gradient, i32
        }

        // Read again rather than kept in registers. The copy before has to have left
        // the buffer.
        %now:8 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
            i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32)
        %out_row = arith.addi %now#1, %first_key : i32
        %dv_16 = arith.truncf %dv_sum : !gradient to !gradient_16
        tlx.async_descriptor_store_wait pending(0)
        tlx.local_store %dv_16, %out : !gradient_16, !dkv_buffer
        tlx.async_descriptor_store %dv[%out_row, %now#0, %c0] segment(%now#5, %now#6),
            %out : !dkv_tensor, !dkv_buffer
        %dk_scale = tlx.splat %scale : f32 -> !gradient
        %dk_scaled = arith.mulf %dk_sum, %dk_scale : !gradient
        %dk_16 = arith.truncf %dk_scaled : !gradient to !gradient_16
        tlx.async_descriptor_store_wait pending(0)
        tlx.local_store %dk_16, %out : !gradient_16, !dkv_buffer
        tlx.async_descriptor_store %dk[%out_row, %now#0, %c0] segment(%now#5, %now#6),
            %out : !dkv_tensor, !dkv_buffer
        scf.yield %count_end, %next_tile : i32, i32
      }
      // Shared memory has to outlive the last copy out of it.
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
