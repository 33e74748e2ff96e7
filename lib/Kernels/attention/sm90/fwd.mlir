// Attention forward for Hopper: jagged, dense or with a broadcast query.
//
// Computes, for every sequence b and query head h (docs/Attention.md),
//     S = scale Q K^T      P = softmax(S) over the keys a row sees
//     O = P V              lse = ln sum exp(S)
//
// A persistent CTA takes tile_counts[cta] query tiles of BLOCK_M rows, in the order
// that the host has balanced: those of the work list from item_starts[cta] on.
// The sequence of a tile bounds every copy (ragged tensor maps), so rows past its
// end are zero on the way in and dropped on the way out. With CLUSTER the CTAs of a
// cluster take an item together, each its tile of it; of each block of keys and
// values each copies as many columns, to all of them.
//
//   role      warps             does
//   @load     1                 starts every copy: K[0], Q, then K[j], V[j-1], …, V[n-1]
//   @softmax  4 x BLOCK_M / 64  each replica owns 64 query rows: S, P and O in registers
//
// One step j of @softmax, so that the tensor cores always have work queued: start
// S[j] = Q K[j]^T, rescale O, start O += P[j-1] V[j-1]; wait for S[j]; softmax
// while O is in flight; wait for O. With PINGPONG the replicas take turns in
// starting products, so that one's softmax runs under the other's products. Blocks
// that none of its rows see a replica only lets pass. Two tiles of queries let the
// next tile begin while the last one ends.
//
//   barrier   count         arrives             waits      phase completes when
//   q_full    1 per stage   @load (bytes of Q)  @softmax   a tile's queries are there
//   q_empty   BLOCK_M / 64  @softmax            @load      the tile's last S is done, or Q in registers
//   k_full    1 per stage   @load (bytes of K)  @softmax   a block of keys is there
//   k_empty   BLOCK_M / 64  @softmax, all CTAs  @load      its S is done
//   v_full    1 per stage   @load (bytes of V)  @softmax   a block of values is there
//   v_empty   BLOCK_M / 64  @softmax, all CTAs  @load      its O is done
//   named 1.. 256 threads   the replica before  a replica  it is its turn
//
//   shared memory, D 128, 128 x 128, 2 stages of all: Q 64 K, K 64 K, V 64 K, O 32 K
//   registers at 2 replicas: S 64, O 64, P 32, Q 32 of 240
//
// Blocks of keys are taken in ascending order: a row that sees any key sees the
// first, so its maximum is finite after block 0 and no step needs a guard against
// -inf - -inf. Rows that see no key compute NaN and are replaced at the end; tiles
// of such rows only are not computed (no copy may begin past its segment's end).

!q_tensor = !tlx.tensormap<[BLOCK_M, 1, HEAD_DIM], ELEMENT, ragged>
!o_tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!kv_tensor = !tlx.tensormap<[BLOCK_N, 1, HEAD_DIM floordiv CLUSTER], ELEMENT, ragged>
!q_buffers = !tlx.memdesc<[Q_STAGES, BLOCK_M, HEAD_DIM], ELEMENT>
!q_buffer = !tlx.memdesc<[BLOCK_M, HEAD_DIM], ELEMENT>
!q_rows = !tlx.memdesc<[64, HEAD_DIM], ELEMENT, of = [BLOCK_M, HEAD_DIM]>
!o_buffers = !tlx.memdesc<[BLOCK_M floordiv 64, 64, HEAD_DIM], ELEMENT>
!o_buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!kv_parts = !tlx.memdesc<[STAGES * CLUSTER, BLOCK_N, HEAD_DIM floordiv CLUSTER], ELEMENT>
!kv_part = !tlx.memdesc<[BLOCK_N, HEAD_DIM floordiv CLUSTER], ELEMENT>
!kv_buffers = !tlx.memdesc<[STAGES, BLOCK_N, HEAD_DIM], ELEMENT>
!kv_buffer = !tlx.memdesc<[BLOCK_N, HEAD_DIM], ELEMENT>
!kt_buffer = !tlx.memdesc<[HEAD_DIM, BLOCK_N], ELEMENT, transposed>
!ring = !tlx.mbarrier<[STAGES]>
!q_ring = !tlx.mbarrier<[Q_STAGES]>

!scores = tensor<64x?xf32, #tlx.dims<[64, BLOCK_N], ELEMENT>>
!pending_scores = !tlx.pending<!scores>
!seen = tensor<64x?xi1, #tlx.dims<[64, BLOCK_N], ELEMENT>>
!row_seen = tensor<64x?xi1, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!queries = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!weights = tensor<64x?xbf16, #tlx.dims<[64, BLOCK_N], ELEMENT>>
!output = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!output_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>

