// Attention backward for Blackwell, key-stationary, by pairs of CTAs: jagged, dense or with
// a broadcast query.
//
// Computes what bwd.mlir does, for D 128. A pair takes tiles of 256 keys, items
// item_starts[pair] to item_starts[pair + 1] of the work list. Each CTA has 128 of them to
// itself: their rows of S^T, dP^T, dV and dK. Of a block of 128 queries each has half, by
// rows as a factor of S and dP, by columns as a factor of dK and dV. Of dQ, which sums over
// the keys of both, it has the rows of its 64 queries, so that it adds half as much to
// global memory as a CTA alone; for that the CTAs exchange what they have of dS for each
// other's queries.
//
//   role       warps  does
//   @compute   4 x 2  each replica owns 64 of the queries: S^T to P^T, dP^T to dS^T, a key
//                     in each thread; dS for this CTA's queries to shared memory, for the
//                     other's to the other CTA
//   @reduce    4      adds dQ to global memory; at the end of a tile copies dV and dK out
//   @load      1      starts every copy: K, Q, then dO, V, Q, dO by columns, K by columns, …
//   @multiply  1      the leader's, of rank 0, starts every product, each of both CTAs
//   @relay     1      tells the leader, and the other CTA, that the other's dS has come
//
// The products of a step are
//     S[n] | dK[n-1] | dP[n] | dQ[n-1] | dV[n]
// S[n] becomes P[n] while dK and dP are computed, and dP[n] becomes dS[n] while dQ, dV and
// S[n+1] are. dQ[n-1] comes late, since half of its dS has to come from the other CTA.
// The steps of all tiles are one chain.
//
//   barrier     count  arrives                waits        phase completes when
//   k_full      1      @load (bytes of K)     @multiply    a tile's keys are there
//   k_empty     1      @multiply (commit)     @load        its last S is done
//   v_full      1      @load (bytes of V)     @multiply    a tile's values are there
//   v_empty     1      @multiply (commit)     @load        its last dP is done
//   kt_full     1      @load (bytes)          @multiply    a tile's keys, by columns, are
//   kt_empty    1      @multiply (commit)     @load        its last dQ is done
//   q_full      1      @load (bytes of Q)     @multiply    a step's queries are there
//   q_empty     1      @multiply (commit)     @load        its S is done
//   qt_full     1      @load (bytes)          @multiply    its queries, by columns, are
//   qt_empty    1      @multiply (commit)     @load        its dK is done
//   do_full     1      @load (bytes of dO)    @multiply    its gradients are there
//   do_empty    1      @multiply (commit)     @load        its dP is done
//   dot_full    1      @load (bytes)          @multiply    its gradients, by columns, are
//   dot_empty   1      @multiply (commit)     @load        its dV is done
//   rows_full   1      @load (LSE and delta)  @compute     its LSE and delta are there
//   rows_empty  2      @compute               @load        they have been read
//   s_full      1      @multiply (commit)     @compute     its S is there
//   p_full      2      @compute               @multiply    a replica's P is in its place
//   dp_full     1      @multiply (commit)     @compute     its dP is there
//   ds_full     2      @compute               @multiply    a replica's dS is in its place
//   ds_empty    1      @multiply (commit)     @compute     its dQ is done
//   out_empty   1      the other's @relay     @compute     the dS sent has arrived
//   ds_here     2      @compute, @relay       @relay       dS of all keys for this CTA's
//                      (and the bytes sent)                queries is in shared memory
//   ds_all      2      @relay                 @multiply    it is in that of both CTAs
//   dq_full     1      @multiply (commit)     @reduce      its dQ is there
//   dq_empty    2      @reduce                @multiply    dQ is in registers
//   dv_full     1      @multiply (commit)     @reduce      a tile's dV is there
//   dv_empty    2      @reduce                @multiply    it is in registers
//   dk_full     1      @multiply (commit)     @reduce      a tile's dK is there
//   dk_empty    2      @reduce                @multiply    it is in registers
//
//   What @multiply waits for is at the leader, for both CTAs: copies deliver their bytes
//   there, and tasks tell it there. What it commits is told to both. Everything else is
//   each CTA's own.
//
//   named 1     256 threads: replica 0 of @compute has S in registers, so that the other
//               one's P may be written behind its own
//
//   tensor memory: S 128 columns, dP 128, dV 128, dK 128, which is all there is. P is the
//     first 64 columns of S, dQ the other 64: rows 0 to 63 of its columns 0 to 63, and below
//     these of its columns 64 to 127. It may be written once P is there, and S[n+1] once
//     @reduce has read it. dS is the first 32 columns of each replica's 64 of dP.
//   shared memory: K, V and K by columns 32 K each, Q, dO and these by columns 16 K each, dS
//     32 K, dS to be sent 16 K, pieces of dQ 2 x 8 K, through which dV and dK leave too, LSE
//     and delta 2 K: all there is but 0.6 K
//   registers: @compute 2 x 152, @reduce 136, others 72: 512 for 4 warps each
//
// Blocks of queries come in descending order, so that those on the diagonal come last.
// Hidden scores are -inf: keys past the end or, if causal, after the query. Queries past
// the end read LSE = +inf, so that their P is 0. A half that would begin past the end
// begins with the last row instead, and is hidden all the same.

!q_tensor = !tlx.tensormap<[64, 1, 64], ELEMENT, ragged>
!kv_tensor = !tlx.tensormap<[BLOCK_N, 1, 64], ELEMENT, ragged>
!dkv_tensor = !tlx.tensormap<[64, 1, 32], ELEMENT, ragged>
!dq_tensor = !tlx.tensormap<[64, 1, 16], f32, ragged>
!rows_tensor = !tlx.tensormap<[1, BLOCK_M], f32>

// Two tiles of 64 columns each: beside each other, or one below the other.
!q_tiles = !tlx.memdesc<[2, 64, 64], ELEMENT>
!q_tile = !tlx.memdesc<[64, 64], ELEMENT>
!q_rows = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!q_rows_t = !tlx.memdesc<[HEAD_DIM, 64], ELEMENT, transposed>
!kv_tiles = !tlx.memdesc<[2, BLOCK_N, 64], ELEMENT>
!kv_tile = !tlx.memdesc<[BLOCK_N, 64], ELEMENT>
!kv_rows = !tlx.memdesc<[BLOCK_N, HEAD_DIM], ELEMENT>
!k_columns = !tlx.memdesc<[2 * BLOCK_N, 64], ELEMENT>
!ds_buffer = !tlx.memdesc<[64, 2 * BLOCK_N], ELEMENT, transposed>
!rows_buffers = !tlx.memdesc<[2, BLOCK_M], f32>
!rows_buffer = !tlx.memdesc<[BLOCK_M], f32>
!rows_halves = !tlx.memdesc<[4, BLOCK_M floordiv 2], f32>
!rows_half = !tlx.memdesc<[BLOCK_M floordiv 2], f32>
!dq_boxes = !tlx.memdesc<[4, 64, 16], f32>
!dq_box = !tlx.memdesc<[64, 16], f32>
!dq_pieces = !tlx.memdesc<[2, 128, 16], f32>
!dq_piece = !tlx.memdesc<[128, 16], f32>
!dkv_boxes = !tlx.memdesc<[4, 64, 32], ELEMENT>
!dkv_box = !tlx.memdesc<[64, 32], ELEMENT>
!dkv_pieces = !tlx.memdesc<[2, BLOCK_N, 32], ELEMENT>
!dkv_piece = !tlx.memdesc<[BLOCK_N, 32], ELEMENT>

