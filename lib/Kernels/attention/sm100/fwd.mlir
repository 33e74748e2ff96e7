// Attention forward for Blackwell: jagged, dense or with a broadcast query.
//
// Computes, for every sequence b and query head h (docs/Attention.md),
//     S = scale Q K^T      P = softmax(S) over the keys a row sees
//     O = P V              lse = ln sum exp(S)
//
// A persistent CTA takes tiles of 256 query rows, in the order that the host has
// balanced: items item_starts[cta] to item_starts[cta + 1] of the work list. Each
// is two half tiles of 128 rows, one for each lane of tensor memory, which take
// turns on the tensor core: while one's scores are exponentiated, the other's
// products run. The sequence of a tile bounds every copy (ragged tensor maps), so
// rows past its end are zero on the way in and dropped on the way out.
//
// With DYNAMIC a CTA takes shares of the list, its own first and then those of CTAs
// whose launch it has cancelled (PTX ISA 9.7.13.17): of a grid of more CTAs than run
// at once, whoever is done takes over what is left. While a share is worked on, the
// next one is asked for.
//
// With CTAS=2 a pair of CTAs takes tiles of 512 rows together. Each has 256 of them
// to itself; the products of a half tile are one of 256 rows for both, started by the
// CTA of rank 0, the leader, so that of each block each CTA has half of the keys, and
// half of the columns of the values, in shared memory.
//
//   role         warps   does
//   @softmax     4 x 2   each replica owns a half tile: S to P, a row in each thread
//   @correction  4       rescales O where a maximum has grown; takes O out at the end
//   @load        1       starts every copy: K[0], Q, V[0], K[1], V[1], …, V[n-1]
//   @multiply    1       starts every product: S[0]; O += P[j-1] V[j-1], S[j]; …
//   @store       1       starts every copy of O
//   @schedule    1       asks for the items of CTAs that have not been launched (DYNAMIC)
//
// The largest score of a row, by which its exponentials are scaled, is kept while
// it grows by less than 8 (in powers of 2): P stays below 256 then, and nothing
// need be rescaled. Warps none of whose rows do vote to leave O alone.
//
//   barrier        count  arrives               waits         phase completes when
//   q_full         1      @load (bytes of Q)    @multiply     a tile's queries are there
//   q_empty        1      @multiply (commit)    @load         the tile's last S is done
//   kv_full        1      @load (bytes)         @multiply     a block of keys or values is there
//   kv_empty       1      @multiply (commit)    @load         its products are done
//   s_full         1      @multiply (commit)    @softmax      a block's S is there, and all of O before it
//   p_half         CTAS   @softmax              @multiply     P of the first half of its keys is there
//   p_full         CTAS   @softmax              @multiply     all of its P is there
//   scale_full     1      @softmax              @correction   the scale of O for a block but the first is there
//   inverse_full   1      @softmax              @correction   a tile's 1 / l is there
//   inverse_empty  1      @correction           @softmax      1 / l has been read
//   o_ready        CTAS   @correction           @multiply     O is rescaled for a block; at last taken out
//   o_full         1      @multiply (commit)    @correction   a tile's last product is done
//   p_empty        1      @multiply (commit)    @multiply     a block's P has been read (unless IN_ORDER)
//   out_full       1      @correction           @store        a half tile of O is in shared memory
//   out_empty      1      @store                @correction   it has been copied out
//   share_full     1      @schedule (bytes)     all roles     it is known whose items are next
//   share_empty    7 CTAS all roles             @schedule     all of them know whose
//
//   What @multiply waits for is at the leader, for both CTAs: copies deliver their
//   bytes there, and P and O are told there. What it commits is told to both.
//
//   tensor memory, D 128: S 2 x 128 columns, O 2 x 128 columns; P is the second half
//     of its S. D 64: S 2 x 128, P 2 x 64, O 2 x 64. The scale of O is the first
//     column of S, whose scores are in registers by then. S[j] may overwrite the
//     scale and P[j-1] since its product is started after that of P[j-1], which
//     waits for both; without IN_ORDER it waits until that is done.
//   shared memory, D 128, 3 stages, of pairs 6: Q 64 K, keys and values 96 K, O 64 K
//   registers: @softmax 2 x 192, @correction 72, others 56: 512 for 4 warps each; of
//     pairs at D 128 @correction needs 80, which leaves 48. With DYNAMIC @softmax needs
//     200 at D 64, which leaves 40
//
// Blocks of keys are taken in ascending order: a row that sees any key sees the
// first, so its maximum is finite after block 0 and no step needs a guard against
// -inf - -inf. Rows that see no key compute NaN and are replaced at the end; tiles
// of such rows only are not computed (no copy may begin past its segment's end).

!q_tensor = !tlx.tensormap<[BLOCK_M, 1, HEAD_DIM], ELEMENT, ragged>
!o_tensor = !tlx.tensormap<[128, 1, HEAD_DIM], ELEMENT, ragged>
!k_tensor = !tlx.tensormap<[BLOCK_N floordiv CTAS, 1, HEAD_DIM], ELEMENT, ragged>
!v_tensor = !tlx.tensormap<[BLOCK_N, 1, HEAD_DIM floordiv CTAS], ELEMENT, ragged>
!q_buffers = !tlx.memdesc<[Q_STAGES, BLOCK_M, HEAD_DIM], ELEMENT>
!q_buffer = !tlx.memdesc<[BLOCK_M, HEAD_DIM], ELEMENT>
!q_rows = !tlx.memdesc<[128, HEAD_DIM], ELEMENT, of = [BLOCK_M, HEAD_DIM]>
!k_buffers = !tlx.memdesc<[STAGES, BLOCK_N floordiv CTAS, HEAD_DIM], ELEMENT>
!k_buffer = !tlx.memdesc<[BLOCK_N floordiv CTAS, HEAD_DIM], ELEMENT>
!kt_buffer = !tlx.memdesc<[HEAD_DIM, BLOCK_N floordiv CTAS], ELEMENT, transposed>
!v_buffers = !tlx.memdesc<[STAGES, BLOCK_N, HEAD_DIM floordiv CTAS], ELEMENT>
!v_buffer = !tlx.memdesc<[BLOCK_N, HEAD_DIM floordiv CTAS], ELEMENT>
!v_half = !tlx.memdesc<[BLOCK_N floordiv 2, HEAD_DIM floordiv CTAS], ELEMENT, of = [BLOCK_N, HEAD_DIM floordiv CTAS]>
!out_buffers = !tlx.memdesc<[2, 128, HEAD_DIM], ELEMENT>
!out_buffer = !tlx.memdesc<[128, HEAD_DIM], ELEMENT>
!out_panel = !tlx.memdesc<[128, 64], ELEMENT, of = [128, HEAD_DIM]>
!row_buffers = !tlx.memdesc<[2, 128], f32>
!row_buffer = !tlx.memdesc<[128], f32>
!sp_buffers = !tlx.memdesc<[2, 128, P_AT + BLOCK_N floordiv 2], f32, tensor>
!sp_buffer = !tlx.memdesc<[128, P_AT + BLOCK_N floordiv 2], f32, tensor>
!s_buffer = !tlx.memdesc<[128, BLOCK_N], f32, tensor>
!s_part = !tlx.memdesc<[128, BLOCK_N floordiv 4], f32, tensor>
!p_columns = !tlx.memdesc<[128, BLOCK_N floordiv 2], f32, tensor>
!p_buffer = !tlx.memdesc<[128, BLOCK_N], ELEMENT, tensor>
!p_half = !tlx.memdesc<[128, BLOCK_N floordiv 2], ELEMENT, tensor>
!p_part = !tlx.memdesc<[128, BLOCK_N floordiv 4], ELEMENT, tensor>
!o_buffers = !tlx.memdesc<[2, 128, HEAD_DIM], f32, tensor>
!o_buffer = !tlx.memdesc<[128, HEAD_DIM], f32, tensor>
!o_panel = !tlx.memdesc<[128, 64], f32, tensor>
!o_part = !tlx.memdesc<[128, HEAD_DIM floordiv 4], f32, tensor>
!column = !tlx.memdesc<[128, 1], f32, tensor>
!ring = !tlx.mbarrier<[STAGES]>
!q_ring = !tlx.mbarrier<[Q_STAGES]>
!halves = !tlx.mbarrier<[2]>
!response = !tlx.memdesc<[4], i32>
!bar = !tlx.mbarrier<[1]>

