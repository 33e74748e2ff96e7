// Attention backward for Hopper, key-stationary: jagged, dense or with a broadcast
// query.
//
// Computes, for every sequence b and query head h (docs/Attention.md), from
// LSE log2(e) and delta = rowsum(dO * O), which ../bwd_pre.mlir has left,
//     P = exp(S - LSE)      dP = dO V^T          dS = P * (dP - delta)
//     dV = P^T dO           dK = scale dS^T Q    dQ = scale dS K
//
// A persistent CTA takes blocks of BLOCK_N keys, in the order that the host has
// balanced: items item_starts[cta] to item_starts[cta + 1] of the work list. It
// keeps K and V, streams the queries of every head of the group that see them, and
// sums dK and dV in registers. Its share of dQ is added to dq_acc in global memory,
// which ../bwd_post.mlir scales and rounds. With FRAGMENTS, pieces whose rows all exist
// lie there transposed, as threads hold them.
//
// If DETERMINISTIC, additions to a piece of dQ have an order. Tiles take turns, by a
// semaphore for each piece: who is the i-th waits for i tiles before it, which come before
// it in the list. All CTAs have to run at once, so that the first tile of the list that is
// not done never waits for one that cannot run. Those of a sequence begin with the first
// keys, and tiles that begin together follow each other by a step. If causal, the last
// keys and each tile's first queries come first: when a tile comes to queries that others
// see, these have been there. Queries that all sequences share have dq_copies sums, which
// tiles of a head take in turn, by the number that the item has; bwd_post.mlir adds them
// up. A tile that does not see some of them passes its turn on.
//
//   role      warps  does
//   @load     1      starts every copy: Q with LSE, K, dO with delta, V, then Q and dO
//   @reduce   2 x 1  each replica adds its pieces of dQ to global memory, and at the
//                    end of a tile starts the copies of its rows of dK and dV
//   @compute  2 x 4  each replica owns 64 keys: their rows of S^T, dP^T, dK and dV
//
// All is computed transposed, so that P^T and dS^T in registers are operands of dV and
// dK as they are; dS also goes through shared memory, since dQ needs that of all keys. A
// piece of dQ^T is 64 columns of K by 64 queries: the replicas share the columns (D 128)
// or the queries (D 64).
//
// A step of @compute, so that the tensor cores always have work queued: start dP | P,
// start dV | wait dP, dS to shared memory, start dK | meet the other replica, start dQ |
// wait dV | start S of the next step | wait dK | wait dQ and hand it over | wait S. The
// steps of all tiles are one chain: the last one of a tile starts the S of the next
// tile, whose keys and queries are there by then; after the last tile of all, @load
// copies keys and queries once more for an S that is dropped. So no product is under a
// branch. At the end of a tile dV goes to the tile's slot of K, which neither replica
// reads any more, dK to where pieces of dQ go, and @compute walks on.
//
// dQ, S and dP take both factors from shared memory, as fast as it gives them, while dQ
// is stored and leaves and queries come. Gradients need not come then too: with
// LATE_GRADIENTS those of a step are handed back when the replicas have met in the next
// step, instead of when their dV is done.
//
//   barrier   count         arrives               waits      phase completes when
//   k_full    1 per stage   @load (bytes of K)    @compute   a tile's keys are there
//   k_empty   2             @reduce               @load      dV has left through them
//   v_full    1             @load (bytes of V)    @compute   its values are there
//   v_empty   2             @compute              @load      its last dP is done
//   q_full    1 per stage   @load (Q and LSE)     @compute   a step's queries are there
//   q_empty   2             @compute              @load      its S and dK are done
//   do_full   1 per stage   @load (dO and delta)  @compute   a step's gradients are there
//   do_empty  2             @compute              @load      its dP and dV are done, or
//                                                            dS of the next step is there
//   named 1   256 threads   @compute              @compute   dS of all keys is there;
//                                                            the last dQ of a tile is done;
//                                                            with one dS, any
//   named 2,3 160 threads   @compute              @reduce    a piece of dQ, or dK and dV,
//                                                            are there
//   named 4,5 160 threads   @reduce               @compute   their buffers may be written
//   turns     a semaphore   @reduce               @reduce    the tiles before have added
//             for a piece                                    to the piece
//
//   shared memory, D 128: K 64 K, V, Q, dO, dS and dQ 32 K each
//   registers, D 128: dK 64, dV 64, S, dP and dQ 32, P 32 and 16, dS 16, of 240
//
// Blocks of queries come in descending order, so that those on the diagonal come last,
// or if tiles take turns in ascending order.
// Hidden scores are -inf: keys past the end or, if causal, after the query. Queries
// past the end read LSE = +inf, so that their P is 0.

!q_tensor = !tlx.tensormap<[BLOCK_M, 1, HEAD_DIM], ELEMENT, ragged>
!kv_tensor = !tlx.tensormap<[BLOCK_N, 1, HEAD_DIM], ELEMENT, ragged>
!dkv_tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!dq_tensor = !tlx.tensormap<[64, 1, 64], f32, ragged>
!rows_tensor = !tlx.tensormap<[1, BLOCK_M], f32>