!s_buffer = !tlx.memdesc<[BLOCK_N, BLOCK_M], f32, tensor>
!s_half = !tlx.memdesc<[BLOCK_N, 64], f32, tensor>
!p_columns = !tlx.memdesc<[BLOCK_N, 32], f32, tensor>
!p_half = !tlx.memdesc<[BLOCK_N, 64], ELEMENT, tensor>
!dkv_sum = !tlx.memdesc<[BLOCK_N, HEAD_DIM], f32, tensor>
!dkv_part = !tlx.memdesc<[BLOCK_N, 32], f32, tensor>
!dq_part = !tlx.memdesc<[BLOCK_N, 16], f32, tensor>

!one = !tlx.mbarrier<[1]>
!two = !tlx.mbarrier<[2]>

!scores = tensor<128x64xf32, #tlx.dims<[128, 64], ELEMENT>>
!hidden = tensor<128x64xi1, #tlx.dims<[128, 64], ELEMENT>>
!weights = tensor<128x64xbf16, #tlx.dims<[128, 64], ELEMENT>>
!part = tensor<128x32xf32, #tlx.dims<[128, 32], ELEMENT>>
!part_16 = tensor<128x32xbf16, #tlx.dims<[128, 32], ELEMENT>>
!piece = tensor<128x16xf32>
!rows = tensor<64xf32>
!row = tensor<1x64xf32>
!keys = tensor<128xi32>
!decode = (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i32, i1, i1, i32, i1)
    -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)
!load_q = (!q_tensor, i32, i32, i32, i32, i32, i32, i32, !q_tiles, !one, !one, i32, i1)
    -> ()
!load_kv = (!kv_tensor, i32, i32, i32, i32, i32, i32, i32, !kv_tiles, !one, !one, i32, i1)
    -> ()

// A work item: the sequence, first key row and KV head of a tile of both CTAs, and
// where they lie. Items are four 32-bit integers; the host deals them to the CTAs. The rows of
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

// LSE or delta of 64 queries, the same for all keys. A fence follows before the rows are
// given back.
func.func private @read_rows(%rows: !rows_halves, %half: i32) -> !scores {
  %place = tlx.local_view %rows[%half] : !rows_halves -> !rows_half
  %loaded = tlx.local_load %place unfenced : !rows_half -> !rows
  %row = tlx.expand_dims %loaded dim 0 : !rows -> !row
  %all = tlx.broadcast %row : !row -> !scores
  return %all : !scores
}

// The first row of a half: that of a row of the sequence, wherever it lies.
func.func private @within(%row: i32, %length: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %last = arith.subi %length, %c1 : i32
  %begin = arith.minsi %row, %last : i32
  return %begin : i32
}

// Where P^T of 64 queries goes once S^T has been read.
func.func private @p_of(%s: !s_buffer, %replica: i32) -> !p_half {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %column = arith.muli %replica, %c32 : i32
  %place = tlx.local_slice %s[%c0, %column] : !s_buffer -> !p_columns
  %p = tlx.local_reinterpret %place : !p_columns -> !p_half
  return %p : !p_half
}

// Where dS^T of 64 queries goes once dP^T of them has been read.
func.func private @ds_of(%dp: !s_buffer, %replica: i32) -> !p_half {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %column = arith.muli %replica, %c64 : i32
  %place = tlx.local_slice %dp[%c0, %column] : !s_buffer -> !p_columns
  %ds = tlx.local_reinterpret %place : !p_columns -> !p_half
  return %ds : !p_half
}

// Starts a copy of two tiles of queries or their gradients, beside each other or one below
// the other, of both CTAs together.
func.func private @load_q(
    %x: !q_tensor, %row_0: i32, %row_1: i32, %column_0: i32, %column_1: i32, %head: i32,
    %start: i32, %length: i32, %tiles: !q_tiles, %full: !one, %empty: !one, %phase: i32,
    %leads: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %tile_0 = tlx.local_view %tiles[%c0] : !q_tiles -> !q_tile
  %tile_1 = tlx.local_view %tiles[%c1] : !q_tiles -> !q_tile
  %begin_0 = func.call @within(%row_0, %length) : (i32, i32) -> i32
  %begin_1 = func.call @within(%row_1, %length) : (i32, i32) -> i32
  tlx.barrier_wait %empty, %phase producer : !one
  scf.if %leads {
    tlx.barrier_expect_bytes %full, %tiles cta_group(2) : !one, !q_tiles
  }
  tlx.async_descriptor_load %x[%begin_0, %head, %column_0] segment(%start, %length),
      %tile_0 signal %full cta_group(2) : !q_tensor, !q_tile, !one
  tlx.async_descriptor_load %x[%begin_1, %head, %column_1] segment(%start, %length),
      %tile_1 signal %full cta_group(2) : !q_tensor, !q_tile, !one
  return
}

// The same of keys or values.
func.func private @load_kv(
    %x: !kv_tensor, %row_0: i32, %row_1: i32, %column_0: i32, %column_1: i32, %head: i32,
    %start: i32, %length: i32, %tiles: !kv_tiles, %full: !one, %empty: !one, %phase: i32,
    %leads: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %tile_0 = tlx.local_view %tiles[%c0] : !kv_tiles -> !kv_tile
  %tile_1 = tlx.local_view %tiles[%c1] : !kv_tiles -> !kv_tile
  %begin_0 = func.call @within(%row_0, %length) : (i32, i32) -> i32
  %begin_1 = func.call @within(%row_1, %length) : (i32, i32) -> i32
  tlx.barrier_wait %empty, %phase producer : !one
  scf.if %leads {
    tlx.barrier_expect_bytes %full, %tiles cta_group(2) : !one, !kv_tiles
  }
  tlx.async_descriptor_load %x[%begin_0, %head, %column_0] segment(%start, %length),
      %tile_0 signal %full cta_group(2) : !kv_tensor, !kv_tile, !one
  tlx.async_descriptor_load %x[%begin_1, %head, %column_1] segment(%start, %length),
      %tile_1 signal %full cta_group(2) : !kv_tensor, !kv_tile, !one
  return
}