!scores = tensor<128x?xf32, #tlx.dims<[128, BLOCK_N floordiv 4], ELEMENT>>
!bits = tensor<128x?xi32, #tlx.dims<[128, BLOCK_N floordiv 4], ELEMENT>>
!seen = tensor<128x?xi1, #tlx.dims<[128, BLOCK_N floordiv 4], ELEMENT>>
!weights = tensor<128x?xbf16, #tlx.dims<[128, BLOCK_N floordiv 4], ELEMENT>>
!part = tensor<128x?xf32, #tlx.dims<[128, HEAD_DIM floordiv 4]>>
!output = tensor<128x64xf32, #tlx.dims<[128, 64], ELEMENT>>
!output_16 = tensor<128x64xbf16, #tlx.dims<[128, 64], ELEMENT>>
!row_seen = tensor<128x64xi1, #tlx.dims<[128, 64], ELEMENT>>
!rows = tensor<128xf32>

// A work item: the sequence, first query row and head of a tile, and where they
// lie. Items are four 32-bit integers; the host deals them to the CTAs.
func.func private @decode(
    %item: i32, %items: !tlx.ptr<i32>, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %q_length: i32, %k_length: i32, %jagged: i1,
    %broadcast_query: i1) -> (i32, i32, i32, i32, i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c4 = arith.constant 4 : i32
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
  return %head, %row, %q_start, %q_len, %o_start, %k_start, %k_len
      : i32, i32, i32, i32, i32, i32, i32
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

// The first row of a copy. Of a pair's part one CTA may have no row that exists; it
// copies the last one that does, since no copy may begin past its segment's end.
// What comes of it is masked or dropped.
func.func private @within(%row: i32, %length: i32, %has_peer: i1) -> i32 {
  %c1 = arith.constant 1 : i32
  %begin = scf.if %has_peer -> i32 {
    %last = arith.subi %length, %c1 : i32
    %least = arith.minsi %row, %last : i32
    scf.yield %least : i32
  } else {
    scf.yield %row : i32
  }
  return %begin : i32
}

// The items that a role takes after those of share `share`: those of a CTA, or of a
// pair, whose launch has been cancelled, as @schedule has learnt; none if there is none.
func.func private @next_share(
    %dynamic: i1, %share: i32, %response: !response, %full: !bar, %empty: !bar,
    %item_starts: !tlx.ptr<i32>, %ctas: i32) -> (i1, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %false = arith.constant false
  %more, %first, %stop = scf.if %dynamic -> (i1, i32, i32) {
    %slot, %phase = tlx.ring %share stages(1) : i32
    tlx.barrier_wait %full, %phase : !bar
    %is_canceled, %cta = tlx.clc_query %response : !response
    %begin, %end = scf.if %is_canceled -> (i32, i32) {
      tlx.remote_barrier_arrive %empty mask(%c1) : !bar
      %cluster = arith.divui %cta, %ctas : i32
      %next = arith.addi %cluster, %c1 : i32
      %from = tlx.global_load %item_starts[%cluster] : !tlx.ptr<i32>, i32 -> i32
      %to = tlx.global_load %item_starts[%next] : !tlx.ptr<i32>, i32 -> i32
      scf.yield %from, %to : i32, i32
    } else {
      scf.yield %c0, %c0 : i32, i32
    }
    scf.yield %is_canceled, %begin, %end : i1, i32, i32
  } else {
    scf.yield %false, %c0, %c0 : i1, i32, i32
  }
  return %more, %first, %stop : i1, i32, i32
}

tlx.kernel @attention_fwd(
    %q: !q_tensor, %k: !k_tensor, %v: !v_tensor, %o: !o_tensor,
    %lse: !tlx.ptr<f32>, %q_offsets: !tlx.ptr<i32>, %k_offsets: !tlx.ptr<i32>,
    %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>, %heads_per_group: i32,
    %q_length: i32, %k_length: i32, %lse_stride: i64,
    %scale_log2: f32) cluster(CTAS) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  // Lengths come from the offsets; otherwise all are q_length and k_length.
  %jagged = tlx.param JAGGED = true : i1
  // All sequences share the q_length rows of q.
  %broadcast_query = tlx.param BROADCAST_QUERY = false : i1

  // How it is computed.
  %block_m = tlx.param BLOCK_M = 256 in [256] : i32
  %block_n = tlx.param BLOCK_N = 128 in [64, 128] : i32
  // CTAs that multiply together.
  %ctas = tlx.param CTAS = 1 in [1, 2] : i32
  tlx.param STAGES = 3 from 2 to 12 : i32
  tlx.param Q_STAGES = 1 from 1 to 2 : i32
  // The column of its S at which P begins: behind S, or over its end.
  %p_at = tlx.param P_AT = 64 from 32 to 128 step 32 : i32
  tlx.constraint BLOCK_N le 2 * P_AT
  // Whether S may overwrite the P that a product started before it reads, which PTX does
  // not promise; every tensor core is taken to do what one thread starts in order.
  %in_order = tlx.param IN_ORDER = true : i1
  // Whether a CTA that is done takes over the items of CTAs that have not been
  // launched.
  %dynamic = tlx.param DYNAMIC = false : i1
  // A quarter of the exponentials by polynomial, on the units for products
  // instead of those for special functions.
  %polynomial = tlx.param POLYNOMIAL = true : i1
  tlx.param SOFTMAX_REGISTERS = 192 from 24 to 256 step 8 : i32
  tlx.param CORRECTION_REGISTERS = 72 from 24 to 256 step 8 : i32
  tlx.param OTHER_REGISTERS = 56 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %cta = tlx.cta_id : i32
  %rank = tlx.cluster_rank : i32
  %leads = arith.cmpi eq, %rank, %c0 : i32
  %bits = arith.shli %c1, %ctas : i32
  %all = arith.subi %bits, %c1 : i32
  // Rows of a tile, and the first of them that is this CTA's.
  %tile_rows = arith.muli %block_m, %ctas : i32
  %own_row = arith.muli %rank, %block_m : i32
  %cluster = arith.divui %cta, %ctas : i32
  %next_cluster = arith.addi %cluster, %c1 : i32
  %first_item = tlx.global_load %item_starts[%cluster] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_cluster] : !tlx.ptr<i32>, i32 -> i32

  %q_smem = tlx.local_alloc : !q_buffers
  %k_smem = tlx.local_alloc : !k_buffers
  %v_smem = tlx.local_alloc alias(%k_smem) : !v_buffers, !k_buffers
  %out_smem = tlx.local_alloc : !out_buffers
  // 1 / l of each half tile.
  %inverse_smem = tlx.local_alloc : !row_buffers
  %sp_tmem = tlx.local_alloc : !sp_buffers
  %o_tmem = tlx.local_alloc : !o_buffers
  %q_full = tlx.alloc_barriers arrivals(1) : !q_ring
  %q_empty = tlx.alloc_barriers arrivals(1) : !q_ring
  %kv_full = tlx.alloc_barriers arrivals(1) : !ring
  %kv_empty = tlx.alloc_barriers arrivals(1) : !ring
  %s_full = tlx.alloc_barriers arrivals(1) : !halves
  %p_half = tlx.alloc_barriers arrivals(CTAS) : !halves
  %p_full = tlx.alloc_barriers arrivals(CTAS) : !halves
  %scale_full = tlx.alloc_barriers arrivals(1) : !halves
  %inverse_full = tlx.alloc_barriers arrivals(1) : !halves
  %inverse_empty = tlx.alloc_barriers arrivals(1) : !halves
  %o_ready = tlx.alloc_barriers arrivals(CTAS) : !halves
  %o_full = tlx.alloc_barriers arrivals(1) : !halves
  %p_empty = tlx.alloc_barriers arrivals(1) : !halves
  %out_full = tlx.alloc_barriers arrivals(1) : !halves
  %out_empty = tlx.alloc_barriers arrivals(1) : !halves
  %response = tlx.local_alloc : !response
  %share_full = tlx.alloc_barriers arrivals(1) : !bar
  %share_empty = tlx.alloc_barriers arrivals(7 * CTAS) : !bar
  %has_peer = arith.cmpi ugt, %ctas, %c1 : i32
  scf.if %has_peer {
    tlx.cluster_arrive
    tlx.cluster_wait
  }

  // `step` runs over the blocks of keys of all tiles of this CTA, `tile` over its
  // tiles with keys.
  tlx.async_tasks {
    tlx.async_task @softmax warps(4) registers(SOFTMAX_REGISTERS) replicate(2) {
      %half = tlx.async_task_replica_id : i32
      %half_row = arith.muli %half, %c128 : i32
      %first_row = arith.addi %half_row, %own_row : i32
      %sp_tile = tlx.local_view %sp_tmem[%half] : !sp_buffers -> !sp_buffer
      %s_tile = tlx.local_slice %sp_tile[%c0, %c0] : !sp_buffer -> !s_buffer
      %scale_column = tlx.local_slice %s_tile[%c0, %c0] : !s_buffer -> !column
      %p_place = tlx.local_slice %sp_tile[%c0, %p_at] : !sp_buffer -> !p_columns
      %p_tile = tlx.local_reinterpret %p_place : !p_columns -> !p_buffer
      %c4 = arith.constant 4 : i32
      %width = arith.divui %block_n, %c4 : i32
      %at0 = arith.constant 0 : i32
      %at1 = arith.addi %at0, %width : i32
      %at2 = arith.addi %at1, %width : i32
      %at3 = arith.addi %at2, %width : i32
      %s_part0 = tlx.local_slice %s_tile[%c0, %at0] : !s_buffer -> !s_part
      %p_part0 = tlx.local_slice %p_tile[%c0, %at0] : !p_buffer -> !p_part
      %s_part1 = tlx.local_slice %s_tile[%c0, %at1] : !s_buffer -> !s_part
      %p_part1 = tlx.local_slice %p_tile[%c0, %at1] : !p_buffer -> !p_part
      %s_part2 = tlx.local_slice %s_tile[%c0, %at2] : !s_buffer -> !s_part
      %p_part2 = tlx.local_slice %p_tile[%c0, %at2] : !p_buffer -> !p_part
      %s_part3 = tlx.local_slice %s_tile[%c0, %at3] : !s_buffer -> !s_part
      %p_part3 = tlx.local_slice %p_tile[%c0, %at3] : !p_buffer -> !p_part

      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %ln2 = arith.constant 0.693147182 : f32
      %threshold = arith.constant -8.0 : f32
      %scale_row = tlx.splat %scale_log2 : f32 -> !rows
      %minus_scale = arith.negf %scale_log2 : f32
      %minus_scale_row = tlx.splat %minus_scale : f32 -> !rows
      %scale = tlx.splat %scale_log2 : f32 -> !scores
      %masked_score = tlx.splat %minus_infinity : f32 -> !scores
      %ones = tlx.splat %one : f32 -> !rows
      %zeros = tlx.splat %zero : f32 -> !rows
      %lowest = tlx.splat %minus_infinity : f32 -> !rows
      %least_decay = tlx.splat %threshold : f32 -> !rows
      %row_in_half = tlx.iota dim 0 : tensor<128xi32>

      // 2^f for f from -1/2 to 1/2, and what rounds to whole numbers.
      %least_f = arith.constant -126.0 : f32
      %rounder_f = arith.constant 12582912.0 : f32
      %a0_f = arith.constant 0.999928057 : f32
      %a1_f = arith.constant 0.693260968 : f32
      %a2_f = arith.constant 0.242611125 : f32
      %a3_f = arith.constant 0.0551716685 : f32
      %c23 = arith.constant 23 : i32
      %least = tlx.splat %least_f : f32 -> !scores
      %rounder = tlx.splat %rounder_f : f32 -> !scores
      %a0 = tlx.splat %a0_f : f32 -> !scores
      %a1 = tlx.splat %a1_f : f32 -> !scores
      %a2 = tlx.splat %a2_f : f32 -> !scores
      %a3 = tlx.splat %a3_f : f32 -> !scores
      %exponent_at = tlx.splat %c23 : i32 -> !bits

      %shares:5 = scf.while (
          %share = %c0, %first = %first_item, %stop = %end_item, %step_0 = %c0,
          %tile_0 = %c0)
          : (i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32) {
        %end:2 = scf.for %item = %first to %stop step %c1
            iter_args(%step = %step_0, %tile = %tile_0) -> (i32, i32) : i32 {
          %at:7 = func.call @decode(
              %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32)
          %row_end = arith.addi %at#1, %tile_rows : i32
          %blocks = func.call @count_blocks(%row_end, %at#3, %at#6, %block_n,
              %causal) : (i32, i32, i32, i32, i1) -> i32
          %has_keys = arith.cmpi sgt, %blocks, %c0 : i32
          %row_0 = arith.addi %at#1, %first_row : i32

          // A row sees the keys before its limit. The first block in which some
          // row of this half does not see all keys is the first masked one.
          %shift = arith.subi %at#6, %at#3 : i32
          %limit = scf.if %causal -> (tensor<128xi32>) {
            %shift_1 = arith.addi %shift, %c1 : i32
            %first_beyond = arith.addi %shift_1, %row_0 : i32
            %beyond = tlx.splat %first_beyond : i32 -> tensor<128xi32>
            %diagonal = arith.addi %row_in_half, %beyond : tensor<128xi32>
            %length = tlx.splat %at#6 : i32 -> tensor<128xi32>
            %fewest = arith.minsi %diagonal, %length : tensor<128xi32>
            scf.yield %fewest : tensor<128xi32>
          } else {
            %length = tlx.splat %at#6 : i32 -> tensor<128xi32>
            scf.yield %length : tensor<128xi32>
          }
          %first_limit = scf.if %causal -> (i32) {
            %shift_1 = arith.addi %shift, %c1 : i32
            %diagonal = arith.addi %row_0, %shift_1 : i32
            %fewest = arith.minsi %diagonal, %at#6 : i32
            %positive = arith.maxsi %fewest, %c0 : i32
            scf.yield %positive : i32
          } else {
            scf.yield %at#6 : i32
          }
          %first_masked = arith.divui %first_limit, %block_n : i32
          %none = tlx.splat %c0 : i32 -> tensor<128xi32>
          %sees_key = arith.cmpi sgt, %limit, %none : tensor<128xi32>

          %lse_rows, %next:2 = scf.if %has_keys -> (!rows, i32, i32) {
            %m_last, %l_last, %step_last = scf.for %j = %c0 to %blocks step %c1
                iter_args(%m_in = %lowest, %l_in = %zeros, %n = %step)
                -> (!rows, !rows, i32) : i32 {
              %slot, %phase = tlx.ring %n stages(1) : i32
              tlx.barrier_wait %s_full[%half], %phase : !halves
              %s_all0 = tlx.local_load %s_part0 : !s_part -> !scores
              %s_all1 = tlx.local_load %s_part1 : !s_part -> !scores
              %s_all2 = tlx.local_load %s_part2 : !s_part -> !scores
              %s_all3 = tlx.local_load %s_part3 : !s_part -> !scores
              %in_tail = tlx.in_masked_tail %j from %first_masked : i32
              %s:4 = scf.if %in_tail -> (!scores, !scores, !scores, !scores) {
                %begin = arith.muli %j, %block_n : i32
                %begin0 = arith.addi %begin, %at0 : i32
                %begins0 = tlx.splat %begin0 : i32 -> tensor<128xi32>
                %within0 = arith.subi %limit, %begins0 : tensor<128xi32>
                %seen0 = tlx.prefix_mask %within0 dim 1 : tensor<128xi32> -> !seen
                %masked0 = arith.select %seen0, %s_all0, %masked_score : !seen, !scores
                %begin1 = arith.addi %begin, %at1 : i32
                %begins1 = tlx.splat %begin1 : i32 -> tensor<128xi32>
                %within1 = arith.subi %limit, %begins1 : tensor<128xi32>
                %seen1 = tlx.prefix_mask %within1 dim 1 : tensor<128xi32> -> !seen
                %masked1 = arith.select %seen1, %s_all1, %masked_score : !seen, !scores
                %begin2 = arith.addi %begin, %at2 : i32
                %begins2 = tlx.splat %begin2 : i32 -> tensor<128xi32>
                %within2 = arith.subi %limit, %begins2 : tensor<128xi32>
                %seen2 = tlx.prefix_mask %within2 dim 1 : tensor<128xi32> -> !seen
                %masked2 = arith.select %seen2, %s_all2, %masked_score : !seen, !scores
                %begin3 = arith.addi %begin, %at3 : i32
                %begins3 = tlx.splat %begin3 : i32 -> tensor<128xi32>
                %within3 = arith.subi %limit, %begins3 : tensor<128xi32>
                %seen3 = tlx.prefix_mask %within3 dim 1 : tensor<128xi32> -> !seen
                %masked3 = arith.select %seen3, %s_all3, %masked_score : !seen, !scores
                scf.yield %masked0, %masked1, %masked2, %masked3
                    : !scores, !scores, !scores, !scores
              } else {
                scf.yield %s_all0, %s_all1, %s_all2, %s_all3
                    : !scores, !scores, !scores, !scores
              }

              %m_part0 = tlx.reduce max %s#0 dim 1 : !scores -> !rows
              %m_part1 = tlx.reduce max %s#1 dim 1 : !scores -> !rows
              %m_part2 = tlx.reduce max %s#2 dim 1 : !scores -> !rows
              %m_part3 = tlx.reduce max %s#3 dim 1 : !scores -> !rows
              %m_01 = arith.maxnumf %m_part0, %m_part1 : !rows
              %m_23 = arith.maxnumf %m_part2, %m_part3 : !rows
              %m_block = arith.maxnumf %m_01, %m_23 : !rows
              %m_grown = arith.maxnumf %m_in, %m_block : !rows

              // The maximum that the exponentials are scaled by grows only if it
              // has to; then O, which it scales too, is rescaled.
              %growth = arith.subf %m_in, %m_grown : !rows
              %decay = arith.mulf %growth, %scale_row : !rows
              %keeps = arith.cmpf oge, %decay, %least_decay : !rows
              %m = arith.select %keeps, %m_in, %m_grown : tensor<128xi1>, !rows
              %decayed = math.exp2 %decay fastmath<afn> : !rows
              %alpha = arith.select %keeps, %ones, %decayed : tensor<128xi1>, !rows
              %later = arith.cmpi sgt, %j, %c0 : i32
              scf.if %later {
                %alpha_c = tlx.expand_dims %alpha dim 1 : !rows -> tensor<128x1xf32>
                tlx.local_store %alpha_c, %scale_column : tensor<128x1xf32>, !column
                tlx.barrier_arrive %scale_full[%half] : !halves
              }

              // Added rather than subtracted: pairs have no difference of products.
              %m_minus = arith.mulf %m, %minus_scale_row : !rows
              %m_c = tlx.expand_dims %m_minus dim 1 : !rows -> tensor<128x1xf32>
              %m_b = tlx.broadcast %m_c : tensor<128x1xf32> -> !scores
              %scaled0 = arith.mulf %s#0, %scale fastmath<contract> : !scores
              %e0 = arith.addf %scaled0, %m_b fastmath<contract> : !scores
              %p0 = math.exp2 %e0 fastmath<afn> : !scores
              %p_16_0 = arith.truncf %p0 : !scores to !weights
              tlx.local_store %p_16_0, %p_part0 : !weights, !p_part
              %scaled1 = arith.mulf %s#1, %scale fastmath<contract> : !scores
              %e1 = arith.addf %scaled1, %m_b fastmath<contract> : !scores
              %p1 = math.exp2 %e1 fastmath<afn> : !scores
              %p_16_1 = arith.truncf %p1 : !scores to !weights
              tlx.local_store %p_16_1, %p_part1 : !weights, !p_part
              tlx.remote_barrier_arrive %p_half[%half] mask(%c1) : !halves
              %scaled2 = arith.mulf %s#2, %scale fastmath<contract> : !scores
              %e2 = arith.addf %scaled2, %m_b fastmath<contract> : !scores
              %p2 = math.exp2 %e2 fastmath<afn> : !scores
              %p_16_2 = arith.truncf %p2 : !scores to !weights
              tlx.local_store %p_16_2, %p_part2 : !weights, !p_part
              %scaled3 = arith.mulf %s#3, %scale fastmath<contract> : !scores
              %e3 = arith.addf %scaled3, %m_b fastmath<contract> : !scores
              %p3 = scf.if %polynomial -> (!scores) {
                // 2^x = 2^n 2^(x - n): n is added to the exponent.
                %x = arith.maxnumf %e3, %least : !scores
                %shifted = arith.addf %x, %rounder : !scores
                %whole = arith.subf %shifted, %rounder : !scores
                %f = arith.subf %x, %whole : !scores
                %h3 = arith.mulf %f, %a3 fastmath<contract> : !scores
                %h2 = arith.addf %h3, %a2 fastmath<contract> : !scores
                %g2 = arith.mulf %h2, %f fastmath<contract> : !scores
                %h1 = arith.addf %g2, %a1 fastmath<contract> : !scores
                %g1 = arith.mulf %h1, %f fastmath<contract> : !scores
                %h0 = arith.addf %g1, %a0 fastmath<contract> : !scores
                %mantissa = arith.bitcast %h0 : !scores to !bits
                %n_bits = arith.bitcast %shifted : !scores to !bits
                %exponent = arith.shli %n_bits, %exponent_at : !bits
                %sum_bits = arith.addi %mantissa, %exponent : !bits
                %power = arith.bitcast %sum_bits : !bits to !scores
                scf.yield %power : !scores
              } else {
                %power = math.exp2 %e3 fastmath<afn> : !scores
                scf.yield %power : !scores
              }
              %p_16_3 = arith.truncf %p3 : !scores to !weights
              tlx.local_store %p_16_3, %p_part3 : !weights, !p_part
              tlx.remote_barrier_arrive %p_full[%half] mask(%c1) : !halves
              %p_01 = arith.addf %p0, %p1 : !scores
              %p_23 = arith.addf %p2, %p3 : !scores
              %p_all = arith.addf %p_01, %p_23 : !scores
              %l_block = tlx.reduce add %p_all dim 1 : !scores -> !rows
              %l_scaled = arith.mulf %l_in, %alpha fastmath<contract> : !rows
              %l = arith.addf %l_scaled, %l_block fastmath<contract> : !rows
              %n1 = arith.addi %n, %c1 : i32
              scf.yield %m, %l, %n1 : !rows, !rows, i32
            }

            // 1 / l, or 0 for rows that see no key.
            %inverse_rows = tlx.local_view %inverse_smem[%half] : !row_buffers -> !row_buffer
            %quotient = arith.divf %ones, %l_last fastmath<arcp,afn> : !rows
            %inverse = arith.select %sees_key, %quotient, %zeros : tensor<128xi1>, !rows
            %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
            tlx.barrier_wait %inverse_empty[%half], %tile_phase producer : !halves
            tlx.local_store %inverse, %inverse_rows : !rows, !row_buffer
            tlx.barrier_arrive %inverse_full[%half] : !halves

            %m_log2 = arith.mulf %m_last, %scale_row fastmath<contract> : !rows
            %l_log2 = math.log2 %l_last fastmath<afn> : !rows
            %lse_log2 = arith.addf %m_log2, %l_log2 fastmath<contract> : !rows
            %ln2_row = tlx.splat %ln2 : f32 -> !rows
            %natural = arith.mulf %lse_log2, %ln2_row : !rows
            %final = arith.select %sees_key, %natural, %lowest : tensor<128xi1>, !rows
            %tile_1 = arith.addi %tile, %c1 : i32
            scf.yield %final, %step_last, %tile_1 : !rows, i32, i32
          } else {
            scf.yield %lowest, %step, %tile : !rows, i32, i32
          }

          %rows_0 = tlx.splat %row_0 : i32 -> tensor<128xi32>
          %rows = arith.addi %rows_0, %row_in_half : tensor<128xi32>
          %head_64 = arith.extui %at#0 : i32 to i64
          %lse_row = arith.muli %head_64, %lse_stride : i64
          %o_start_64 = arith.extui %at#4 : i32 to i64
          %lse_begin = arith.addi %lse_row, %o_start_64 : i64
          %lse_begins = tlx.splat %lse_begin : i64 -> tensor<128xi64>
          %rows_64 = arith.extui %rows : tensor<128xi32> to tensor<128xi64>
          %lse_index = arith.addi %lse_begins, %rows_64 : tensor<128xi64>
          %q_end = tlx.splat %at#3 : i32 -> tensor<128xi32>
          %row_exists = arith.cmpi slt, %rows, %q_end : tensor<128xi32>
          tlx.global_store %lse_rows, %lse[%lse_index] mask %row_exists
              : !rows, !tlx.ptr<f32>, tensor<128xi64> mask tensor<128xi1>
          scf.yield %next#0, %next#1 : i32, i32
        }
        %more, %next_first, %next_end = func.call @next_share(
            %dynamic, %share, %response, %share_full, %share_empty, %item_starts,
            %ctas) : (i1, i32, !response, !bar, !bar, !tlx.ptr<i32>, i32)
            -> (i1, i32, i32)
        %share_1 = arith.addi %share, %c1 : i32
        scf.condition(%more) %share_1, %next_first, %next_end, %end#0, %end#1
            : i32, i32, i32, i32, i32
      } do {
      ^bb0(%share: i32, %first: i32, %stop: i32, %step_0: i32, %tile_0: i32):
        scf.yield %share, %first, %stop, %step_0, %tile_0 : i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @correction warps(4) registers(CORRECTION_REGISTERS) {
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      %nothing = tlx.splat %zero : f32 -> !output
      %zeros = tlx.splat %zero : f32 -> tensor<128x1xf32>
      %ones = tlx.splat %one : f32 -> tensor<128x1xf32>
      %c4 = arith.constant 4 : i32
      %quarter = arith.divui %head_dim, %c4 : i32
      %shares:6 = scf.while (
          %share = %c0, %first = %first_item, %stop = %end_item, %step_0 = %c0,
          %tile_0 = %c0, %before = %c0)
          : (i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32, i32) {
        %end:2 = scf.for %item = %first to %stop step %c1
            iter_args(%step = %step_0, %tile = %tile_0) -> (i32, i32) : i32 {
          %at:7 = func.call @decode(
              %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32)
          %row_end = arith.addi %at#1, %tile_rows : i32
          %blocks = func.call @count_blocks(%row_end, %at#3, %at#6, %block_n,
              %causal) : (i32, i32, i32, i32, i1) -> i32
          %has_keys = arith.cmpi sgt, %blocks, %c0 : i32
          %within_share = arith.subi %item, %first : i32
          %passed = arith.addi %within_share, %before : i32
          %out_slot, %out_phase = tlx.ring %passed stages(1) : i32
          %next:2 = scf.if %has_keys -> (i32, i32) {
            // Block 0 needs no rescaling.
            %last = scf.for %j = %c1 to %blocks step %c1
                iter_args(%n = %step) -> i32 : i32 {
              // Each tile has one rescaling less than blocks.
              %rescaled = arith.subi %n, %tile : i32
              %slot, %phase = tlx.ring %rescaled stages(1) : i32
              scf.for %half = %c0 to %c2 step %c1 : i32 {
                %sp_tile = tlx.local_view %sp_tmem[%half] : !sp_buffers -> !sp_buffer
                %scale_column = tlx.local_slice %sp_tile[%c0, %c0] : !sp_buffer -> !column
                %o_tile = tlx.local_view %o_tmem[%half] : !o_buffers -> !o_buffer
                tlx.barrier_wait %scale_full[%half], %phase : !halves
                %alpha = tlx.local_load %scale_column : !column -> tensor<128x1xf32>
                %shrinks = arith.cmpf olt, %alpha, %ones : tensor<128x1xf32>
                %any = tlx.vote_any %shrinks : tensor<128x1xi1>
                scf.if %any {
                  %alphas = tlx.broadcast %alpha : tensor<128x1xf32> -> !part
                  scf.for %at_column = %c0 to %head_dim step %quarter : i32 {
                    %o_part = tlx.local_slice %o_tile[%c0, %at_column] : !o_buffer -> !o_part
                    %old = tlx.local_load %o_part : !o_part -> !part
                    %new = arith.mulf %old, %alphas : !part
                    tlx.local_store %new, %o_part : !part, !o_part
                  } {tlx.unroll = 4}
                }
                tlx.remote_barrier_arrive %o_ready[%half] mask(%c1) : !halves
              } {tlx.unroll = 2}
              %n1 = arith.addi %n, %c1 : i32
              scf.yield %n1 : i32
            }

            %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
            scf.for %half = %c0 to %c2 step %c1 : i32 {
              %o_tile = tlx.local_view %o_tmem[%half] : !o_buffers -> !o_buffer
              %out_tile = tlx.local_view %out_smem[%half] : !out_buffers -> !out_buffer
              %inverse_rows = tlx.local_view %inverse_smem[%half] : !row_buffers -> !row_buffer
              tlx.barrier_wait %inverse_full[%half], %tile_phase : !halves
              %inverse_row = tlx.local_load %inverse_rows : !row_buffer -> !rows
              tlx.barrier_arrive %inverse_empty[%half] : !halves
              %inverse = tlx.expand_dims %inverse_row dim 1 : !rows -> tensor<128x1xf32>
              %inverses = tlx.broadcast %inverse : tensor<128x1xf32> -> !output
              %sees = arith.cmpf ogt, %inverses, %nothing : !output
              tlx.barrier_wait %out_empty[%half], %out_phase producer : !halves
              tlx.barrier_wait %o_full[%half], %tile_phase : !halves
              scf.for %at_column = %c0 to %head_dim step %c64 : i32 {
                %o_panel = tlx.local_slice %o_tile[%c0, %at_column] : !o_buffer -> !o_panel
                %out_panel = tlx.local_slice %out_tile[%c0, %at_column] : !out_buffer -> !out_panel
                %sum = tlx.local_load %o_panel : !o_panel -> !output
                %scaled = arith.mulf %sum, %inverses : !output
                %seen = arith.select %sees, %scaled, %nothing : !row_seen, !output
                %rounded = arith.truncf %seen : !output to !output_16
                tlx.local_store %rounded, %out_panel : !output_16, !out_panel
              } {tlx.unroll = 2}
              // The next tile's sums may begin; the copy is yet to start.
              tlx.remote_barrier_arrive %o_ready[%half] mask(%c1) : !halves
              tlx.barrier_arrive %out_full[%half] : !halves
            } {tlx.unroll = 2}
            %step_1 = arith.addi %last, %c1 : i32
            %tile_1 = arith.addi %tile, %c1 : i32
            scf.yield %step_1, %tile_1 : i32, i32
          } else {
            %zero_16 = arith.truncf %nothing : !output to !output_16
            scf.for %half = %c0 to %c2 step %c1 : i32 {
              %out_tile = tlx.local_view %out_smem[%half] : !out_buffers -> !out_buffer
              tlx.barrier_wait %out_empty[%half], %out_phase producer : !halves
              scf.for %at_column = %c0 to %head_dim step %c64 : i32 {
                %out_panel = tlx.local_slice %out_tile[%c0, %at_column] : !out_buffer -> !out_panel
                tlx.local_store %zero_16, %out_panel : !output_16, !out_panel
              } {tlx.unroll = 2}
              tlx.barrier_arrive %out_full[%half] : !halves
            }
            scf.yield %step, %tile : i32, i32
          }
          scf.yield %next#0, %next#1 : i32, i32
        }
        %more, %next_first, %next_end = func.call @next_share(
            %dynamic, %share, %response, %share_full, %share_empty, %item_starts,
            %ctas) : (i1, i32, !response, !bar, !bar, !tlx.ptr<i32>, i32)
            -> (i1, i32, i32)
        %share_1 = arith.addi %share, %c1 : i32
        %count_of_share = arith.subi %stop, %first : i32
        %before_1 = arith.addi %before, %count_of_share : i32
        scf.condition(%more) %share_1, %next_first, %next_end, %end#0, %end#1, %before_1
            : i32, i32, i32, i32, i32, i32
      } do {
      ^bb0(%share: i32, %first: i32, %stop: i32, %step_0: i32, %tile_0: i32, %before: i32):
        scf.yield %share, %first, %stop, %step_0, %tile_0, %before : i32, i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @load warps(1) registers(OTHER_REGISTERS) {
      // Of a block each CTA of a pair copies its half of the keys, and its half
      // of the columns of the values.
      %k_rows = arith.divui %block_n, %ctas : i32
      %k_begin = arith.muli %rank, %k_rows : i32
      %v_columns = arith.divui %head_dim, %ctas : i32
      %v_column = arith.muli %rank, %v_columns : i32
      // `count` runs over all blocks of keys and of values.
      %shares:5 = scf.while (
          %share = %c0, %first = %first_item, %stop = %end_item, %count_0 = %c0,
          %tile_0 = %c0)
          : (i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32) {
        %end:2 = scf.for %item = %first to %stop step %c1
            iter_args(%count = %count_0, %tile = %tile_0) -> (i32, i32) : i32 {
          %at:7 = func.call @decode(
              %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32)
          %row_end = arith.addi %at#1, %tile_rows : i32
          %blocks = func.call @count_blocks(%row_end, %at#3, %at#6, %block_n,
              %causal) : (i32, i32, i32, i32, i1) -> i32
          %has_keys = arith.cmpi sgt, %blocks, %c0 : i32
          %kv_head = arith.divui %at#0, %heads_per_group : i32
          %next:2 = scf.if %has_keys -> (i32, i32) {
            %slot0, %phase0 = tlx.ring %count stages(STAGES) : i32
            %k0 = tlx.local_view %k_smem[%slot0] : !k_buffers -> !k_buffer
            %k_row0 = func.call @within(%k_begin, %at#6, %has_peer) : (i32, i32, i1) -> i32
            tlx.barrier_wait %kv_empty[%slot0], %phase0 producer : !ring
            scf.if %leads {
              tlx.barrier_expect_bytes %kv_full[%slot0], %k0 cta_group(CTAS)
                  : !ring, !k_buffer
            }
            tlx.async_descriptor_load %k[%k_row0, %kv_head, %c0] segment(%at#5, %at#6),
                %k0 signal %kv_full[%slot0] cta_group(CTAS)
                : !k_tensor, !k_buffer, !ring

            %q_slot, %q_phase = tlx.ring %tile stages(Q_STAGES) : i32
            %q_tile = tlx.local_view %q_smem[%q_slot] : !q_buffers -> !q_buffer
            tlx.barrier_wait %q_empty[%q_slot], %q_phase producer : !q_ring
            %q_first = arith.addi %at#1, %own_row : i32
            %q_row = func.call @within(%q_first, %at#3, %has_peer) : (i32, i32, i1) -> i32
            scf.if %leads {
              tlx.barrier_expect_bytes %q_full[%q_slot], %q_tile cta_group(CTAS)
                  : !q_ring, !q_buffer
            }
            tlx.async_descriptor_load %q[%q_row, %at#0, %c0] segment(%at#2, %at#3),
                %q_tile signal %q_full[%q_slot] cta_group(CTAS)
                : !q_tensor, !q_buffer, !q_ring

            // Values follow one block behind the keys, in the order of their use.
            %count_1 = arith.addi %count, %c1 : i32
            %last = scf.for %j = %c1 to %blocks step %c1
                iter_args(%n = %count_1) -> (i32) : i32 {
              %k_row = arith.muli %j, %block_n : i32
              %v_row = arith.subi %k_row, %block_n : i32
              %v_slot, %v_phase = tlx.ring %n stages(STAGES) : i32
              %v_tile = tlx.local_view %v_smem[%v_slot] : !v_buffers -> !v_buffer
              tlx.barrier_wait %kv_empty[%v_slot], %v_phase producer : !ring
              scf.if %leads {
                tlx.barrier_expect_bytes %kv_full[%v_slot], %v_tile cta_group(CTAS)
                    : !ring, !v_buffer
              }
              tlx.async_descriptor_load %v[%v_row, %kv_head, %v_column]
                  segment(%at#5, %at#6), %v_tile signal %kv_full[%v_slot]
                  cta_group(CTAS) : !v_tensor, !v_buffer, !ring

              %n1 = arith.addi %n, %c1 : i32
              %slot, %phase = tlx.ring %n1 stages(STAGES) : i32
              %k_tile = tlx.local_view %k_smem[%slot] : !k_buffers -> !k_buffer
              %k_first = arith.addi %k_row, %k_begin : i32
              %k_own = func.call @within(%k_first, %at#6, %has_peer) : (i32, i32, i1) -> i32
              tlx.barrier_wait %kv_empty[%slot], %phase producer : !ring
              scf.if %leads {
                tlx.barrier_expect_bytes %kv_full[%slot], %k_tile cta_group(CTAS)
                    : !ring, !k_buffer
              }
              tlx.async_descriptor_load %k[%k_own, %kv_head, %c0]
                  segment(%at#5, %at#6), %k_tile signal %kv_full[%slot]
                  cta_group(CTAS) : !k_tensor, !k_buffer, !ring
              %n2 = arith.addi %n1, %c1 : i32
              scf.yield %n2 : i32
            }
            %v_slot, %v_phase = tlx.ring %last stages(STAGES) : i32
            %blocks_1 = arith.subi %blocks, %c1 : i32
            %v_row = arith.muli %blocks_1, %block_n : i32
            %v_tile = tlx.local_view %v_smem[%v_slot] : !v_buffers -> !v_buffer
            tlx.barrier_wait %kv_empty[%v_slot], %v_phase producer : !ring
            scf.if %leads {
              tlx.barrier_expect_bytes %kv_full[%v_slot], %v_tile cta_group(CTAS)
                  : !ring, !v_buffer
            }
            tlx.async_descriptor_load %v[%v_row, %kv_head, %v_column]
                segment(%at#5, %at#6), %v_tile signal %kv_full[%v_slot]
                cta_group(CTAS) : !v_tensor, !v_buffer, !ring
            %count_2 = arith.addi %last, %c1 : i32
            %tile_1 = arith.addi %tile, %c1 : i32
            scf.yield %count_2, %tile_1 : i32, i32
          } else {
            scf.yield %count, %tile : i32, i32
          }
          scf.yield %next#0, %next#1 : i32, i32
        }
        %more, %next_first, %next_end = func.call @next_share(
            %dynamic, %share, %response, %share_full, %share_empty, %item_starts,
            %ctas) : (i1, i32, !response, !bar, !bar, !tlx.ptr<i32>, i32)
            -> (i1, i32, i32)
        %share_1 = arith.addi %share, %c1 : i32
        scf.condition(%more) %share_1, %next_first, %next_end, %end#0, %end#1
            : i32, i32, i32, i32, i32
      } do {
      ^bb0(%share: i32, %first: i32, %stop: i32, %count_0: i32, %tile_0: i32):
        scf.yield %share, %first, %stop, %count_0, %tile_0 : i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @multiply warps(1) registers(OTHER_REGISTERS) {
      %half_n = arith.divui %block_n, %c2 : i32
      %sp0 = tlx.local_view %sp_tmem[%c0] : !sp_buffers -> !sp_buffer
      %s0 = tlx.local_slice %sp0[%c0, %c0] : !sp_buffer -> !s_buffer
      %p_place0 = tlx.local_slice %sp0[%c0, %p_at] : !sp_buffer -> !p_columns
      %p0 = tlx.local_reinterpret %p_place0 : !p_columns -> !p_buffer
      %p0_first = tlx.local_slice %p0[%c0, %c0] : !p_buffer -> !p_half
      %p0_second = tlx.local_slice %p0[%c0, %half_n] : !p_buffer -> !p_half
      %o0 = tlx.local_view %o_tmem[%c0] : !o_buffers -> !o_buffer
      %sp1 = tlx.local_view %sp_tmem[%c1] : !sp_buffers -> !sp_buffer
      %s1 = tlx.local_slice %sp1[%c0, %c0] : !sp_buffer -> !s_buffer
      %p_place1 = tlx.local_slice %sp1[%c0, %p_at] : !sp_buffer -> !p_columns
      %p1 = tlx.local_reinterpret %p_place1 : !p_columns -> !p_buffer
      %p1_first = tlx.local_slice %p1[%c0, %c0] : !p_buffer -> !p_half
      %p1_second = tlx.local_slice %p1[%c0, %half_n] : !p_buffer -> !p_half
      %o1 = tlx.local_view %o_tmem[%c1] : !o_buffers -> !o_buffer
      %true = arith.constant true
      %waits = arith.xori %in_order, %true : i1
      %shares:6 = scf.while (
          %share = %c0, %first = %first_item, %stop = %end_item, %count_0 = %c0,
          %step_0 = %c0, %tile_0 = %c0)
          : (i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32, i32) {
          // The leader's, for both.
        %own_first = arith.select %leads, %first, %stop : i32
        %end:3 = scf.for %item = %own_first to %stop step %c1
            iter_args(%count = %count_0, %step = %step_0, %tile = %tile_0)
            -> (i32, i32, i32) : i32 {
          %at:7 = func.call @decode(
              %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32)
          %row_end = arith.addi %at#1, %tile_rows : i32
          %blocks = func.call @count_blocks(%row_end, %at#3, %at#6, %block_n,
              %causal) : (i32, i32, i32, i32, i1) -> i32
          %has_keys = arith.cmpi sgt, %blocks, %c0 : i32
          %next:3 = scf.if %has_keys -> (i32, i32, i32) {
            %q_slot, %q_phase = tlx.ring %tile stages(Q_STAGES) : i32
            %q_tile = tlx.local_view %q_smem[%q_slot] : !q_buffers -> !q_buffer
            %q0 = tlx.local_slice %q_tile[%c0, %c0] : !q_buffer -> !q_rows
            %q1 = tlx.local_slice %q_tile[%c128, %c0] : !q_buffer -> !q_rows
            %slot0, %phase0 = tlx.ring %count stages(STAGES) : i32
            %k0 = tlx.local_view %k_smem[%slot0] : !k_buffers -> !k_buffer
            %k0_t = tlx.local_trans %k0 : !k_buffer -> !kt_buffer
            tlx.barrier_wait %kv_full[%slot0], %phase0 : !ring
            tlx.barrier_wait %q_full[%q_slot], %q_phase : !q_ring
            tlx.async_dot %q0, %k0_t, %s0 cta_group(CTAS) : !q_rows, !kt_buffer, !s_buffer
            tlx.tcgen05_commit %s_full[%c0] multicast(%all) : !halves
            tlx.async_dot %q1, %k0_t, %s1 cta_group(CTAS) : !q_rows, !kt_buffer, !s_buffer
            tlx.tcgen05_commit %s_full[%c1] multicast(%all) : !halves
            tlx.tcgen05_commit %kv_empty[%slot0] multicast(%all) : !ring

            %count_1 = arith.addi %count, %c1 : i32
            %last:2 = scf.for %j = %c1 to %blocks step %c1
                iter_args(%n = %count_1, %s = %step) -> (i32, i32) : i32 {
              %more = arith.cmpi sgt, %j, %c1 : i32
              %v_slot, %v_phase = tlx.ring %n stages(STAGES) : i32
              %v_tile = tlx.local_view %v_smem[%v_slot] : !v_buffers -> !v_buffer
              %v_first = tlx.local_slice %v_tile[%c0, %c0] : !v_buffer -> !v_half
              %v_second = tlx.local_slice %v_tile[%half_n, %c0] : !v_buffer -> !v_half
              %n1 = arith.addi %n, %c1 : i32
              %slot, %phase = tlx.ring %n1 stages(STAGES) : i32
              %k_tile = tlx.local_view %k_smem[%slot] : !k_buffers -> !k_buffer
              %k_t = tlx.local_trans %k_tile : !k_buffer -> !kt_buffer
              %s_slot, %s_phase = tlx.ring %s stages(1) : i32

              tlx.barrier_wait %kv_full[%v_slot], %v_phase : !ring
              tlx.barrier_wait %o_ready[%c0], %s_phase producer : !halves
              tlx.barrier_wait %p_half[%c0], %s_phase : !halves
              tlx.async_dot %p0_first, %v_first, %o0 accumulate(%more) cta_group(CTAS)
                  : !p_half, !v_half, !o_buffer
              tlx.barrier_wait %p_full[%c0], %s_phase : !halves
              tlx.async_dot %p0_second, %v_second, %o0 accumulate(%true) cta_group(CTAS)
                  : !p_half, !v_half, !o_buffer
              scf.if %waits {
                tlx.tcgen05_commit %p_empty[%c0] : !halves
                tlx.barrier_wait %p_empty[%c0], %s_phase : !halves
              }
              tlx.barrier_wait %kv_full[%slot], %phase : !ring
              tlx.async_dot %q0, %k_t, %s0 cta_group(CTAS) : !q_rows, !kt_buffer, !s_buffer
              tlx.tcgen05_commit %s_full[%c0] multicast(%all) : !halves

              tlx.barrier_wait %o_ready[%c1], %s_phase producer : !halves
              tlx.barrier_wait %p_half[%c1], %s_phase : !halves
              tlx.async_dot %p1_first, %v_first, %o1 accumulate(%more) cta_group(CTAS)
                  : !p_half, !v_half, !o_buffer
              tlx.barrier_wait %p_full[%c1], %s_phase : !halves
              tlx.async_dot %p1_second, %v_second, %o1 accumulate(%true) cta_group(CTAS)
                  : !p_half, !v_half, !o_buffer
              scf.if %waits {
                tlx.tcgen05_commit %p_empty[%c1] : !halves
                tlx.barrier_wait %p_empty[%c1], %s_phase : !halves
              }
              tlx.tcgen05_commit %kv_empty[%v_slot] multicast(%all) : !ring
              tlx.async_dot %q1, %k_t, %s1 cta_group(CTAS) : !q_rows, !kt_buffer, !s_buffer
              tlx.tcgen05_commit %s_full[%c1] multicast(%all) : !halves
              tlx.tcgen05_commit %kv_empty[%slot] multicast(%all) : !ring
              %n2 = arith.addi %n1, %c1 : i32
              %s_1 = arith.addi %s, %c1 : i32
              scf.yield %n2, %s_1 : i32, i32
            }
            tlx.tcgen05_commit %q_empty[%q_slot] multicast(%all) : !q_ring

            // The last values.
            %more = arith.cmpi sgt, %blocks, %c1 : i32
            %v_slot, %v_phase = tlx.ring %last#0 stages(STAGES) : i32
            %v_tile = tlx.local_view %v_smem[%v_slot] : !v_buffers -> !v_buffer
            %v_first = tlx.local_slice %v_tile[%c0, %c0] : !v_buffer -> !v_half
            %v_second = tlx.local_slice %v_tile[%half_n, %c0] : !v_buffer -> !v_half
            %s_slot, %s_phase = tlx.ring %last#1 stages(1) : i32
            tlx.barrier_wait %kv_full[%v_slot], %v_phase : !ring
            tlx.barrier_wait %o_ready[%c0], %s_phase producer : !halves
            tlx.barrier_wait %p_half[%c0], %s_phase : !halves
            tlx.async_dot %p0_first, %v_first, %o0 accumulate(%more) cta_group(CTAS)
                : !p_half, !v_half, !o_buffer
            tlx.barrier_wait %p_full[%c0], %s_phase : !halves
            tlx.async_dot %p0_second, %v_second, %o0 accumulate(%true) cta_group(CTAS)
                : !p_half, !v_half, !o_buffer
            tlx.tcgen05_commit %o_full[%c0] multicast(%all) : !halves
            scf.if %waits {
              tlx.tcgen05_commit %p_empty[%c0] : !halves
              tlx.barrier_wait %p_empty[%c0], %s_phase : !halves
            }
            tlx.barrier_wait %o_ready[%c1], %s_phase producer : !halves
            tlx.barrier_wait %p_half[%c1], %s_phase : !halves
            tlx.async_dot %p1_first, %v_first, %o1 accumulate(%more) cta_group(CTAS)
                : !p_half, !v_half, !o_buffer
            tlx.barrier_wait %p_full[%c1], %s_phase : !halves
            tlx.async_dot %p1_second, %v_second, %o1 accumulate(%true) cta_group(CTAS)
                : !p_half, !v_half, !o_buffer
            tlx.tcgen05_commit %kv_empty[%v_slot] multicast(%all) : !ring
            tlx.tcgen05_commit %o_full[%c1] multicast(%all) : !halves
            scf.if %waits {
              tlx.tcgen05_commit %p_empty[%c1] : !halves
              tlx.barrier_wait %p_empty[%c1], %s_phase : !halves
            }

            %count_2 = arith.addi %last#0, %c1 : i32
            %step_1 = arith.addi %last#1, %c1 : i32
            %tile_1 = arith.addi %tile, %c1 : i32
            scf.yield %count_2, %step_1, %tile_1 : i32, i32, i32
          } else {
            scf.yield %count, %step, %tile : i32, i32, i32
          }
          scf.yield %next#0, %next#1, %next#2 : i32, i32, i32
        }
        %more, %next_first, %next_end = func.call @next_share(
            %dynamic, %share, %response, %share_full, %share_empty, %item_starts,
            %ctas) : (i1, i32, !response, !bar, !bar, !tlx.ptr<i32>, i32)
            -> (i1, i32, i32)
        %share_1 = arith.addi %share, %c1 : i32
        scf.condition(%more) %share_1, %next_first, %next_end, %end#0, %end#1, %end#2
            : i32, i32, i32, i32, i32, i32
      } do {
      ^bb0(%share: i32, %first: i32, %stop: i32, %count_0: i32, %step_0: i32, %tile_0: i32):
        scf.yield %share, %first, %stop, %count_0, %step_0, %tile_0 : i32, i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @store warps(1) registers(OTHER_REGISTERS) {
      %shares:4 = scf.while (
          %share = %c0, %first = %first_item, %stop = %end_item, %before = %c0)
          : (i32, i32, i32, i32) -> (i32, i32, i32, i32) {
        scf.for %item = %first to %stop step %c1 : i32 {
          %at:7 = func.call @decode(
              %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
              %broadcast_query) : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>,
              i32, i32, i1, i1) -> (i32, i32, i32, i32, i32, i32, i32)
          %within_share = arith.subi %item, %first : i32
          %passed = arith.addi %within_share, %before : i32
          %slot, %phase = tlx.ring %passed stages(1) : i32
          scf.for %half = %c0 to %c2 step %c1 : i32 {
            %out_tile = tlx.local_view %out_smem[%half] : !out_buffers -> !out_buffer
            %half_row = arith.muli %half, %c128 : i32
            %first_row = arith.addi %half_row, %own_row : i32
            %row = arith.addi %at#1, %first_row : i32
            tlx.barrier_wait %out_full[%half], %phase : !halves
            tlx.async_descriptor_store %o[%row, %at#0, %c0] segment(%at#4, %at#3),
                %out_tile : !o_tensor, !out_buffer
            tlx.async_descriptor_store_wait pending(0)
            tlx.barrier_arrive %out_empty[%half] : !halves
          }
        }
        %more, %next_first, %next_end = func.call @next_share(
            %dynamic, %share, %response, %share_full, %share_empty, %item_starts,
            %ctas) : (i1, i32, !response, !bar, !bar, !tlx.ptr<i32>, i32)
            -> (i1, i32, i32)
        %share_1 = arith.addi %share, %c1 : i32
        %count_of_share = arith.subi %stop, %first : i32
        %before_1 = arith.addi %before, %count_of_share : i32
        scf.condition(%more) %share_1, %next_first, %next_end, %before_1
            : i32, i32, i32, i32
      } do {
      ^bb0(%share: i32, %first: i32, %stop: i32, %before: i32):
        scf.yield %share, %first, %stop, %before : i32, i32, i32, i32
      }
    }

    tlx.async_task @schedule warps(1) registers(OTHER_REGISTERS) {
      // While a share is worked on, the next one is asked for: of a pair by the
      // leader, for both.
      scf.if %dynamic {
        %shares = scf.while (%share = %c0) : (i32) -> (i32) {
          %slot, %phase = tlx.ring %share stages(1) : i32
          tlx.barrier_expect_bytes %share_full, %response : !bar, !response
          scf.if %leads {
            tlx.barrier_wait %share_empty, %phase producer : !bar
            tlx.clc_try_cancel %response signal %share_full multicast : !response, !bar
          }
          %more, %first, %stop = func.call @next_share(
              %dynamic, %share, %response, %share_full, %share_empty, %item_starts,
              %ctas) : (i1, i32, !response, !bar, !bar, !tlx.ptr<i32>, i32)
              -> (i1, i32, i32)
          %share_1 = arith.addi %share, %c1 : i32
          scf.condition(%more) %share_1 : i32
        } do {
        ^bb0(%share: i32):
          scf.yield %share : i32
        }
      }
    }
  }
}