!q_buffers = !tlx.memdesc<[STAGES, BLOCK_M, HEAD_DIM], ELEMENT>
!q_buffer = !tlx.memdesc<[BLOCK_M, HEAD_DIM], ELEMENT>
!qt_buffer = !tlx.memdesc<[HEAD_DIM, BLOCK_M], ELEMENT, transposed>
!k_buffers = !tlx.memdesc<[2, BLOCK_N, HEAD_DIM], ELEMENT>
!kv_buffer = !tlx.memdesc<[BLOCK_N, HEAD_DIM], ELEMENT>
!kv_rows = !tlx.memdesc<[64, HEAD_DIM], ELEMENT, of = [BLOCK_N, HEAD_DIM]>
!k_columns = !tlx.memdesc<[BLOCK_N, 64], ELEMENT, of = [BLOCK_N, HEAD_DIM]>
!ds_buffers = !tlx.memdesc<[DS_STAGES, BLOCK_M, BLOCK_N], ELEMENT>
!ds_buffer = !tlx.memdesc<[BLOCK_M, BLOCK_N], ELEMENT>
!ds_columns = !tlx.memdesc<[BLOCK_M, 64], ELEMENT, of = [BLOCK_M, BLOCK_N]>
!dst_rows = !tlx.memdesc<[64, BLOCK_M], ELEMENT, of = [BLOCK_N, BLOCK_M], transposed>
!ds_rows = !tlx.memdesc<[64, BLOCK_N], ELEMENT, of = [BLOCK_M, BLOCK_N]>
!dst_columns = !tlx.memdesc<[BLOCK_N, 64], ELEMENT, of = [BLOCK_N, BLOCK_M], transposed>
!kt_rows = !tlx.memdesc<[64, BLOCK_N], ELEMENT, of = [HEAD_DIM, BLOCK_N], transposed>
!dqt_buffer = !tlx.memdesc<[64, 64], f32, transposed>
!dq_buffers = !tlx.memdesc<[2, 64, 64], f32>
!dq_buffer = !tlx.memdesc<[64, 64], f32>
!dv_buffers = !tlx.memdesc<[4, 64, HEAD_DIM], ELEMENT>
!dk_buffers = !tlx.memdesc<[256 floordiv HEAD_DIM, 64, HEAD_DIM], ELEMENT>
!dkv_buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!rows_buffers = !tlx.memdesc<[STAGES, BLOCK_M], f32>
!rows_buffer = !tlx.memdesc<[BLOCK_M], f32>
!one = !tlx.mbarrier<[1]>
!two = !tlx.mbarrier<[2]>
!ring = !tlx.mbarrier<[STAGES]>

!scores = tensor<64x?xf32, #tlx.dims<[64, BLOCK_M], ELEMENT>>
!hidden = tensor<64x?xi1, #tlx.dims<[64, BLOCK_M], ELEMENT>>
!weights = tensor<64x?xbf16, #tlx.dims<[64, BLOCK_M], ELEMENT>>
!rows = tensor<?xf32, #tlx.dims<[BLOCK_M]>>
!row = tensor<1x?xf32, #tlx.dims<[1, BLOCK_M]>>
!gradient = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!decode = (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i32, i1, i1, i32, i1)
    -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)
!find_turn = (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i1, i1, i32)
    -> (i32, i32)
!gradient_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>

// A work item: the sequence, first key row and KV head of a tile, and where they
// lie. Items are four 32-bit integers; the host deals them to the CTAs. The last is the
// number of the tile among those of its head, where that is asked for. The rows of
// LSE and delta are padded: each sequence begins at a multiple of 128. Last come the
// first query of the blocks of queries that see the tile, and how many there are.
func.func private @decode(
    %item: i32, %items: !tlx.ptr<i32>, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %q_length: i32, %k_length: i32, %jagged: i1,
    %broadcast_query: i1, %block_m: i32, %causal: i1)
    -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
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
  %first = scf.if %causal -> i32 {
    %shift = arith.subi %k_len, %q_len : i32
    %sees = arith.subi %row, %shift : i32
    %positive = arith.maxsi %sees, %c0 : i32
    %query_block = arith.divui %positive, %block_m : i32
    %first_of_block = arith.muli %query_block, %block_m : i32
    scf.yield %first_of_block : i32
  } else {
    scf.yield %c0 : i32
  }
  %queries = arith.subi %q_len, %first : i32
  %blocks = arith.ceildivui %queries, %block_m : i32
  return %head, %row, %q_start, %q_len, %o_start, %k_start, %k_len, %padded, %first,
      %blocks : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
}

// The semaphore of step j of a head's, and whose turn a tile's is: the number of tiles
// before it. Two pieces of dQ for each block of queries and head.
func.func private @find_turn(
    %j: i32, %head: i32, %piece: i32, %key: i32, %q_len: i32, %k_len: i32,
    %first_block: i32, %first: i32, %blocks: i32, %heads: i32, %block_m: i32,
    %block_n: i32, %ascends: i1, %has_copies: i1, %given_turn: i32) -> (i32, i32) {
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %j1 = arith.addi %j, %c1 : i32
  %after = arith.subi %blocks, %j1 : i32
  %place = arith.select %ascends, %j, %after : i32
  %distance = arith.muli %place, %block_m : i32
  %row = arith.addi %first, %distance : i32
  %own_block = arith.divui %row, %block_m : i32
  %block = arith.addi %first_block, %own_block : i32
  %first_of_block = arith.muli %block, %heads : i32
  %of_head = arith.addi %first_of_block, %head : i32
  %first_piece = arith.muli %of_head, %c2 : i32
  %semaphore = arith.addi %first_piece, %piece : i32
  %key_block = arith.divui %key, %block_n : i32
  %turn = scf.if %ascends -> (i32) {
    // From the last block of keys that the last of these queries sees.
    %shift = arith.subi %k_len, %q_len : i32
    %end_row = arith.addi %row, %block_m : i32
    %end_seen = arith.addi %end_row, %shift : i32
    %end_key = arith.minsi %end_seen, %k_len : i32
    %last_key = arith.subi %end_key, %c1 : i32
    %last_block = arith.divui %last_key, %block_n : i32
    %before = arith.subi %last_block, %key_block : i32
    scf.yield %before : i32
  } else {
    scf.yield %key_block : i32
  }
  %any_turn = arith.select %has_copies, %given_turn, %turn : i32
  return %semaphore, %any_turn : i32, i32
}