// Starts W^T X, added to a sum if there is `more`; the halves of W^T in tensor memory are
// there one after the other.
func.func private @start_product(
    %first: !p_half, %second: !p_half, %full: !two, %phase: i32, %x: !q_tiles,
    %sum: !dkv_sum, %more: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %first_x = tlx.local_view %x[%c0] : !q_tiles -> !q_tile
  %second_x = tlx.local_view %x[%c1] : !q_tiles -> !q_tile
  tlx.barrier_wait %full[%c0], %phase : !two
  tlx.async_dot %first, %first_x, %sum accumulate(%more) cta_group(2)
      : !p_half, !q_tile, !dkv_sum
  tlx.barrier_wait %full[%c1], %phase : !two
  tlx.async_dot %second, %second_x, %sum accumulate(%true) cta_group(2)
      : !p_half, !q_tile, !dkv_sum
  return
}

// Starts dK of step `n`, of the `tile`th tile.
func.func private @start_dk(
    %n: i32, %tile: i32, %is_first: i1, %is_last: i1, %qt: !q_tiles, %dp: !s_buffer,
    %dk: !dkv_sum, %ds_full: !two, %qt_full: !one, %qt_empty: !one, %dk_full: !one,
    %dk_empty: !one, %both: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  %step_slot, %step_phase = tlx.ring %n stages(1) : i32
  %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
  %first = func.call @ds_of(%dp, %c0) : (!s_buffer, i32) -> !p_half
  %second = func.call @ds_of(%dp, %c1) : (!s_buffer, i32) -> !p_half
  %more = arith.xori %is_first, %true : i1
  tlx.barrier_wait %qt_full, %step_phase : !one
  scf.if %is_first {
    tlx.barrier_wait %dk_empty, %tile_phase producer : !one
  }
  func.call @start_product(%first, %second, %ds_full, %step_phase, %qt, %dk, %more)
      : (!p_half, !p_half, !two, i32, !q_tiles, !dkv_sum, i1) -> ()
  tlx.tcgen05_commit %qt_empty multicast(%both) : !one
  scf.if %is_last {
    tlx.tcgen05_commit %dk_full multicast(%both) : !one
  }
  return
}

// Starts dQ of step `n`, of the `tile`th tile.
func.func private @start_dq(
    %n: i32, %tile: i32, %is_first: i1, %is_last: i1, %dst: !kv_tiles, %kt: !kv_tiles,
    %dq: !s_half, %ds_all: !one, %ds_empty: !one, %kt_full: !one, %kt_empty: !one,
    %dq_full: !one, %both: i32) {
  %step_slot, %step_phase = tlx.ring %n stages(1) : i32
  %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
  %dst_rows = tlx.local_reinterpret %dst : !kv_tiles -> !k_columns
  %ds = tlx.local_trans %dst_rows : !k_columns -> !ds_buffer
  %k_columns = tlx.local_reinterpret %kt : !kv_tiles -> !k_columns
  scf.if %is_first {
    tlx.barrier_wait %kt_full, %tile_phase : !one
  }
  tlx.barrier_wait %ds_all, %step_phase : !one
  tlx.async_dot %ds, %k_columns, %dq cta_group(2) : !ds_buffer, !k_columns, !s_half
  scf.if %is_last {
    tlx.tcgen05_commit %kt_empty multicast(%both) : !one
  }
  tlx.tcgen05_commit %ds_empty multicast(%both) : !one
  // Who waits for dQ learns that the commits before have reached the other CTA.
  tlx.tcgen05_commit %dq_full multicast(%both) : !one
  return
}

// Adds 16 columns of either half of dQ to global memory; returns the number of pieces
// started so far, each of two copies.
func.func private @add_piece(
    %piece: !piece, %boxes: !dq_boxes, %pieces: i32, %dq_acc: !dq_tensor, %row: i32,
    %head: i32, %column: i32, %start: i32, %length: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %slot, %phase = tlx.ring %pieces stages(2) : i32
  %places = tlx.local_reinterpret %boxes : !dq_boxes -> !dq_pieces
  %place = tlx.local_view %places[%slot] : !dq_pieces -> !dq_piece
  %first = arith.shli %slot, %c1 : i32
  %second = arith.addi %first, %c1 : i32
  %box_0 = tlx.local_view %boxes[%first] : !dq_boxes -> !dq_box
  %box_1 = tlx.local_view %boxes[%second] : !dq_boxes -> !dq_box
  %column_1 = arith.addi %column, %c64 : i32
  // The piece before the last has to have left the buffer.
  tlx.async_descriptor_store_wait pending(2)
  tlx.local_store %piece, %place : !piece, !dq_piece
  tlx.async_descriptor_reduce %dq_acc[%row, %head, %column] segment(%start, %length),
      %box_0 : !dq_tensor, !dq_box
  tlx.async_descriptor_reduce %dq_acc[%row, %head, %column_1] segment(%start, %length),
      %box_1 : !dq_tensor, !dq_box
  %next = arith.addi %pieces, %c1 : i32
  return %next : i32
}

// Copies 32 columns of a gradient of keys or values out, in two boxes.
func.func private @store_piece(
    %sum: !part, %factor: f32, %boxes: !dkv_boxes, %pieces: i32, %gradient: !dkv_tensor,
    %row: i32, %head: i32, %column: i32, %start: i32, %length: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %slot, %phase = tlx.ring %pieces stages(2) : i32
  %places = tlx.local_reinterpret %boxes : !dkv_boxes -> !dkv_pieces
  %place = tlx.local_view %places[%slot] : !dkv_pieces -> !dkv_piece
  %first = arith.shli %slot, %c1 : i32
  %second = arith.addi %first, %c1 : i32
  %box_0 = tlx.local_view %boxes[%first] : !dkv_boxes -> !dkv_box
  %box_1 = tlx.local_view %boxes[%second] : !dkv_boxes -> !dkv_box
  %row_1 = arith.addi %row, %c64 : i32
  %factors = tlx.splat %factor : f32 -> !part
  %scaled = arith.mulf %sum, %factors : !part
  %rounded = arith.truncf %scaled : !part to !part_16
  tlx.async_descriptor_store_wait pending(2)
  tlx.local_store %rounded, %place : !part_16, !dkv_piece
  tlx.async_descriptor_store %gradient[%row, %head, %column] segment(%start, %length),
      %box_0 : !dkv_tensor, !dkv_box
  tlx.async_descriptor_store %gradient[%row_1, %head, %column] segment(%start, %length),
      %box_1 : !dkv_tensor, !dkv_box
  %next = arith.addi %pieces, %c1 : i32
  return %next : i32
}