// A tile: the sequence and first query row of a work item and its head number
// `nth`, where they lie, and the item and number of the next tile. Items are four
// 32-bit integers, of which the last counts the heads; the host deals them to the
// CTAs.
func.func private @decode(
    %item: i32, %nth: i32, %items: !tlx.ptr<i32>, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %q_length: i32, %k_length: i32, %jagged: i1,
    %broadcast_query: i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %at = arith.muli %item, %c4 : i32
  %at1 = arith.addi %at, %c1 : i32
  %at2 = arith.addi %at, %c2 : i32
  %at3 = arith.addi %at, %c3 : i32
  %sequence = tlx.global_load %items[%at] : !tlx.ptr<i32>, i32 -> i32
  %row = tlx.global_load %items[%at1] : !tlx.ptr<i32>, i32 -> i32
  %first_head = tlx.global_load %items[%at2] : !tlx.ptr<i32>, i32 -> i32
  %heads = tlx.global_load %items[%at3] : !tlx.ptr<i32>, i32 -> i32
  %head = arith.addi %first_head, %nth : i32
  %nth_1 = arith.addi %nth, %c1 : i32
  %more = arith.cmpi slt, %nth_1, %heads : i32
  %item_1 = arith.addi %item, %c1 : i32
  %next_item = arith.select %more, %item, %item_1 : i32
  %next_nth = arith.select %more, %nth_1, %c0 : i32
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
  return %head, %row, %q_start, %q_len, %o_start, %k_start, %k_len, %next_item, %next_nth
      : i32, i32, i32, i32, i32, i32, i32, i32, i32
}

// How many blocks of keys the query rows before `row_end` see.
func.func private @count_blocks(%row_end: i32, %q_len: i32, %k_len: i32,
                                %block_n: i32, %causal: i1) -> i32 {
  %c0 = arith.constant 0 : i32
  %end = scf.if %causal -> i32 {
    %shift = arith.subi %k_len, %q_len : i32
    %seen = arith.addi %row_end, %shift : i32
    %least = arith.minsi %seen, %k_len : i32
    scf.yield %least : i32
  } else {
    scf.yield %k_len : i32
  }
  %seen_any = arith.maxsi %end, %c0 : i32
  %blocks = arith.ceildivui %seen_any, %block_n : i32
  return %blocks : i32
}