tlx.kernel @attention_bwd(
    %q: !q_tensor, %k: !kv_tensor, %v: !kv_tensor, %do: !q_tensor,
    %dk: !dkv_tensor, %dv: !dkv_tensor, %dq_acc: !dq_tensor,
    %lse_log2: !rows_tensor, %delta: !rows_tensor, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>,
    %turns: !tlx.ptr<i32>, %dq_copies: i32, %heads: i32, %heads_per_group: i32,
    %q_length: i32, %k_length: i32, %scale_log2: f32, %scale: f32) {
  // What is computed.
  tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  // Lengths come from the offsets; otherwise all are q_length and k_length.
  %jagged = tlx.param JAGGED = true : i1
  // All sequences share the q_length rows of q.
  %broadcast_query = tlx.param BROADCAST_QUERY = false : i1
  // Whether the same inputs give the same bits of dQ.
  %deterministic = tlx.param DETERMINISTIC = false : i1

  // How it is computed.
  // Whether it may be launched while the kernel before it ends, as a programmatic
  // dependent; only the work list is read before that has ended.
  %dependent = tlx.param DEPENDENT_LAUNCH = true : i1
  %block_m = tlx.param BLOCK_M = 64 in [64, 128] : i32
  %block_n = tlx.param BLOCK_N = 128 in [128] : i32
  // The next step's S is started before this step's queries are free.
  tlx.param STAGES = 2 from 2 to 4 : i32
  %ds_stages = tlx.param DS_STAGES = 2 from 1 to 2 : i32
  // Whether dS takes P as it was rounded for dV, so that its fp32 values need no
  // registers while dP is in flight.
  %rounded_p = tlx.param ROUNDED_P = true : i1
  // Whether pieces of dQ whose rows all exist go to dq_acc as threads hold their
  // transposes, which takes a quarter of the stores.
  %fragments = tlx.param FRAGMENTS = false : i1
  // Whether a step's gradients are handed back in the middle of the next.
  %late_gradients = tlx.param LATE_GRADIENTS = false : i1
  tlx.param LOAD_REGISTERS = 24 from 24 to 256 step 8 : i32
  tlx.param COMPUTE_REGISTERS = 240 from 24 to 256 step 8 : i32
  // Pieces of dQ are 64 by 64, one for each replica.
  tlx.constraint BLOCK_M + HEAD_DIM eq 192

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c63 = arith.constant 63 : i32
  %no_step = arith.constant -1 : i32
  %c64 = arith.constant 64 : i32
  // Slots of dk_smem for each piece of dQ: 128 / HEAD_DIM.
  %dk_slots = arith.divui %block_m, %c64 : i32
  %true = arith.constant true
  %early_gradients = arith.xori %late_gradients, %true : i1
  %own_queries = arith.xori %broadcast_query, %true : i1
  %keeps_order = arith.andi %deterministic, %own_queries : i1
  %has_copies = arith.andi %deterministic, %broadcast_query : i1
  %ascends = arith.andi %keeps_order, %causal : i1
  %cta = tlx.cta_id : i32
  %next_cta = arith.addi %cta, %c1 : i32
  %first_item = tlx.global_load %item_starts[%cta] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_cta] : !tlx.ptr<i32>, i32 -> i32

  %k_smem = tlx.local_alloc : !k_buffers
  %v_smem = tlx.local_alloc : !kv_buffer
  %q_smem = tlx.local_alloc : !q_buffers
  %do_smem = tlx.local_alloc : !q_buffers
  %ds_smem = tlx.local_alloc : !ds_buffers
  %dq_smem = tlx.local_alloc : !dq_buffers
  %dv_smem = tlx.local_alloc alias(%k_smem) : !dv_buffers, !k_buffers
  %dk_smem = tlx.local_alloc alias(%dq_smem) : !dk_buffers, !dq_buffers
  %lse_smem = tlx.local_alloc : !rows_buffers
  %delta_smem = tlx.local_alloc : !rows_buffers
  %k_full = tlx.alloc_barriers arrivals(1) : !two
  %k_empty = tlx.alloc_barriers arrivals(2) : !two
  %v_full = tlx.alloc_barriers arrivals(1) : !one
  %v_empty = tlx.alloc_barriers arrivals(2) : !one
  %q_full = tlx.alloc_barriers arrivals(1) : !ring
  %q_empty = tlx.alloc_barriers arrivals(2) : !ring
  %do_full = tlx.alloc_barriers arrivals(1) : !ring
  %do_empty = tlx.alloc_barriers arrivals(2) : !ring

  tlx.grid_launch_dependents
  scf.if %dependent {
    tlx.grid_dependency_wait
  }
  tlx.async_tasks {
    // `count` runs over all steps that this CTA takes, `tile` over its tiles.
    tlx.async_task @load warps(1) registers(LOAD_REGISTERS) {
      %end:3 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0, %last_item = %c0) -> (i32, i32, i32) : i32 {
        %at:10 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %has_queries = arith.cmpi sgt, %at#9, %c0 : i32
        %next_count = scf.if %has_queries -> (i32) {
          %first_head = arith.muli %at#0, %heads_per_group : i32
          %end_head = arith.addi %first_head, %heads_per_group : i32
          %loaded = scf.for %head = %first_head to %end_head step %c1
              iter_args(%count_h = %count) -> (i32) : i32 {
            %of_head = scf.for %j = %c0 to %at#9 step %c1
                iter_args(%n = %count_h) -> (i32) : i32 {
              %j1 = arith.addi %j, %c1 : i32
              %after = arith.subi %at#9, %j1 : i32
              %place = arith.select %ascends, %j, %after : i32
              %distance = arith.muli %place, %block_m : i32
              %row = arith.addi %at#8, %distance : i32
              %padded_row = arith.addi %at#7, %row : i32
              %slot, %phase = tlx.ring %n stages(STAGES) : i32
              %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
              %lse_rows = tlx.local_view %lse_smem[%slot] : !rows_buffers -> !rows_buffer
              tlx.barrier_wait %q_empty[%slot], %phase producer : !ring
              tlx.barrier_expect_bytes %q_full[%slot], %q_tile, %lse_rows
                  : !ring, !q_buffer, !rows_buffer
              tlx.async_descriptor_load %q[%row, %head, %c0] segment(%at#2, %at#3),
                  %q_tile signal %q_full[%slot] : !q_tensor, !q_buffer, !ring
              tlx.async_descriptor_load %lse_log2[%head, %padded_row],
                  %lse_rows signal %q_full[%slot] : !rows_tensor, !rows_buffer, !ring
              %is_first = arith.cmpi eq, %n, %count : i32
              scf.if %is_first {
                %k_slot, %k_phase = tlx.ring %tile stages(2) : i32
                %k_tile = tlx.local_view %k_smem[%k_slot] : !k_buffers -> !kv_buffer
                tlx.barrier_wait %k_empty[%k_slot], %k_phase producer : !two
                tlx.barrier_expect_bytes %k_full[%k_slot], %k_tile : !two, !kv_buffer
                tlx.async_descriptor_load %k[%at#1, %at#0, %c0] segment(%at#5, %at#6),
                    %k_tile signal %k_full[%k_slot] : !kv_tensor, !kv_buffer, !two
              }

              %do_tile = tlx.local_view %do_smem[%slot] : !q_buffers -> !q_buffer
              %delta_rows = tlx.local_view %delta_smem[%slot] : !rows_buffers -> !rows_buffer
              tlx.barrier_wait %do_empty[%slot], %phase producer : !ring
              tlx.barrier_expect_bytes %do_full[%slot], %do_tile, %delta_rows
                  : !ring, !q_buffer, !rows_buffer
              tlx.async_descriptor_load %do[%row, %head, %c0] segment(%at#4, %at#3),
                  %do_tile signal %do_full[%slot] : !q_tensor, !q_buffer, !ring
              tlx.async_descriptor_load %delta[%head, %padded_row], %delta_rows
                  signal %do_full[%slot] : !rows_tensor, !rows_buffer, !ring

              scf.if %is_first {
                %v_slot, %v_phase = tlx.ring %tile stages(1) : i32
                tlx.barrier_wait %v_empty, %v_phase producer : !one
                tlx.barrier_expect_bytes %v_full, %v_smem : !one, !kv_buffer
                tlx.async_descriptor_load %v[%at#1, %at#0, %c0] segment(%at#5, %at#6),
                    %v_smem signal %v_full : !kv_tensor, !kv_buffer, !one
              }
              %n1 = arith.addi %n, %c1 : i32
              scf.yield %n1 : i32
            }
            scf.yield %of_head : i32
          }
          scf.yield %loaded : i32
        } else {
          scf.yield %count : i32
        }
        %has_loaded = arith.extui %has_queries : i1 to i32
        %next_tile = arith.addi %tile, %has_loaded : i32
        %last = arith.select %has_queries, %item, %last_item : i32
        scf.yield %next_count, %next_tile, %last : i32, i32, i32
      }
      // The last step, too, finds keys and queries for an S to come: its own.
      %has_tiles = arith.cmpi sgt, %end#1, %c0 : i32
      scf.if %has_tiles {
        %at:10 = func.call @decode(
            %end#2, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %head = arith.muli %at#0, %heads_per_group : i32
        %slot, %phase = tlx.ring %end#0 stages(STAGES) : i32
        %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
        tlx.barrier_wait %q_empty[%slot], %phase producer : !ring
        tlx.barrier_expect_bytes %q_full[%slot], %q_tile : !ring, !q_buffer
        tlx.async_descriptor_load %q[%at#8, %head, %c0] segment(%at#2, %at#3),
            %q_tile signal %q_full[%slot] : !q_tensor, !q_buffer, !ring
        %k_slot, %k_phase = tlx.ring %end#1 stages(2) : i32
        %k_tile = tlx.local_view %k_smem[%k_slot] : !k_buffers -> !kv_buffer
        tlx.barrier_wait %k_empty[%k_slot], %k_phase producer : !two
        tlx.barrier_expect_bytes %k_full[%k_slot], %k_tile : !two, !kv_buffer
        tlx.async_descriptor_load %k[%at#1, %at#0, %c0] segment(%at#5, %at#6),
            %k_tile signal %k_full[%k_slot] : !kv_tensor, !kv_buffer, !two
      }
    }

    tlx.async_task @reduce warps(1) registers(LOAD_REGISTERS) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %first_key = arith.muli %replica, %c64 : i32
      %piece = tlx.local_view %dq_smem[%replica] : !dq_buffers -> !dq_buffer
      %dk_slot = arith.muli %replica, %dk_slots : i32
      %dk_rows = tlx.local_view %dk_smem[%dk_slot] : !dk_buffers -> !dkv_buffer
      %is_there = arith.addi %replica, %c2 : i32
      %is_free = arith.addi %replica, %c4 : i32
      %spare_rows = arith.subi %block_m, %c64 : i32
      %row_in_block = arith.muli %replica, %spare_rows : i32
      %columns = arith.subi %c64, %spare_rows : i32
      %column = arith.muli %replica, %columns : i32
      %blocks_of_copy = arith.ceildivui %q_length, %block_m : i32
      tlx.named_barrier_arrive %is_free threads(160)
      %tiles = scf.for %item = %first_item to %end_item step %c1
          iter_args(%tile = %c0) -> (i32) : i32 {
        %at:10 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %first_head = arith.muli %at#0, %heads_per_group : i32
        %end_head = arith.addi %first_head, %heads_per_group : i32
        // Where the sums that it adds to begin, their semaphores, and its turn.
        %sums, %first_block, %given_turn = scf.if %has_copies -> (i32, i32, i32) {
          %at_item = arith.muli %item, %c4 : i32
          %at_number = arith.addi %at_item, %c3 : i32
          %number = tlx.global_load %items[%at_number] : !tlx.ptr<i32>, i32 -> i32
          %copy = arith.remui %number, %dq_copies : i32
          %number_turn = arith.divui %number, %dq_copies : i32
          %first_sum = arith.muli %copy, %q_length : i32
          %first_of_copy = arith.muli %copy, %blocks_of_copy : i32
          scf.yield %first_sum, %first_of_copy, %number_turn : i32, i32, i32
        } else {
          %first_padded = arith.divui %at#7, %block_m : i32
          scf.yield %at#2, %first_padded, %c0 : i32, i32, i32
        }
        %has_steps = arith.cmpi sgt, %at#9, %c0 : i32
        %waits_first = arith.andi %deterministic, %has_steps : i1
        scf.if %waits_first {
          %semaphore, %turn = func.call @find_turn(
              %c0, %first_head, %replica, %at#1, %at#3, %at#6, %first_block, %at#8, %at#9,
              %heads, %block_m, %block_n, %ascends, %has_copies, %given_turn) : !find_turn
          tlx.semaphore_wait %turns[%semaphore], %turn : !tlx.ptr<i32>, i32
        }
        scf.for %head = %first_head to %end_head step %c1 : i32 {
          scf.for %j = %c0 to %at#9 step %c1 : i32 {
            %j1 = arith.addi %j, %c1 : i32
            %after = arith.subi %at#9, %j1 : i32
            %place = arith.select %ascends, %j, %after : i32
            %distance = arith.muli %place, %block_m : i32
            %block = arith.addi %at#8, %distance : i32
            %row = arith.addi %block, %row_in_block : i32
            tlx.named_barrier_wait %is_there threads(160)
            tlx.fence_async_shared
            scf.if %deterministic {
              tlx.async_descriptor_reduce %dq_acc[%row, %head, %column]
                  segment(%sums, %at#3), %piece {ordered} : !dq_tensor, !dq_buffer
            } else {
              tlx.async_descriptor_reduce %dq_acc[%row, %head, %column]
                  segment(%at#2, %at#3), %piece : !dq_tensor, !dq_buffer
            }
            tlx.async_descriptor_store_wait pending(0)
            tlx.named_barrier_arrive %is_free threads(160)
            scf.if %deterministic {
              // The next turn, which has mostly come, is waited for while this piece is
              // added.
              %ends_head = arith.cmpi eq, %j1, %at#9 : i32
              %head1 = arith.addi %head, %c1 : i32
              %next_head = arith.select %ends_head, %head1, %head : i32
              %next_j = arith.select %ends_head, %c0, %j1 : i32
              %is_more = arith.cmpi slt, %next_head, %end_head : i32
              scf.if %is_more {
                %semaphore, %turn = func.call @find_turn(
                    %next_j, %next_head, %replica, %at#1, %at#3, %at#6, %first_block,
                    %at#8, %at#9, %heads, %block_m, %block_n, %ascends, %has_copies,
                    %given_turn) : !find_turn
                tlx.semaphore_wait %turns[%semaphore], %turn : !tlx.ptr<i32>, i32
              }
              %own, %own_turn = func.call @find_turn(
                  %j, %head, %replica, %at#1, %at#3, %at#6, %first_block, %at#8, %at#9,
                  %heads, %block_m, %block_n, %ascends, %has_copies, %given_turn)
                  : !find_turn
              tlx.async_descriptor_store_wait pending(0) written
              tlx.semaphore_post %turns[%own] : !tlx.ptr<i32>, i32
            }
          }
        }
        %passes_on = arith.andi %has_copies, %causal : i1
        scf.if %passes_on {
          %unseen = arith.divui %at#8, %block_m : i32
          %unseen_blocks = arith.minsi %unseen, %blocks_of_copy : i32
          scf.for %head = %first_head to %end_head step %c1 : i32 {
            scf.for %b = %c0 to %unseen_blocks step %c1 : i32 {
              %block = arith.addi %first_block, %b : i32
              %first_of_block = arith.muli %block, %heads : i32
              %of_head = arith.addi %first_of_block, %head : i32
              %first_piece = arith.muli %of_head, %c2 : i32
              %semaphore = arith.addi %first_piece, %replica : i32
              tlx.semaphore_wait %turns[%semaphore], %given_turn : !tlx.ptr<i32>, i32
              tlx.semaphore_post %turns[%semaphore] : !tlx.ptr<i32>, i32
            }
          }
        }
        // dV has come through the keys that it belongs to, if there are any.
        %out_row = arith.addi %at#1, %first_key : i32
        %has_queries = arith.cmpi sgt, %at#9, %c0 : i32
        %k_slot, %k_phase = tlx.ring %tile stages(2) : i32
        tlx.named_barrier_wait %is_there threads(160)
        tlx.fence_async_shared
        tlx.async_descriptor_store %dk[%out_row, %at#0, %c0] segment(%at#5, %at#6),
            %dk_rows : !dkv_tensor, !dkv_buffer
        %next_tile = scf.if %has_queries -> (i32) {
          %first_slot = arith.muli %k_slot, %c2 : i32
          %dv_slot = arith.addi %first_slot, %replica : i32
          %dv_rows = tlx.local_view %dv_smem[%dv_slot] : !dv_buffers -> !dkv_buffer
          tlx.async_descriptor_store %dv[%out_row, %at#0, %c0] segment(%at#5, %at#6),
              %dv_rows : !dkv_tensor, !dkv_buffer
          tlx.async_descriptor_store_wait pending(0)
          tlx.barrier_arrive %k_empty[%k_slot] : !two
          %tile1 = arith.addi %tile, %c1 : i32
          scf.yield %tile1 : i32
        } else {
          tlx.async_descriptor_store %dv[%out_row, %at#0, %c0] segment(%at#5, %at#6),
              %dk_rows : !dkv_tensor, !dkv_buffer
          tlx.async_descriptor_store_wait pending(0)
          scf.yield %tile : i32
        }
        tlx.named_barrier_arrive %is_free threads(160)
        scf.yield %next_tile : i32
      }
    }

    tlx.async_task @compute warps(4) registers(COMPUTE_REGISTERS) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %first_key = arith.muli %replica, %c64 : i32
      %v_rows = tlx.local_slice %v_smem[%first_key, %c0] : !kv_buffer -> !kv_rows
      // This replica's piece of dQ.
      %spare_rows = arith.subi %block_m, %c64 : i32
      %ds_row = arith.muli %replica, %spare_rows : i32
      %columns = arith.subi %c64, %spare_rows : i32
      %k_column = arith.muli %replica, %columns : i32
      %piece = tlx.local_view %dq_smem[%replica] : !dq_buffers -> !dq_buffer
      %piece_t = tlx.local_trans %piece : !dq_buffer -> !dqt_buffer
      %dk_slot = arith.muli %replica, %dk_slots : i32
      %dk_rows = tlx.local_view %dk_smem[%dk_slot] : !dk_buffers -> !dkv_buffer
      %is_there = arith.addi %replica, %c2 : i32
      %is_free = arith.addi %replica, %c4 : i32
      %has_one_ds = arith.cmpi eq, %ds_stages, %c1 : i32

      %zero = arith.constant 0.0 : f32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %scales = tlx.splat %scale_log2 : f32 -> !scores
      %hidden_score = tlx.splat %minus_infinity : f32 -> !scores
      %no_gradient = tlx.splat %zero : f32 -> !gradient
      %no_scores = tlx.splat %zero : f32 -> !scores
      %key_in_rows = tlx.iota dim 0 : tensor<64xi32>

      // An item is decoded while the one before it ends.
      %first_at:10 = func.call @decode(
          %first_item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
          %broadcast_query, %block_m, %causal) : !decode
      %end:8 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0, %key = %first_at#1, %q_len = %first_at#3,
                    %k_len = %first_at#6, %first_query = %first_at#8,
                    %blocks = %first_at#9, %s_item = %no_scores)
          -> (i32, i32, i32, i32, i32, i32, i32, !scores) : i32 {
        %steps = arith.muli %blocks, %heads_per_group : i32
        %count_end = arith.addi %count, %steps : i32

        // The keys from this replica's first to the end of the sequence. If causal,
        // rows count from the query that is the first to see it.
        %key_0 = arith.addi %key, %first_key : i32
        %left = arith.subi %k_len, %key_0 : i32
        %sees_first = arith.subi %q_len, %left : i32
        %first_row = arith.subi %first_query, %sees_first : i32
        // The last blocks are on the diagonal; past the end all keys are hidden.
        %rows_hidden = arith.subi %c63, %first_row : i32
        %rows_positive = arith.maxsi %rows_hidden, %c0 : i32
        %diagonal_blocks = arith.ceildivui %rows_positive, %block_m : i32
        %before_diagonal = arith.subi %blocks, %diagonal_blocks : i32
        %first_diagonal = arith.select %causal, %before_diagonal, %blocks : i32
        %lacks_keys = arith.cmpi slt, %left, %c64 : i32
        %first_masked = arith.select %lacks_keys, %c0, %first_diagonal : i32
        %end_masked = arith.select %lacks_keys, %blocks, %diagonal_blocks : i32

        // The step whose piece of dQ has rows past the end, if there is one: the last.
        %blocks_1 = arith.subi %blocks, %c1 : i32
        %last_distance = arith.muli %blocks_1, %block_m : i32
        %last_block = arith.addi %first_query, %last_distance : i32
        %last_piece = arith.addi %last_block, %ds_row : i32
        %last_end = arith.addi %last_piece, %c64 : i32
        %is_partial = arith.cmpi sgt, %last_end, %q_len : i32
        %step_of_last = arith.select %ascends, %blocks_1, %c0 : i32
        %partial_step = arith.select %is_partial, %step_of_last, %no_step : i32

        %has_queries = arith.cmpi sgt, %blocks, %c0 : i32
        %k_slot, %k_phase = tlx.ring %tile stages(2) : i32
        %dk_sum, %s_after = scf.if %has_queries -> (!gradient, !scores) {
          %tile1 = arith.addi %tile, %c1 : i32
          %next_k_slot, %next_k_phase = tlx.ring %tile1 stages(2) : i32
          %v_slot, %v_phase = tlx.ring %tile stages(1) : i32
          %k_tile = tlx.local_view %k_smem[%k_slot] : !k_buffers -> !kv_buffer
          %k_columns = tlx.local_slice %k_tile[%c0, %k_column] : !kv_buffer -> !k_columns
          %kt_rows = tlx.local_trans %k_columns : !k_columns -> !kt_rows
          // Only the first tile's keys may not be there yet.
          tlx.barrier_wait %k_full[%k_slot], %k_phase : !two
          %is_first = arith.cmpi eq, %tile, %c0 : i32
          %s0 = scf.if %is_first -> (!scores) {
            %k_rows = tlx.local_slice %k_tile[%first_key, %c0] : !kv_buffer -> !kv_rows
            %q0 = tlx.local_view %q_smem[%c0] : !q_buffers -> !q_buffer
            %q0_t = tlx.local_trans %q0 : !q_buffer -> !qt_buffer
            tlx.barrier_wait %q_full[%c0], %c0 : !ring
            %s0_pending = tlx.async_dot %k_rows, %q0_t : !kv_rows, !qt_buffer -> !scores
            %s0_done = tlx.async_dot_wait %s0_pending pending(0) : !scores
            scf.yield %s0_done : !scores
          } else {
            scf.yield %s_item : !scores
          }
          tlx.barrier_wait %v_full, %v_phase : !one

          %of_group:4 = scf.for %g = %c0 to %heads_per_group step %c1
              iter_args(%n_g = %count, %dk_g = %no_gradient, %dv_g = %no_gradient,
                        %s_g = %s0) -> (i32, !gradient, !gradient, !scores) : i32 {
            %of_head:4 = scf.for %j = %c0 to %blocks step %c1
                iter_args(%n = %n_g, %dk_in = %dk_g, %dv_in = %dv_g, %s_in = %s_g)
                -> (i32, !gradient, !gradient, !scores) : i32 {
              %slot, %phase = tlx.ring %n stages(STAGES) : i32
              %ds_slot, %ds_phase = tlx.ring %n stages(DS_STAGES) : i32
              %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
              %do_tile = tlx.local_view %do_smem[%slot] : !q_buffers -> !q_buffer
              %do_t = tlx.local_trans %do_tile : !q_buffer -> !qt_buffer
              %lse_rows = tlx.local_view %lse_smem[%slot] : !rows_buffers -> !rows_buffer
              %delta_rows = tlx.local_view %delta_smem[%slot] : !rows_buffers -> !rows_buffer
              %ds_all = tlx.local_view %ds_smem[%ds_slot] : !ds_buffers -> !ds_buffer
              %ds_columns = tlx.local_slice %ds_all[%c0, %first_key] : !ds_buffer -> !ds_columns
              %dst_rows = tlx.local_trans %ds_columns : !ds_columns -> !dst_rows
              %ds_rows = tlx.local_slice %ds_all[%ds_row, %c0] : !ds_buffer -> !ds_rows
              %dst_columns = tlx.local_trans %ds_rows : !ds_rows -> !dst_columns

              tlx.barrier_wait %do_full[%slot], %phase : !ring
              %dp_pending = tlx.async_dot %v_rows, %do_t : !kv_rows, !qt_buffer -> !scores

              // A key is hidden from the queries before its limit: if causal, those that
              // do not see it; past the end, all.
              %hides_tail = tlx.in_masked_tail %j from %first_masked : i32
              %shows_tail = tlx.in_masked_tail %j from %end_masked : i32
              %hides_head = arith.xori %shows_tail, %true : i1
              %hides = arith.select %ascends, %hides_head, %hides_tail : i1
              %s = scf.if %hides -> (!scores) {
                %j1 = arith.addi %j, %c1 : i32
                %after = arith.subi %blocks, %j1 : i32
                %place = arith.select %ascends, %j, %after : i32
                %distance = arith.muli %place, %block_m : i32
                %row = arith.addi %first_row, %distance : i32
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
              %n1 = arith.addi %n, %c1 : i32
              %is_last = arith.cmpi eq, %n1, %count_end : i32
              %dp_centred = arith.subf %dp, %delta_b : !scores
              %p_ds = scf.if %rounded_p -> !scores {
                %p_32 = arith.extf %p_16 : !weights to !scores
                scf.yield %p_32 : !scores
              } else {
                scf.yield %p : !scores
              }
              %ds = arith.mulf %p_ds, %dp_centred : !scores
              %ds_16 = arith.truncf %ds : !scores to !weights
              // With one buffer, the other replica's last dQ reads it until here.
              scf.if %has_one_ds {
                tlx.named_barrier_wait %c1 threads(256)
              }
              tlx.local_store %ds_16, %dst_rows : !weights, !dst_rows
              %dk_pending = tlx.async_dot %ds_16, %q_tile, %dk_in
                  : !weights, !q_buffer -> !gradient

              tlx.named_barrier_wait %c1 threads(256)
              %has_before = arith.cmpi sgt, %n, %c0 : i32
              %frees_before = arith.andi %late_gradients, %has_before : i1
              scf.if %frees_before {
                %n_before = arith.subi %n, %c1 : i32
                %slot_before, %phase_before = tlx.ring %n_before stages(STAGES) : i32
                tlx.barrier_arrive %do_empty[%slot_before] : !ring
              }
              %dq_pending = tlx.async_dot %kt_rows, %dst_columns
                  : !kt_rows, !dst_columns -> tensor<64x64xf32>
              %dv_out = tlx.async_dot_wait %dv_pending pending(2) : !gradient
              scf.if %early_gradients {
                tlx.barrier_arrive %do_empty[%slot] : !ring
              }

              // The next step's keys are those of the next tile after this tile's last.
              %s_slot = arith.select %is_last, %next_k_slot, %k_slot : i32
              scf.if %is_last {
                tlx.barrier_arrive %v_empty : !one
                tlx.barrier_wait %k_full[%next_k_slot], %next_k_phase : !two
              }
              %k_next = tlx.local_view %k_smem[%s_slot] : !k_buffers -> !kv_buffer
              %k_rows = tlx.local_slice %k_next[%first_key, %c0] : !kv_buffer -> !kv_rows
              %next_slot, %next_phase = tlx.ring %n1 stages(STAGES) : i32
              %q_next = tlx.local_view %q_smem[%next_slot] : !q_buffers -> !q_buffer
              %q_next_t = tlx.local_trans %q_next : !q_buffer -> !qt_buffer
              tlx.barrier_wait %q_full[%next_slot], %next_phase : !ring
              %s_pending = tlx.async_dot %k_rows, %q_next_t : !kv_rows, !qt_buffer -> !scores
              %dk_out = tlx.async_dot_wait %dk_pending pending(2) : !gradient
              tlx.barrier_arrive %q_empty[%slot] : !ring
              %dq = tlx.async_dot_wait %dq_pending pending(1) : tensor<64x64xf32>
              tlx.named_barrier_wait %is_free threads(160)
              %is_whole = arith.cmpi ne, %j, %partial_step : i32
              %by_fragments = arith.andi %fragments, %is_whole : i1
              scf.if %by_fragments {
                tlx.local_store %dq, %piece fragments unfenced
                    : tensor<64x64xf32>, !dq_buffer
              } else {
                tlx.local_store %dq, %piece_t unfenced : tensor<64x64xf32>, !dqt_buffer
              }
              tlx.named_barrier_arrive %is_there threads(160)

              %s_next = tlx.async_dot_wait %s_pending pending(0) : !scores
              scf.yield %n1, %dk_out, %dv_out, %s_next : i32, !gradient, !gradient, !scores
            }
            scf.yield %of_head#0, %of_head#1, %of_head#2, %of_head#3
                : i32, !gradient, !gradient, !scores
          }
          // dV leaves through the keys, once neither replica reads them.
          tlx.named_barrier_wait %c1 threads(256)
          %first_slot = arith.muli %k_slot, %c2 : i32
          %dv_slot = arith.addi %first_slot, %replica : i32
          %dv_rows = tlx.local_view %dv_smem[%dv_slot] : !dv_buffers -> !dkv_buffer
          %dv_16 = arith.truncf %of_group#2 : !gradient to !gradient_16
          tlx.local_store %dv_16, %dv_rows unfenced : !gradient_16, !dkv_buffer
          scf.yield %of_group#1, %of_group#3 : !gradient, !scores
        } else {
          scf.yield %no_gradient, %s_item : !gradient, !scores
        }
        %has_loaded = arith.extui %has_queries : i1 to i32
        %next_tile = arith.addi %tile, %has_loaded : i32

        %next_item = arith.addi %item, %c1 : i32
        %next:10 = func.call @decode(
            %next_item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %dk_scale = tlx.splat %scale : f32 -> !gradient
        %dk_scaled = arith.mulf %dk_sum, %dk_scale : !gradient
        %dk_16 = arith.truncf %dk_scaled : !gradient to !gradient_16
        tlx.named_barrier_wait %is_free threads(160)
        tlx.local_store %dk_16, %dk_rows unfenced : !gradient_16, !dkv_buffer
        tlx.named_barrier_arrive %is_there threads(160)
        scf.yield %count_end, %next_tile, %next#1, %next#3, %next#6, %next#8, %next#9,
            %s_after : i32, i32, i32, i32, i32, i32, i32, !scores
      }
    }
  }
}