// The 32 columns of a sum from `column`, in registers.
func.func private @take_part(%sum: !dkv_sum, %column: i32) -> !part {
  %c0 = arith.constant 0 : i32
  %part = tlx.local_slice %sum[%c0, %column] : !dkv_sum -> !dkv_part
  %values = tlx.local_load %part : !dkv_part -> !part
  return %values : !part
}

// Takes a tile's gradient of keys or values out of tensor memory and copies it out. The
// last half is in registers before there is room for it in shared memory.
func.func private @copy_out(
    %sum: !dkv_sum, %full: !one, %empty: !one, %tile: i32, %factor: f32,
    %boxes: !dkv_boxes, %first_piece: i32, %gradient: !dkv_tensor, %row: i32, %head: i32,
    %start: i32, %length: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c96 = arith.constant 96 : i32
  %slot, %phase = tlx.ring %tile stages(1) : i32
  tlx.barrier_wait %full, %phase : !one
  %half = scf.for %column = %c0 to %c64 step %c32
      iter_args(%pieces = %first_piece) -> (i32) : i32 {
    %values = func.call @take_part(%sum, %column) : (!dkv_sum, i32) -> !part
    %next = func.call @store_piece(%values, %factor, %boxes, %pieces, %gradient, %row,
        %head, %column, %start, %length) : (!part, f32, !dkv_boxes, i32, !dkv_tensor,
        i32, i32, i32, i32, i32) -> i32
    scf.yield %next : i32
  }
  %values_2 = func.call @take_part(%sum, %c64) : (!dkv_sum, i32) -> !part
  %values_3 = func.call @take_part(%sum, %c96) : (!dkv_sum, i32) -> !part
  tlx.remote_barrier_arrive %empty mask(%c1) : !one
  %pieces_3 = func.call @store_piece(%values_2, %factor, %boxes, %half, %gradient, %row,
      %head, %c64, %start, %length) : (!part, f32, !dkv_boxes, i32, !dkv_tensor, i32,
      i32, i32, i32, i32) -> i32
  %end = func.call @store_piece(%values_3, %factor, %boxes, %pieces_3, %gradient, %row,
      %head, %c96, %start, %length) : (!part, f32, !dkv_boxes, i32, !dkv_tensor, i32,
      i32, i32, i32, i32) -> i32
  return %end : i32
}

// The 16 columns of tensor memory from `column` of dQ, in registers.
func.func private @take_piece(%sum: !s_half, %column: i32) -> !piece {
  %c0 = arith.constant 0 : i32
  %part = tlx.local_slice %sum[%c0, %column] : !s_half -> !dq_part
  %values = tlx.local_load %part : !dq_part -> !piece
  return %values : !piece
}

// Takes dQ of step `n` out of tensor memory and adds it to global memory. All is in
// registers before its buffers are free, so that the products go on.
func.func private @add_out(
    %sum: !s_half, %full: !one, %empty: !one, %n: i32, %boxes: !dq_boxes,
    %first_piece: i32, %dq_acc: !dq_tensor, %row: i32, %head: i32, %start: i32,
    %length: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %c48 = arith.constant 48 : i32
  %slot, %phase = tlx.ring %n stages(1) : i32
  tlx.barrier_wait %full, %phase : !one
  %piece_0 = func.call @take_piece(%sum, %c0) : (!s_half, i32) -> !piece
  %piece_1 = func.call @take_piece(%sum, %c16) : (!s_half, i32) -> !piece
  %piece_2 = func.call @take_piece(%sum, %c32) : (!s_half, i32) -> !piece
  %piece_3 = func.call @take_piece(%sum, %c48) : (!s_half, i32) -> !piece
  tlx.remote_barrier_arrive %empty mask(%c1) : !one
  %pieces_1 = func.call @add_piece(%piece_0, %boxes, %first_piece, %dq_acc, %row, %head,
      %c0, %start, %length) : (!piece, !dq_boxes, i32, !dq_tensor, i32, i32, i32, i32,
      i32) -> i32
  %pieces_2 = func.call @add_piece(%piece_1, %boxes, %pieces_1, %dq_acc, %row, %head,
      %c16, %start, %length) : (!piece, !dq_boxes, i32, !dq_tensor, i32, i32, i32, i32,
      i32) -> i32
  %pieces_3 = func.call @add_piece(%piece_2, %boxes, %pieces_2, %dq_acc, %row, %head,
      %c32, %start, %length) : (!piece, !dq_boxes, i32, !dq_tensor, i32, i32, i32, i32,
      i32) -> i32
  %end = func.call @add_piece(%piece_3, %boxes, %pieces_3, %dq_acc, %row, %head,
      %c48, %start, %length) : (!piece, !dq_boxes, i32, !dq_tensor, i32, i32, i32, i32,
      i32) -> i32
  return %end : i32
}