tlx.kernel @attention_fwd(
    %q: !q_tensor, %k: !kv_tensor, %v: !kv_tensor, %o: !o_tensor,
    %lse: !tlx.ptr<f32>, %q_offsets: !tlx.ptr<i32>, %k_offsets: !tlx.ptr<i32>,
    %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>, %tile_counts: !tlx.ptr<i32>,
    %heads_per_group: i32, %q_length: i32, %k_length: i32, %lse_stride: i64,
    %scale_log2: f32) cluster(CLUSTER) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  // Lengths come from the offsets; otherwise all are q_length and k_length.
  %jagged = tlx.param JAGGED = true : i1
  // All sequences share the q_length rows of q.
  %broadcast_query = tlx.param BROADCAST_QUERY = false : i1

  // Plans take the kernel only for batches whose sequences have so many queries
  // and keys each; 0 stands for no limit.
  tlx.param MIN_QUERIES = 0 from 0 to 1073741824 : i32
  tlx.param MAX_QUERIES = 0 from 0 to 1073741824 : i32
  tlx.param MAX_KEYS = 0 from 0 to 1073741824 : i32

  // How it is computed.
  %block_m = tlx.param BLOCK_M = 128 in [64, 128, 192] : i32
  %block_n = tlx.param BLOCK_N = 128 from 16 to 256 step 16 : i32
  tlx.param STAGES = 2 from 1 to 8 : i32
  tlx.param Q_STAGES = 2 from 1 to 4 : i32
  %pingpong = tlx.param PINGPONG = true : i1
  // Turns take two.
  tlx.constraint 64 * PINGPONG lt BLOCK_M
  // CTAs that share keys and values; each copies whole panels of 64 columns.
  %ctas = tlx.param CLUSTER = 1 in [1, 2] : i32
  tlx.constraint CLUSTER le HEAD_DIM floordiv 64
  // Products take queries from registers, where there are that many, rather than from
  // shared memory: it takes less power, and their slot is free at once.
  %q_in_registers = tlx.param Q_IN_REGISTERS = false : i1
  tlx.param LOAD_REGISTERS = 24 from 24 to 256 step 8 : i32
  tlx.param SOFTMAX_REGISTERS = 240 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %cta = tlx.cta_id : i32
  %rank = tlx.cluster_rank : i32
  %cluster = arith.divui %cta, %ctas : i32
  %first_item = tlx.global_load %item_starts[%cluster] : !tlx.ptr<i32>, i32 -> i32
  %tiles = tlx.global_load %tile_counts[%cluster] : !tlx.ptr<i32>, i32 -> i32
  // Rows of an item, and where those of this CTA begin.
  %item_rows = arith.muli %ctas, %block_m : i32
  %cta_row = arith.muli %rank, %block_m : i32
  %beyond_all = arith.shli %c1, %ctas : i32
  %all = arith.subi %beyond_all, %c1 : i32

  %true = arith.constant true
  %q_in_shared = arith.xori %q_in_registers, %true : i1

  %q_smem = tlx.local_alloc : !q_buffers
  %k_parts = tlx.local_alloc : !kv_parts
  %k_smem = tlx.local_reinterpret %k_parts : !kv_parts -> !kv_buffers
  %v_parts = tlx.local_alloc : !kv_parts
  %v_smem = tlx.local_reinterpret %v_parts : !kv_parts -> !kv_buffers
  %o_smem = tlx.local_alloc : !o_buffers
  %q_full = tlx.alloc_barriers arrivals(1) : !q_ring
  %q_empty = tlx.alloc_barriers arrivals(BLOCK_M floordiv 64) : !q_ring
  %k_full = tlx.alloc_barriers arrivals(1) : !ring
  %k_empty = tlx.alloc_barriers arrivals(CLUSTER * (BLOCK_M floordiv 64)) : !ring
  %v_full = tlx.alloc_barriers arrivals(1) : !ring
  %v_empty = tlx.alloc_barriers arrivals(CLUSTER * (BLOCK_M floordiv 64)) : !ring

  %has_peers = arith.cmpi ugt, %ctas, %c1 : i32
  scf.if %has_peers {
    tlx.cluster_arrive
    tlx.cluster_wait
  }

  tlx.async_tasks {
    // `count` runs over all blocks that this CTA loads, `tile` over its tiles.
    tlx.async_task @load warps(1) registers(LOAD_REGISTERS) {
      %columns = arith.divui %head_dim, %ctas : i32
      %column = arith.muli %rank, %columns : i32
      // Items are read one ahead, while the last products run, so that nobody
      // waits for them and no register holds them in the loop over keys.
      %first:9 = func.call @decode(
          %first_item, %c0, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
          %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
          i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)
      %end:11 = scf.for %i = %c0 to %tiles step %c1
          iter_args(%count = %c0, %tile = %c0, %head = %first#0, %row = %first#1, %q_start = %first#2,
                    %q_len = %first#3, %o_start = %first#4, %k_start = %first#5, %k_len = %first#6,
                    %item = %first#7, %nth = %first#8)
          -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) : i32 {
        %row_end = arith.addi %row, %item_rows : i32
        %blocks = func.call @count_blocks(%row_end, %q_len, %k_len, %block_n,
            %causal) : (i32, i32, i32, i32, i1) -> i32
        %kv_head = arith.divui %head, %heads_per_group : i32
        // A CTA without rows takes those of the first, whose results it drops.
        %own_row = arith.addi %row, %cta_row : i32
        %has_rows = arith.cmpi slt, %own_row, %q_len : i32
        %q_row = arith.select %has_rows, %own_row, %row : i32

        %has_keys = arith.cmpi sgt, %blocks, %c0 : i32
        %next:11 = scf.if %has_keys
            -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32) {
          %slot0, %phase0 = tlx.ring %count stages(STAGES) : i32
          %k0 = tlx.local_view %k_smem[%slot0] : !kv_buffers -> !kv_buffer
          tlx.barrier_wait %k_empty[%slot0], %phase0 producer : !ring
          tlx.barrier_expect_bytes %k_full[%slot0], %k0 : !ring, !kv_buffer
          %slot0_begin = arith.muli %slot0, %ctas : i32
          %part0 = arith.addi %slot0_begin, %rank : i32
          %k0_part = tlx.local_view %k_parts[%part0] : !kv_parts -> !kv_part
          tlx.async_descriptor_load %k[%c0, %kv_head, %column] segment(%k_start, %k_len),
              %k0_part signal %k_full[%slot0] multicast(%all) : !kv_tensor, !kv_part, !ring

          %q_slot, %q_phase = tlx.ring %tile stages(Q_STAGES) : i32
          %q_tile = tlx.local_view %q_smem[%q_slot] : !q_buffers -> !q_buffer
          tlx.barrier_wait %q_empty[%q_slot], %q_phase producer : !q_ring
          tlx.barrier_expect_bytes %q_full[%q_slot], %q_tile : !q_ring, !q_buffer
          tlx.async_descriptor_load %q[%q_row, %head, %c0] segment(%q_start, %q_len),
              %q_tile signal %q_full[%q_slot] : !q_tensor, !q_buffer, !q_ring

          // Values follow one block behind the keys, in the order of their use.
          %last = scf.for %j = %c1 to %blocks step %c1
              iter_args(%n = %count) -> (i32) : i32 {
            %n1 = arith.addi %n, %c1 : i32
            %slot, %phase = tlx.ring %n1 stages(STAGES) : i32
            %k_row = arith.muli %j, %block_n : i32
            %k_tile = tlx.local_view %k_smem[%slot] : !kv_buffers -> !kv_buffer
            tlx.barrier_wait %k_empty[%slot], %phase producer : !ring
            tlx.barrier_expect_bytes %k_full[%slot], %k_tile : !ring, !kv_buffer
            %slot_begin = arith.muli %slot, %ctas : i32
            %part = arith.addi %slot_begin, %rank : i32
            %k_part = tlx.local_view %k_parts[%part] : !kv_parts -> !kv_part
            tlx.async_descriptor_load %k[%k_row, %kv_head, %column]
                segment(%k_start, %k_len), %k_part signal %k_full[%slot]
                multicast(%all) : !kv_tensor, !kv_part, !ring

            %v_slot, %v_phase = tlx.ring %n stages(STAGES) : i32
            %v_row = arith.subi %k_row, %block_n : i32
            %v_tile = tlx.local_view %v_smem[%v_slot] : !kv_buffers -> !kv_buffer
            tlx.barrier_wait %v_empty[%v_slot], %v_phase producer : !ring
            tlx.barrier_expect_bytes %v_full[%v_slot], %v_tile : !ring, !kv_buffer
            %v_slot_begin = arith.muli %v_slot, %ctas : i32
            %v_number = arith.addi %v_slot_begin, %rank : i32
            %v_part = tlx.local_view %v_parts[%v_number] : !kv_parts -> !kv_part
            tlx.async_descriptor_load %v[%v_row, %kv_head, %column]
                segment(%k_start, %k_len), %v_part signal %v_full[%v_slot]
                multicast(%all) : !kv_tensor, !kv_part, !ring
            scf.yield %n1 : i32
          }
          %ahead:9 = func.call @decode(
              %item, %nth, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)
          %v_slot, %v_phase = tlx.ring %last stages(STAGES) : i32
          %blocks_1 = arith.subi %blocks, %c1 : i32
          %v_row = arith.muli %blocks_1, %block_n : i32
          %v_tile = tlx.local_view %v_smem[%v_slot] : !kv_buffers -> !kv_buffer
          tlx.barrier_wait %v_empty[%v_slot], %v_phase producer : !ring
          tlx.barrier_expect_bytes %v_full[%v_slot], %v_tile : !ring, !kv_buffer
          %v_slot_begin = arith.muli %v_slot, %ctas : i32
          %v_number = arith.addi %v_slot_begin, %rank : i32
          %v_part = tlx.local_view %v_parts[%v_number] : !kv_parts -> !kv_part
          tlx.async_descriptor_load %v[%v_row, %kv_head, %column]
              segment(%k_start, %k_len), %v_part signal %v_full[%v_slot]
              multicast(%all) : !kv_tensor, !kv_part, !ring

          %next_count = arith.addi %last, %c1 : i32
          %next_tile = arith.addi %tile, %c1 : i32
          scf.yield %next_count, %next_tile, %ahead#0, %ahead#1, %ahead#2, %ahead#3,
              %ahead#4, %ahead#5, %ahead#6, %ahead#7, %ahead#8
              : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        } else {
          %ahead:9 = func.call @decode(
              %item, %nth, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)
          scf.yield %count, %tile, %ahead#0, %ahead#1, %ahead#2, %ahead#3, %ahead#4,
              %ahead#5, %ahead#6, %ahead#7, %ahead#8
              : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
        }
        scf.yield %next#0, %next#1, %next#2, %next#3, %next#4, %next#5, %next#6,
            %next#7, %next#8, %next#9, %next#10
            : i32, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @softmax warps(4) registers(SOFTMAX_REGISTERS)
        replicate(BLOCK_M floordiv 64) {
      %false = arith.constant false
      %replica = tlx.async_task_replica_id : i32
      %first_row = arith.muli %replica, %c64 : i32
      %item_row = arith.addi %cta_row, %first_row : i32
      %o_tile = tlx.local_view %o_smem[%replica] : !o_buffers -> !o_buffer
      %zero = arith.constant 0.0 : f32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %one = arith.constant 1.0 : f32
      %ln2 = arith.constant 0.693147182 : f32
      %scale_row = tlx.splat %scale_log2 : f32 -> tensor<64xf32>
      %scale = tlx.splat %scale_log2 : f32 -> !scores
      %masked_score = tlx.splat %minus_infinity : f32 -> !scores
      %no_output = tlx.splat %zero : f32 -> !output
      %no_lse = tlx.splat %minus_infinity : f32 -> tensor<64xf32>
      %row_in_tile = tlx.iota dim 0 : tensor<64xi32>

      // Turns are named barriers 1 to the number of replicas; whoever is last
      // gives the first replica its first turn.
      %groups = arith.divui %block_m, %c64 : i32
      %my_turn = arith.addi %replica, %c1 : i32
      %is_last = arith.cmpi eq, %my_turn, %groups : i32
      %after = arith.addi %my_turn, %c1 : i32
      %next_turn = arith.select %is_last, %c1, %after : i32
      %has_others = arith.cmpi ugt, %groups, %c1 : i32
      %has_no_turns = arith.select %pingpong, %false, %has_others : i1
      %may_run_ahead = arith.ori %has_peers, %has_no_turns : i1
      scf.if %pingpong {
        scf.if %is_last {
          tlx.named_barrier_arrive %c1 threads(256)
        }
      }

      // Items are read one ahead, while the last products run, so that nobody
      // waits for them. What a tile needs only after the loop over keys is read
      // again there rather than kept in registers.
      %first:9 = func.call @decode(
          %first_item, %c0, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
          %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
          i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)
      %end:7 = scf.for %i = %c0 to %tiles step %c1
          iter_args(%count = %c0, %tile = %c0, %tile_row = %first#1,
                    %q_len_0 = %first#3, %k_len = %first#6, %item = %first_item, %nth = %c0)
          -> (i32, i32, i32, i32, i32, i32, i32) : i32 {
        %row_end = arith.addi %tile_row, %item_rows : i32
        %blocks = func.call @count_blocks(%row_end, %q_len_0, %k_len, %block_n,
            %causal) : (i32, i32, i32, i32, i1) -> i32
        %row_0 = arith.addi %tile_row, %item_row : i32
        // The blocks that this replica's rows see; at least the first.
        %row_0_end = arith.addi %row_0, %c64 : i32
        %seen_blocks = func.call @count_blocks(%row_0_end, %q_len_0, %k_len, %block_n,
            %causal) : (i32, i32, i32, i32, i1) -> i32
        %has_rows = arith.cmpi slt, %row_0, %q_len_0 : i32
        %seen_by_rows = arith.select %has_rows, %seen_blocks, %c1 : i32
        %own_blocks = arith.maxsi %seen_by_rows, %c1 : i32

        // A row sees the keys before its limit. The first block in which some
        // row of this replica does not see all keys is the first masked one.
        %shift = arith.subi %k_len, %q_len_0 : i32
        %limit = scf.if %causal -> (tensor<64xi32>) {
          %shift_1 = arith.addi %shift, %c1 : i32
          %first_beyond = arith.addi %shift_1, %row_0 : i32
          %beyond = tlx.splat %first_beyond : i32 -> tensor<64xi32>
          %diagonal = arith.addi %row_in_tile, %beyond : tensor<64xi32>
          %length = tlx.splat %k_len : i32 -> tensor<64xi32>
          %least = arith.minsi %diagonal, %length : tensor<64xi32>
          scf.yield %least : tensor<64xi32>
        } else {
          %length = tlx.splat %k_len : i32 -> tensor<64xi32>
          scf.yield %length : tensor<64xi32>
        }
        %first_limit = scf.if %causal -> (i32) {
          %shift_1 = arith.addi %shift, %c1 : i32
          %diagonal = arith.addi %row_0, %shift_1 : i32
          %least = arith.minsi %diagonal, %k_len : i32
          %positive = arith.maxsi %least, %c0 : i32
          scf.yield %positive : i32
        } else {
          scf.yield %k_len : i32
        }
        %first_masked = arith.divui %first_limit, %block_n : i32

        %none = tlx.splat %c0 : i32 -> tensor<64xi32>
        %sees_key = arith.cmpi sgt, %limit, %none : tensor<64xi32>
        %has_keys = arith.cmpi sgt, %blocks, %c0 : i32
        %o_16, %lse_rows, %next:11 = scf.if %has_keys
            -> (!output_16, tensor<64xf32>, i32, i32, i32, i32, i32, i32, i32, i32, i32, i32,
                i32) {
          // Block 0.
          %q_slot, %q_phase = tlx.ring %tile stages(Q_STAGES) : i32
          %q_all = tlx.local_view %q_smem[%q_slot] : !q_buffers -> !q_buffer
          %q_tile = tlx.local_slice %q_all[%first_row, %c0] : !q_buffer -> !q_rows
          tlx.barrier_wait %q_full[%q_slot], %q_phase : !q_ring
          %queries = tlx.local_load %q_tile : !q_rows -> !queries
          scf.if %q_in_registers {
            tlx.barrier_arrive %q_empty[%q_slot] : !q_ring
          }
          %slot0, %phase0 = tlx.ring %count stages(STAGES) : i32
          %k0 = tlx.local_view %k_smem[%slot0] : !kv_buffers -> !kv_buffer
          %k0_t = tlx.local_trans %k0 : !kv_buffer -> !kt_buffer
          scf.if %pingpong {
            tlx.named_barrier_wait %my_turn threads(256)
          }
          tlx.barrier_wait %k_full[%slot0], %phase0 : !ring
          %s0_pending = scf.if %q_in_registers -> (!pending_scores) {
            %pending = tlx.async_dot %queries, %k0_t : !queries, !kt_buffer -> !scores
            scf.yield %pending : !pending_scores
          } else {
            %pending = tlx.async_dot %q_tile, %k0_t : !q_rows, !kt_buffer -> !scores
            scf.yield %pending : !pending_scores
          }
          scf.if %pingpong {
            tlx.named_barrier_arrive %next_turn threads(256)
          }
          %s0_all = tlx.async_dot_wait %s0_pending pending(0) : !scores
          tlx.remote_barrier_arrive %k_empty[%slot0] mask(%all) : !ring
          %mask0 = arith.cmpi sge, %c0, %first_masked : i32
          %s0 = scf.if %mask0 -> (!scores) {
            %seen = tlx.prefix_mask %limit dim 1 : tensor<64xi32> -> !seen
            %masked = arith.select %seen, %s0_all, %masked_score
                : !seen, !scores
            scf.yield %masked : !scores
          } else {
            scf.yield %s0_all : !scores
          }
          %m0 = tlx.reduce max %s0 dim 1 : !scores -> tensor<64xf32>
          %m0_scaled = arith.mulf %m0, %scale_row : tensor<64xf32>
          %m0_c = tlx.expand_dims %m0_scaled dim 1 : tensor<64xf32> -> tensor<64x1xf32>
          %m0_b = tlx.broadcast %m0_c : tensor<64x1xf32> -> !scores
          %s0_scaled = arith.mulf %s0, %scale fastmath<contract> : !scores
          %e0 = arith.subf %s0_scaled, %m0_b fastmath<contract> : !scores
          %p0 = math.exp2 %e0 fastmath<afn> : !scores
          // Each thread sums its own part of a row; the parts meet at the end.
          %l0 = tlx.partial_reduce add %p0 dim 1 groups(4) run(2)
              : !scores -> tensor<64x4xf32>
          %p0_16 = arith.truncf %p0 : !scores to !weights
          %alpha0 = tlx.splat %one : f32 -> tensor<64xf32>

          %last, %m, %l, %alpha, %p, %acc = scf.for %j = %c1 to %own_blocks step %c1
              iter_args(%n = %count, %m_in = %m0, %l_in = %l0, %alpha_in = %alpha0,
                        %p_in = %p0_16, %o_in = %no_output)
              -> (i32, tensor<64xf32>, tensor<64x4xf32>, tensor<64xf32>, !weights,
                  !output) : i32 {
            %n1 = arith.addi %n, %c1 : i32
            %slot, %phase = tlx.ring %n1 stages(STAGES) : i32
            %v_slot, %v_phase = tlx.ring %n stages(STAGES) : i32
            %k_tile = tlx.local_view %k_smem[%slot] : !kv_buffers -> !kv_buffer
            %k_t = tlx.local_trans %k_tile : !kv_buffer -> !kt_buffer
            %v_tile = tlx.local_view %v_smem[%v_slot] : !kv_buffers -> !kv_buffer

            scf.if %pingpong {
              tlx.named_barrier_wait %my_turn threads(256)
            }
            tlx.barrier_wait %k_full[%slot], %phase : !ring
            %s_pending = scf.if %q_in_registers -> (!pending_scores) {
              %pending = tlx.async_dot %queries, %k_t : !queries, !kt_buffer -> !scores
              scf.yield %pending : !pending_scores
            } else {
              %pending = tlx.async_dot %q_tile, %k_t : !q_rows, !kt_buffer -> !scores
              scf.yield %pending : !pending_scores
            }
            // Rescaling here, not when alpha is known, lets it run under S.
            %alpha_c = tlx.expand_dims %alpha_in dim 1 : tensor<64xf32> -> tensor<64x1xf32>
            %alpha_b = tlx.broadcast %alpha_c : tensor<64x1xf32> -> !output
            %o_rescaled = arith.mulf %o_in, %alpha_b : !output
            tlx.barrier_wait %v_full[%v_slot], %v_phase : !ring
            %o_pending = tlx.async_dot %p_in, %v_tile, %o_rescaled
                : !weights, !kv_buffer -> !output
            scf.if %pingpong {
              tlx.named_barrier_arrive %next_turn threads(256)
            }
            %s_all = tlx.async_dot_wait %s_pending pending(1) : !scores
            tlx.remote_barrier_arrive %k_empty[%slot] mask(%all) : !ring

            %in_tail = tlx.in_masked_tail %j from %first_masked : i32
            %s = scf.if %in_tail -> (!scores) {
              %begin = arith.muli %j, %block_n : i32
              %begins = tlx.splat %begin : i32 -> tensor<64xi32>
              %within = arith.subi %limit, %begins : tensor<64xi32>
              %seen = tlx.prefix_mask %within dim 1 : tensor<64xi32> -> !seen
              %masked = arith.select %seen, %s_all, %masked_score
                  : !seen, !scores
              scf.yield %masked : !scores
            } else {
              scf.yield %s_all : !scores
            }

            %m_block = tlx.reduce max %s dim 1 : !scores -> tensor<64xf32>
            %m_new = arith.maxnumf %m_in, %m_block : tensor<64xf32>
            %m_scaled = arith.mulf %m_new, %scale_row : tensor<64xf32>
            %m_old = arith.mulf %m_in, %scale_row fastmath<contract> : tensor<64xf32>
            %decay = arith.subf %m_old, %m_scaled fastmath<contract> : tensor<64xf32>
            %alpha_new = math.exp2 %decay fastmath<afn> : tensor<64xf32>
            %m_c = tlx.expand_dims %m_scaled dim 1 : tensor<64xf32> -> tensor<64x1xf32>
            %m_b = tlx.broadcast %m_c : tensor<64x1xf32> -> !scores
            %s_scaled = arith.mulf %s, %scale fastmath<contract> : !scores
            %e = arith.subf %s_scaled, %m_b fastmath<contract> : !scores
            %p_new = math.exp2 %e fastmath<afn> : !scores
            %l_block = tlx.partial_reduce add %p_new dim 1 groups(4) run(2)
                : !scores -> tensor<64x4xf32>
            %alpha_l_c = tlx.expand_dims %alpha_new dim 1 : tensor<64xf32> -> tensor<64x1xf32>
            %alpha_l = tlx.broadcast %alpha_l_c : tensor<64x1xf32> -> tensor<64x4xf32>
            %l_scaled = arith.mulf %l_in, %alpha_l fastmath<contract> : tensor<64x4xf32>
            %l_new = arith.addf %l_scaled, %l_block fastmath<contract> : tensor<64x4xf32>

            %o_new = tlx.async_dot_wait %o_pending pending(0) : !output
            tlx.remote_barrier_arrive %v_empty[%v_slot] mask(%all) : !ring
            %p_16 = arith.truncf %p_new : !scores to !weights
            scf.yield %n1, %m_new, %l_new, %alpha_new, %p_16, %o_new
                : i32, tensor<64xf32>, tensor<64x4xf32>, tensor<64xf32>, !weights,
                  !output
          }

          %now:9 = func.call @decode(
              %item, %nth, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)
          %ahead:9 = func.call @decode(
              %now#7, %now#8, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)

          // The last values, then O / l and the log-sum-exp.
          %v_slot, %v_phase = tlx.ring %last stages(STAGES) : i32
          %v_tile = tlx.local_view %v_smem[%v_slot] : !kv_buffers -> !kv_buffer
          %alpha_c = tlx.expand_dims %alpha dim 1 : tensor<64xf32> -> tensor<64x1xf32>
          %alpha_b = tlx.broadcast %alpha_c : tensor<64x1xf32> -> !output
          %o_rescaled = arith.mulf %acc, %alpha_b : !output
          scf.if %q_in_shared {
            tlx.barrier_arrive %q_empty[%q_slot] : !q_ring
          }
          tlx.barrier_wait %v_full[%v_slot], %v_phase : !ring
          %o_pending = tlx.async_dot %p, %v_tile, %o_rescaled
              : !weights, !kv_buffer -> !output
          %sum = tlx.reduce add %l dim 1 : tensor<64x4xf32> -> tensor<64xf32>
          %ones = tlx.splat %one : f32 -> tensor<64xf32>
          %inverse = arith.divf %ones, %sum fastmath<arcp,afn> : tensor<64xf32>
          %o_sum = tlx.async_dot_wait %o_pending pending(0) : !output
          tlx.remote_barrier_arrive %v_empty[%v_slot] mask(%all) : !ring

          // Blocks that only the other replicas see pass by. The copy of the values
          // before them, which is here, began after their keys' slot was free. The
          // keys are waited for where nobody else assures that they have come before
          // this replica waits for the next ones in their slot, whose phase has the
          // parity of the one before them: in a cluster, where it may be the other
          // CTA's replicas that see them, and without turns.
          %passed = scf.for %j = %own_blocks to %blocks step %c1
              iter_args(%n = %last) -> i32 : i32 {
            %n1 = arith.addi %n, %c1 : i32
            %slot, %phase = tlx.ring %n1 stages(STAGES) : i32
            scf.if %pingpong {
              tlx.named_barrier_wait %my_turn threads(256)
              tlx.named_barrier_arrive %next_turn threads(256)
            }
            scf.if %may_run_ahead {
              tlx.barrier_wait %k_full[%slot], %phase : !ring
            }
            tlx.remote_barrier_arrive %k_empty[%slot] mask(%all) : !ring
            tlx.barrier_wait %v_full[%slot], %phase : !ring
            tlx.remote_barrier_arrive %v_empty[%slot] mask(%all) : !ring
            scf.yield %n1 : i32
          }

          %inverse_c = tlx.expand_dims %inverse dim 1 : tensor<64xf32> -> tensor<64x1xf32>
          %inverse_b = tlx.broadcast %inverse_c : tensor<64x1xf32> -> !output
          %o_scaled = arith.mulf %o_sum, %inverse_b : !output
          %sees_c = tlx.expand_dims %sees_key dim 1 : tensor<64xi1> -> tensor<64x1xi1>
          %sees_b = tlx.broadcast %sees_c : tensor<64x1xi1> -> !row_seen
          %o_final = arith.select %sees_b, %o_scaled, %no_output
              : !row_seen, !output
          %o_seen = arith.truncf %o_final : !output to !output_16
          %m_log2 = arith.mulf %m, %scale_row fastmath<contract> : tensor<64xf32>
          %sum_log2 = math.log2 %sum fastmath<afn> : tensor<64xf32>
          %lse_log2 = arith.addf %m_log2, %sum_log2 fastmath<contract> : tensor<64xf32>
          %ln2_row = tlx.splat %ln2 : f32 -> tensor<64xf32>
          %lse_natural = arith.mulf %lse_log2, %ln2_row : tensor<64xf32>
          %lse_final = arith.select %sees_key, %lse_natural, %no_lse
              : tensor<64xi1>, tensor<64xf32>
          %count_out = arith.addi %passed, %c1 : i32
          %tile_out = arith.addi %tile, %c1 : i32
          scf.yield %o_seen, %lse_final, %count_out, %tile_out, %now#0, %now#1,
              %now#3, %now#4, %ahead#1, %ahead#3, %ahead#6,
              %now#7, %now#8 : !output_16, tensor<64xf32>, i32, i32, i32, i32, i32, i32, i32, i32,
              i32, i32, i32
        } else {
          %now:9 = func.call @decode(
              %item, %nth, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)
          %ahead:9 = func.call @decode(
              %now#7, %now#8, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32, i32, i32)
          %nothing = arith.truncf %no_output : !output to !output_16
          scf.yield %nothing, %no_lse, %count, %tile, %now#0, %now#1,
              %now#3, %now#4, %ahead#1, %ahead#3, %ahead#6,
              %now#7, %now#8 : !output_16, tensor<64xf32>, i32, i32, i32, i32, i32, i32, i32, i32,
              i32, i32, i32
        }

        %row = arith.addi %next#3, %item_row : i32
        %rows_0 = tlx.splat %row : i32 -> tensor<64xi32>
        %rows = arith.addi %rows_0, %row_in_tile : tensor<64xi32>

        // The copy of the tile before has to have left the buffer.
        tlx.async_descriptor_store_wait pending(0)
        tlx.local_store %o_16, %o_tile : !output_16, !o_buffer
        tlx.async_descriptor_store %o[%row, %next#2, %c0] segment(%next#5, %next#4),
            %o_tile : !o_tensor, !o_buffer

        %head_64 = arith.extui %next#2 : i32 to i64
        %lse_row = arith.muli %head_64, %lse_stride : i64
        %o_start_64 = arith.extui %next#5 : i32 to i64
        %lse_begin = arith.addi %lse_row, %o_start_64 : i64
        %lse_begins = tlx.splat %lse_begin : i64 -> tensor<64xi64>
        %rows_64 = arith.extui %rows : tensor<64xi32> to tensor<64xi64>
        %lse_index = arith.addi %lse_begins, %rows_64 : tensor<64xi64>
        %q_end = tlx.splat %next#4 : i32 -> tensor<64xi32>
        %row_exists = arith.cmpi slt, %rows, %q_end : tensor<64xi32>
        tlx.global_store %lse_rows, %lse[%lse_index] mask %row_exists
            : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi64> mask tensor<64xi1>
        scf.yield %next#0, %next#1, %next#6, %next#7, %next#8, %next#9, %next#10
            : i32, i32, i32, i32, i32, i32, i32
      }
      // Shared memory has to outlive the last copy out of it, and the barriers what
      // the other CTA does to them.
      tlx.async_descriptor_store_wait pending(0)
      scf.if %has_peers {
        tlx.cluster_arrive
        tlx.cluster_wait
      }
    }
  }
}