tlx.kernel @attention_bwd(
    %q: !q_tensor, %k: !kv_tensor, %v: !kv_tensor, %do: !q_tensor,
    %dk: !dkv_tensor, %dv: !dkv_tensor, %dq_acc: !dq_tensor,
    %lse_log2: !rows_tensor, %delta: !rows_tensor, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>,
    %heads_per_group: i32, %q_length: i32, %k_length: i32, %scale_log2: f32,
    %scale: f32) cluster(CTAS) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  // Lengths come from the offsets; otherwise all are q_length and k_length.
  %jagged = tlx.param JAGGED = true : i1
  // All sequences share the q_length rows of q.
  %broadcast_query = tlx.param BROADCAST_QUERY = false : i1

  // How it is computed.
  %ctas = tlx.param CTAS = 2 in [2] : i32
  %block_m = tlx.param BLOCK_M = 128 in [128] : i32
  %block_n = tlx.param BLOCK_N = 128 in [128] : i32
  tlx.param COMPUTE_REGISTERS = 152 from 24 to 256 step 8 : i32
  tlx.param REDUCE_REGISTERS = 136 from 24 to 256 step 8 : i32
  tlx.param OTHER_REGISTERS = 72 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %true = arith.constant true
  %false = arith.constant false
  %cta = tlx.cta_id : i32
  %rank = tlx.cluster_rank : i32
  %leads = arith.cmpi eq, %rank, %c0 : i32
  %peer = arith.xori %rank, %c1 : i32
  %both = arith.constant 3 : i32
  // This CTA's keys of a tile, and its queries of a block.
  %own_key = arith.muli %rank, %block_n : i32
  %own_query = arith.muli %rank, %c64 : i32
  %pair = arith.divui %cta, %ctas : i32
  %next_pair = arith.addi %pair, %c1 : i32
  %first_item = tlx.global_load %item_starts[%pair] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_pair] : !tlx.ptr<i32>, i32 -> i32

  %k_smem = tlx.local_alloc : !kv_tiles
  %v_smem = tlx.local_alloc : !kv_tiles
  %kt_smem = tlx.local_alloc : !kv_tiles
  %dst_smem = tlx.local_alloc : !kv_tiles
  %out_smem = tlx.local_alloc : !kv_tile
  %q_smem = tlx.local_alloc : !q_tiles
  %qt_smem = tlx.local_alloc : !q_tiles
  %do_smem = tlx.local_alloc : !q_tiles
  %dot_smem = tlx.local_alloc : !q_tiles
  %dq_smem = tlx.local_alloc : !dq_boxes
  %dkv_smem = tlx.local_alloc alias(%dq_smem) : !dkv_boxes, !dq_boxes
  %lse_smem = tlx.local_alloc : !rows_buffers
  %delta_smem = tlx.local_alloc : !rows_buffers
  %s_tmem = tlx.local_alloc : !s_buffer
  %dp_tmem = tlx.local_alloc : !s_buffer
  %dv_tmem = tlx.local_alloc : !dkv_sum
  %dk_tmem = tlx.local_alloc : !dkv_sum
  %dq_tmem = tlx.local_slice %s_tmem[%c0, %c64] : !s_buffer -> !s_half
  %k_full = tlx.alloc_barriers arrivals(1) : !one
  %k_empty = tlx.alloc_barriers arrivals(1) : !one
  %v_full = tlx.alloc_barriers arrivals(1) : !one
  %v_empty = tlx.alloc_barriers arrivals(1) : !one
  %kt_full = tlx.alloc_barriers arrivals(1) : !one
  %kt_empty = tlx.alloc_barriers arrivals(1) : !one
  %q_full = tlx.alloc_barriers arrivals(1) : !one
  %q_empty = tlx.alloc_barriers arrivals(1) : !one
  %qt_full = tlx.alloc_barriers arrivals(1) : !one
  %qt_empty = tlx.alloc_barriers arrivals(1) : !one
  %do_full = tlx.alloc_barriers arrivals(1) : !one
  %do_empty = tlx.alloc_barriers arrivals(1) : !one
  %dot_full = tlx.alloc_barriers arrivals(1) : !one
  %dot_empty = tlx.alloc_barriers arrivals(1) : !one
  %rows_full = tlx.alloc_barriers arrivals(1) : !two
  %rows_empty = tlx.alloc_barriers arrivals(2) : !two
  %s_full = tlx.alloc_barriers arrivals(1) : !one
  %p_full = tlx.alloc_barriers arrivals(2) : !two
  %dp_full = tlx.alloc_barriers arrivals(1) : !one
  %ds_full = tlx.alloc_barriers arrivals(2) : !two
  %ds_empty = tlx.alloc_barriers arrivals(1) : !one
  %out_empty = tlx.alloc_barriers arrivals(1) : !one
  %ds_here = tlx.alloc_barriers arrivals(2) : !one
  %ds_all = tlx.alloc_barriers arrivals(2) : !one
  %dq_full = tlx.alloc_barriers arrivals(1) : !one
  %dq_empty = tlx.alloc_barriers arrivals(2) : !one
  %dv_full = tlx.alloc_barriers arrivals(1) : !one
  %dv_empty = tlx.alloc_barriers arrivals(2) : !one
  %dk_full = tlx.alloc_barriers arrivals(1) : !one
  %dk_empty = tlx.alloc_barriers arrivals(2) : !one
  tlx.cluster_arrive
  tlx.cluster_wait

  // `n` counts the steps that this pair takes, `tile` its tiles with queries.
  tlx.async_tasks {
    tlx.async_task @compute warps(4) registers(COMPUTE_REGISTERS) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %first_query = arith.muli %replica, %c64 : i32
      %is_first_replica = arith.cmpi eq, %replica, %c0 : i32
      // Whether its queries are this CTA's in dQ.
      %is_own = arith.cmpi eq, %replica, %rank : i32
      %s_half = tlx.local_slice %s_tmem[%c0, %first_query] : !s_buffer -> !s_half
      %dp_half = tlx.local_slice %dp_tmem[%c0, %first_query] : !s_buffer -> !s_half
      %p_half = func.call @p_of(%s_tmem, %replica) : (!s_buffer, i32) -> !p_half
      %ds_half = func.call @ds_of(%dp_tmem, %replica) : (!s_buffer, i32) -> !p_half
      // Where this CTA's keys are, here and there.
      %dst_tile = tlx.local_view %dst_smem[%rank] : !kv_tiles -> !kv_tile
      %lse_halves = tlx.local_reinterpret %lse_smem : !rows_buffers -> !rows_halves
      %delta_halves = tlx.local_reinterpret %delta_smem : !rows_buffers -> !rows_halves

      %c127 = arith.constant 127 : i32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %scales = tlx.splat %scale_log2 : f32 -> !scores
      %hidden_score = tlx.splat %minus_infinity : f32 -> !scores
      %key_in_tile = tlx.iota dim 0 : !keys
      %all_queries = tlx.splat %block_m : i32 -> !keys
      %none = tlx.splat %c0 : i32 -> !keys

      // An item is decoded while the one before it is computed.
      %first_at:10 = func.call @decode(
          %first_item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
          %broadcast_query, %block_m, %causal) : !decode
      %end:6 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %key = %first_at#1, %q_len = %first_at#3,
                    %k_len = %first_at#6, %first_row = %first_at#8,
                    %blocks = %first_at#9) -> (i32, i32, i32, i32, i32, i32) : i32 {
        %next_item = arith.addi %item, %c1 : i32
        %next:10 = func.call @decode(
            %next_item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode

        // The keys from this CTA's first to the end of the sequence, which may be none.
        // If causal, rows count from the query that is the first to see it.
        %first_key = arith.addi %key, %own_key : i32
        %left = arith.subi %k_len, %first_key : i32
        %sees_first = arith.subi %q_len, %left : i32
        %row_in_tile = arith.subi %first_row, %sees_first : i32
        %row_0 = arith.addi %row_in_tile, %first_query : i32
        // The last blocks are on the diagonal; past the end all keys are hidden.
        %rows_hidden = arith.subi %c127, %row_0 : i32
        %rows_positive = arith.maxsi %rows_hidden, %c0 : i32
        %diagonal_blocks = arith.ceildivui %rows_positive, %block_m : i32
        %before_diagonal = arith.subi %blocks, %diagonal_blocks : i32
        %first_diagonal = arith.select %causal, %before_diagonal, %blocks : i32
        %lacks_keys = arith.cmpi slt, %left, %c128 : i32
        %first_masked = arith.select %lacks_keys, %c0, %first_diagonal : i32
        %keys_left = tlx.splat %left : i32 -> !keys
        %exists = arith.cmpi slt, %key_in_tile, %keys_left : !keys

        %count_end = scf.for %g = %c0 to %heads_per_group step %c1
            iter_args(%n_g = %count) -> (i32) : i32 {
          %of_head = scf.for %j = %c0 to %blocks step %c1
              iter_args(%n = %n_g) -> (i32) : i32 {
            %slot, %phase = tlx.ring %n stages(2) : i32
            %step_slot, %step_phase = tlx.ring %n stages(1) : i32
            %first_half = arith.muli %slot, %c2 : i32
            %half = arith.addi %first_half, %replica : i32
            tlx.barrier_wait %rows_full[%slot], %phase : !two
            tlx.barrier_wait %s_full, %step_phase : !one
            %s_all = tlx.local_load %s_half : !s_half -> !scores
            scf.if %is_first_replica {
              tlx.named_barrier_arrive %c1 threads(256)
            } else {
              tlx.named_barrier_wait %c1 threads(256)
            }

            // A key is hidden from the queries before its limit: if causal, those that
            // do not see it; past the end, all.
            %hides = tlx.in_masked_tail %j from %first_masked : i32
            %s = scf.if %hides -> (!scores) {
              %j1 = arith.addi %j, %c1 : i32
              %after = arith.subi %blocks, %j1 : i32
              %distance = arith.muli %after, %block_m : i32
              %row = arith.addi %row_0, %distance : i32
              %limit_0 = arith.subi %c0, %row : i32
              %limit_begin = tlx.splat %limit_0 : i32 -> !keys
              %diagonal = arith.addi %limit_begin, %key_in_tile : !keys
              %own_limits = arith.select %causal, %diagonal, %none : !keys
              %limits = arith.select %exists, %own_limits, %all_queries
                  : tensor<128xi1>, !keys
              %hidden = tlx.prefix_mask %limits dim 1 : !keys -> !hidden
              %masked = arith.select %hidden, %hidden_score, %s_all : !hidden, !scores
              scf.yield %masked : !scores
            } else {
              scf.yield %s_all : !scores
            }
            %lse = func.call @read_rows(%lse_halves, %half)
                : (!rows_halves, i32) -> !scores
            %s_scaled = arith.mulf %s, %scales fastmath<contract> : !scores
            %e = arith.subf %s_scaled, %lse fastmath<contract> : !scores
            %p = math.exp2 %e fastmath<afn> : !scores
            %p_16 = arith.truncf %p : !scores to !weights
            tlx.local_store %p_16, %p_half : !weights, !p_half
            tlx.remote_barrier_arrive %p_full[%replica] mask(%c1) : !two

            tlx.barrier_wait %dp_full, %step_phase : !one
            %dp = tlx.local_load %dp_half : !s_half -> !scores
            %delta_rows = func.call @read_rows(%delta_halves, %half)
                : (!rows_halves, i32) -> !scores
            %dp_centred = arith.subf %dp, %delta_rows : !scores
            %ds = arith.mulf %p, %dp_centred : !scores
            %ds_16 = arith.truncf %ds : !scores to !weights
            tlx.local_store %ds_16, %ds_half : !weights, !p_half
            tlx.remote_barrier_arrive %ds_full[%replica] mask(%c1) : !two

            // With the dQ before, both CTAs' dS may be written.
            tlx.barrier_wait %ds_empty, %step_phase producer : !one
            scf.if %is_own {
              tlx.local_store %ds_16, %dst_tile : !weights, !kv_tile
              tlx.barrier_arrive %ds_here : !one
            } else {
              tlx.barrier_wait %out_empty, %step_phase producer : !one
              tlx.local_store %ds_16, %out_smem : !weights, !kv_tile
              tlx.async_remote_copy %out_smem, %dst_tile rank(%peer) signal %ds_here
                  : !kv_tile, !kv_tile, !one
            }
            // The fence after dS orders the reads before the next copy too.
            tlx.barrier_arrive %rows_empty[%slot] : !two
            %n1 = arith.addi %n, %c1 : i32
            scf.yield %n1 : i32
          }
          scf.yield %of_head : i32
        }
        scf.yield %count_end, %next#1, %next#3, %next#6, %next#8, %next#9
            : i32, i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @reduce warps(4) registers(REDUCE_REGISTERS) {
      %one_f = arith.constant 1.0 : f32
      %zero = arith.constant 0.0 : f32
      %nothing = tlx.splat %zero : f32 -> !part
      %end:3 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0, %pieces_before = %c0)
          -> (i32, i32, i32) : i32 {
        %at:10 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %first_key = arith.addi %at#1, %own_key : i32
        %has_queries = arith.cmpi sgt, %at#9, %c0 : i32
        %next:3 = scf.if %has_queries -> (i32, i32, i32) {
          %first_head = arith.muli %at#0, %heads_per_group : i32
          %end_head = arith.addi %first_head, %heads_per_group : i32
          %steps = arith.muli %at#9, %heads_per_group : i32
          %count_end = arith.addi %count, %steps : i32
          %added:2 = scf.for %head = %first_head to %end_head step %c1
              iter_args(%n_h = %count, %pieces_h = %pieces_before) -> (i32, i32) : i32 {
            %of_head:2 = scf.for %j = %c0 to %at#9 step %c1
                iter_args(%n = %n_h, %pieces = %pieces_h) -> (i32, i32) : i32 {
              %j1 = arith.addi %j, %c1 : i32
              %after = arith.subi %at#9, %j1 : i32
              %distance = arith.muli %after, %block_m : i32
              %block = arith.addi %at#8, %distance : i32
              %row = arith.addi %block, %own_query : i32
              %n1 = arith.addi %n, %c1 : i32
              // dV is done before the last dQ, and dK is needed last.
              %is_last = arith.cmpi eq, %n1, %count_end : i32
              %pieces_1 = scf.if %is_last -> (i32) {
                %after_dv = func.call @copy_out(%dv_tmem, %dv_full, %dv_empty, %tile,
                    %one_f, %dkv_smem, %pieces, %dv, %first_key, %at#0, %at#5, %at#6)
                    : (!dkv_sum, !one, !one, i32, f32, !dkv_boxes, i32, !dkv_tensor, i32,
                    i32, i32, i32) -> i32
                scf.yield %after_dv : i32
              } else {
                scf.yield %pieces : i32
              }
              %pieces_2 = func.call @add_out(%dq_tmem, %dq_full, %dq_empty, %n, %dq_smem,
                  %pieces_1, %dq_acc, %row, %head, %at#2, %at#3) : (!s_half, !one, !one,
                  i32, !dq_boxes, i32, !dq_tensor, i32, i32, i32, i32) -> i32
              scf.yield %n1, %pieces_2 : i32, i32
            }
            scf.yield %of_head#0, %of_head#1 : i32, i32
          }
          %after_dk = func.call @copy_out(%dk_tmem, %dk_full, %dk_empty, %tile, %scale,
              %dkv_smem, %added#1, %dk, %first_key, %at#0, %at#5, %at#6) : (!dkv_sum,
              !one, !one, i32, f32, !dkv_boxes, i32, !dkv_tensor, i32, i32, i32, i32)
              -> i32
          %tile1 = arith.addi %tile, %c1 : i32
          scf.yield %count_end, %tile1, %after_dk : i32, i32, i32
        } else {
          %copied = scf.for %column = %c0 to %head_dim step %c32
              iter_args(%pieces = %pieces_before) -> (i32) : i32 {
            %after_dk = func.call @store_piece(%nothing, %one_f, %dkv_smem, %pieces, %dk,
                %first_key, %at#0, %column, %at#5, %at#6) : (!part, f32, !dkv_boxes, i32,
                !dkv_tensor, i32, i32, i32, i32, i32) -> i32
            %after_dv = func.call @store_piece(%nothing, %one_f, %dkv_smem, %after_dk,
                %dv, %first_key, %at#0, %column, %at#5, %at#6) : (!part, f32, !dkv_boxes,
                i32, !dkv_tensor, i32, i32, i32, i32, i32) -> i32
            scf.yield %after_dv : i32
          }
          scf.yield %count, %tile, %copied : i32, i32, i32
        }
        scf.yield %next#0, %next#1, %next#2 : i32, i32, i32
      }
      // Shared memory has to outlive the last copy out of it.
      tlx.async_descriptor_store_wait pending(0)
    }

    tlx.async_task @load warps(1) registers(OTHER_REGISTERS) {
      %end:2 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0) -> (i32, i32) : i32 {
        %at:10 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
        %first_key = arith.addi %at#1, %own_key : i32
        %second_block = arith.addi %at#1, %block_n : i32
        %first_head = arith.muli %at#0, %heads_per_group : i32
        %end_head = arith.addi %first_head, %heads_per_group : i32
        %count_end = scf.for %head = %first_head to %end_head step %c1
            iter_args(%n_h = %count) -> (i32) : i32 {
          %of_head = scf.for %j = %c0 to %at#9 step %c1
              iter_args(%n = %n_h) -> (i32) : i32 {
            %j1 = arith.addi %j, %c1 : i32
            %after = arith.subi %at#9, %j1 : i32
            %distance = arith.muli %after, %block_m : i32
            %row = arith.addi %at#8, %distance : i32
            %own_row = arith.addi %row, %own_query : i32
            %second_row = arith.addi %row, %c64 : i32
            %padded_row = arith.addi %at#7, %row : i32
            %slot, %phase = tlx.ring %n stages(2) : i32
            %step_slot, %step_phase = tlx.ring %n stages(1) : i32
            %lse_rows = tlx.local_view %lse_smem[%slot] : !rows_buffers -> !rows_buffer
            %delta_rows = tlx.local_view %delta_smem[%slot]
                : !rows_buffers -> !rows_buffer
            %is_first = arith.cmpi eq, %n, %count : i32
            scf.if %is_first {
              func.call @load_kv(%k, %first_key, %first_key, %c0, %c64, %at#0, %at#5,
                  %at#6, %k_smem, %k_full, %k_empty, %tile_phase, %leads) : !load_kv
            }
            func.call @load_q(%q, %own_row, %own_row, %c0, %c64, %head, %at#2, %at#3,
                %q_smem, %q_full, %q_empty, %step_phase, %leads) : !load_q

            tlx.barrier_wait %rows_empty[%slot], %phase producer : !two
            tlx.barrier_expect_bytes %rows_full[%slot], %lse_rows, %delta_rows
                : !two, !rows_buffer, !rows_buffer
            tlx.async_descriptor_load %lse_log2[%head, %padded_row], %lse_rows
                signal %rows_full[%slot] : !rows_tensor, !rows_buffer, !two
            tlx.async_descriptor_load %delta[%head, %padded_row], %delta_rows
                signal %rows_full[%slot] : !rows_tensor, !rows_buffer, !two

            scf.if %is_first {
              func.call @load_kv(%v, %first_key, %first_key, %c0, %c64, %at#0, %at#5,
                  %at#6, %v_smem, %v_full, %v_empty, %tile_phase, %leads) : !load_kv
            }
            func.call @load_q(%do, %own_row, %own_row, %c0, %c64, %head, %at#4, %at#3,
                %do_smem, %do_full, %do_empty, %step_phase, %leads) : !load_q
            func.call @load_q(%do, %row, %second_row, %own_query, %own_query, %head,
                %at#4, %at#3, %dot_smem, %dot_full, %dot_empty, %step_phase, %leads)
                : !load_q
            func.call @load_q(%q, %row, %second_row, %own_query, %own_query, %head,
                %at#2, %at#3, %qt_smem, %qt_full, %qt_empty, %step_phase, %leads)
                : !load_q
            scf.if %is_first {
              func.call @load_kv(%k, %at#1, %second_block, %own_query, %own_query, %at#0,
                  %at#5, %at#6, %kt_smem, %kt_full, %kt_empty, %tile_phase, %leads)
                  : !load_kv
            }
            %n1 = arith.addi %n, %c1 : i32
            scf.yield %n1 : i32
          }
          scf.yield %of_head : i32
        }
        %has_queries = arith.cmpi sgt, %at#9, %c0 : i32
        %has_loaded = arith.extui %has_queries : i1 to i32
        %next_tile = arith.addi %tile, %has_loaded : i32
        scf.yield %count_end, %next_tile : i32, i32
      }
    }

    tlx.async_task @multiply warps(1) registers(OTHER_REGISTERS) {
      %k_rows = tlx.local_reinterpret %k_smem : !kv_tiles -> !kv_rows
      %v_rows = tlx.local_reinterpret %v_smem : !kv_tiles -> !kv_rows
      %q_rows = tlx.local_reinterpret %q_smem : !q_tiles -> !q_rows
      %q_t = tlx.local_trans %q_rows : !q_rows -> !q_rows_t
      %do_rows = tlx.local_reinterpret %do_smem : !q_tiles -> !q_rows
      %do_t = tlx.local_trans %do_rows : !q_rows -> !q_rows_t
      %p_first = func.call @p_of(%s_tmem, %c0) : (!s_buffer, i32) -> !p_half
      %p_second = func.call @p_of(%s_tmem, %c1) : (!s_buffer, i32) -> !p_half
      // The leader's, for both.
      %first = arith.select %leads, %first_item, %end_item : i32
      %first_at:10 = func.call @decode(
          %first, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
          %broadcast_query, %block_m, %causal) : !decode
      %end:4 = scf.for %item = %first to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0, %blocks = %first_at#9,
                    %was_first_item = %false) -> (i32, i32, i32, i1) : i32 {
        %next_item = arith.addi %item, %c1 : i32
        %next:10 = func.call @decode(
            %next_item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %steps = arith.muli %blocks, %heads_per_group : i32
        %count_end = arith.addi %count, %steps : i32
        %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
        %tile_before = arith.subi %tile, %c1 : i32

        %last = scf.for %n = %count to %count_end step %c1
            iter_args(%was_first = %was_first_item) -> (i1) : i32 {
          %is_first = arith.cmpi eq, %n, %count : i32
          %n1 = arith.addi %n, %c1 : i32
          %is_last = arith.cmpi eq, %n1, %count_end : i32
          %step_slot, %step_phase = tlx.ring %n stages(1) : i32
          %before = arith.subi %n, %c1 : i32
          %before_slot, %before_phase = tlx.ring %before stages(1) : i32
          %its_tile = arith.select %is_first, %tile_before, %tile : i32
          %has_before = arith.cmpi sgt, %n, %c0 : i32
          tlx.barrier_wait %q_full, %step_phase : !one
          scf.if %is_first {
            tlx.barrier_wait %k_full, %tile_phase : !one
          }
          // dQ of the step before the last has to have been read.
          scf.if %has_before {
            tlx.barrier_wait %dq_empty, %before_phase producer : !one
          }
          tlx.async_dot %k_rows, %q_t, %s_tmem cta_group(2)
              : !kv_rows, !q_rows_t, !s_buffer
          tlx.tcgen05_commit %s_full multicast(%both) : !one
          tlx.tcgen05_commit %q_empty multicast(%both) : !one
          scf.if %is_last {
            tlx.tcgen05_commit %k_empty multicast(%both) : !one
          }

          scf.if %has_before {
            func.call @start_dk(%before, %its_tile, %was_first, %is_first, %qt_smem,
                %dp_tmem, %dk_tmem, %ds_full, %qt_full, %qt_empty, %dk_full, %dk_empty,
                %both) : (i32, i32, i1, i1, !q_tiles, !s_buffer, !dkv_sum, !two, !one,
                !one, !one, !one, i32) -> ()
          }

          tlx.barrier_wait %do_full, %step_phase : !one
          scf.if %is_first {
            tlx.barrier_wait %v_full, %tile_phase : !one
          }
          tlx.async_dot %v_rows, %do_t, %dp_tmem cta_group(2)
              : !kv_rows, !q_rows_t, !s_buffer
          tlx.tcgen05_commit %dp_full multicast(%both) : !one
          tlx.tcgen05_commit %do_empty multicast(%both) : !one
          scf.if %is_last {
            tlx.tcgen05_commit %v_empty multicast(%both) : !one
          }

          scf.if %has_before {
            // dQ lies on the second half of S, which is in registers once its P is there.
            tlx.barrier_wait %p_full[%c1], %step_phase : !two
            func.call @start_dq(%before, %its_tile, %was_first, %is_first, %dst_smem,
                %kt_smem, %dq_tmem, %ds_all, %ds_empty, %kt_full, %kt_empty, %dq_full,
                %both) : (i32, i32, i1, i1, !kv_tiles, !kv_tiles, !s_half, !one, !one,
                !one, !one, !one, i32) -> ()
          }

          %more = arith.xori %is_first, %true : i1
          tlx.barrier_wait %dot_full, %step_phase : !one
          scf.if %is_first {
            tlx.barrier_wait %dv_empty, %tile_phase producer : !one
          }
          func.call @start_product(%p_first, %p_second, %p_full, %step_phase, %dot_smem,
              %dv_tmem, %more) : (!p_half, !p_half, !two, i32, !q_tiles, !dkv_sum, i1)
              -> ()
          tlx.tcgen05_commit %dot_empty multicast(%both) : !one
          scf.if %is_last {
            tlx.tcgen05_commit %dv_full multicast(%both) : !one
          }
          scf.yield %is_first : i1
        }
        %has_queries = arith.cmpi sgt, %blocks, %c0 : i32
        %has_steps = arith.extui %has_queries : i1 to i32
        %next_tile = arith.addi %tile, %has_steps : i32
        scf.yield %count_end, %next_tile, %next#9, %last : i32, i32, i32, i1
      }
      // The last step of all.
      %has_tiles = arith.cmpi sgt, %end#1, %c0 : i32
      scf.if %has_tiles {
        %n = arith.subi %end#0, %c1 : i32
        %tile = arith.subi %end#1, %c1 : i32
        %step_slot, %step_phase = tlx.ring %n stages(1) : i32
        func.call @start_dk(%n, %tile, %end#3, %true, %qt_smem, %dp_tmem, %dk_tmem,
            %ds_full, %qt_full, %qt_empty, %dk_full, %dk_empty, %both) : (i32, i32, i1,
            i1, !q_tiles, !s_buffer, !dkv_sum, !two, !one, !one, !one, !one, i32) -> ()
        tlx.barrier_wait %dq_empty, %step_phase producer : !one
        func.call @start_dq(%n, %tile, %end#3, %true, %dst_smem, %kt_smem, %dq_tmem,
            %ds_all, %ds_empty, %kt_full, %kt_empty, %dq_full, %both) : (i32, i32, i1, i1,
            !kv_tiles, !kv_tiles, !s_half, !one, !one, !one, !one, !one, i32) -> ()
      }
    }

    tlx.async_task @relay warps(1) registers(OTHER_REGISTERS) {
      %from = arith.shli %c1, %peer : i32
      %sent = tlx.local_view %dst_smem[%peer] : !kv_tiles -> !kv_tile
      %end = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0) -> (i32) : i32 {
        %at:10 = func.call @decode(
            %item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %steps = arith.muli %at#9, %heads_per_group : i32
        %count_end = arith.addi %count, %steps : i32
        scf.for %n = %count to %count_end step %c1 : i32 {
          %step_slot, %step_phase = tlx.ring %n stages(1) : i32
          tlx.barrier_expect_bytes %ds_here, %sent : !one, !kv_tile
          tlx.barrier_wait %ds_here, %step_phase : !one
          tlx.remote_barrier_arrive %ds_all mask(%c1) : !one
          tlx.remote_barrier_arrive %out_empty mask(%from) : !one
        }
        scf.yield %count_end : i32
      }
    }
  }
}
