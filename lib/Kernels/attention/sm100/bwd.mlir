// Attention backward for Blackwell, key-stationary: jagged, dense or with a broadcast
// query.
//
// Computes, for every sequence b and query head h (docs/Attention.md), from
// LSE log2(e) and delta = rowsum(dO * O), which ../bwd_pre.mlir has left,
//     P = exp(S - LSE)      dP = dO V^T          dS = P * (dP - delta)
//     dV = P^T dO           dK = scale dS^T Q    dQ = scale dS K
//
// A persistent CTA takes blocks of 128 keys, in the order that the host has balanced:
// items item_starts[cta] to item_starts[cta + 1] of the work list. It keeps K and V,
// streams the queries of every head of the group that see them, 128 at a time, and sums
// dK and dV in tensor memory. Its share of dQ is added to dq_acc in global memory, which
// ../bwd_post.mlir scales and rounds.
//
// If DETERMINISTIC, additions to a block of dQ have an order. Tiles take turns at it, by a
// semaphore: who is the i-th waits for i tiles before it, which come before it in the list.
// All CTAs have to run at once, so that the first tile of the list that is not done never
// waits for one that cannot run. Those of a sequence begin with the first keys, and tiles
// that begin together follow each other by a step. If causal, the last keys and each tile's
// first queries come first: when a tile comes to queries that others see, these have been
// there. Queries that all sequences share have dq_copies sums, which tiles of a head take
// in turn, by the number that the item has; bwd_post.mlir adds them up. A tile that does
// not see some of them passes its turn on.
//
//   role       warps  does
//   @compute   4 x 2  each replica owns 64 of the queries: S^T to P^T, dP^T to dS^T, a key
//                     in each thread
//   @reduce    4      adds dQ to global memory; at the end of a tile copies dV and dK out
//   @load      1      starts every copy: Q, K, LSE and delta, dO, V, then Q, LSE, …
//   @multiply  1      starts every product
//
// S and dP are computed transposed, so that P^T and dS^T, which take the place of what they
// are made of, are operands of dV and dK as they are; dS goes through shared memory too,
// since dQ sums over keys. The products of a step are
//     S[n] | dK[n-1], dQ[n-1] | dP[n], dV[n]
// so that S[n] becomes P[n] while dK and dQ are computed, and dP[n] becomes dS[n] while dV
// and S[n+1] are. The steps of all tiles are one chain. K of the next tile takes the place
// of V, which is free after the last dP, and V that of K, which is free after the last dQ:
// the two slots exchange their parts with each tile.
//
//   barrier     count  arrives                waits        phase completes when
//   kv_full     1      @load (bytes)          @multiply    its keys or its values are there
//   kv_empty    1      @multiply (commit)     @load        a tile's last dQ or dP is done
//   q_full      1      @load (bytes of Q)     @multiply    a step's queries are there
//   q_empty     1      @multiply (commit)     @load        its S and dK are done
//   rows_full   1      @load (LSE and delta)  @compute     its LSE and delta are there
//   rows_empty  2      @compute               @load        they have been read
//   do_full     1      @load (bytes of dO)    @multiply    its gradients are there
//   do_empty    1      @multiply (commit)     @load        its dP and dV are done
//   s_full      1      @multiply (commit)     @compute     its S is there
//   p_full      1      @compute               @multiply    a replica's P is in its place
//   dp_full     1      @multiply (commit)     @compute     its dP is there, and so the dQ
//                                                          before, which has read its dS
//   ds_full     1      @compute               @multiply    a replica's dS is in its place
//                                                          and in shared memory
//   dq_full     1      @multiply (commit)     @reduce      its dQ is there
//   dq_empty    1      @reduce                @multiply    dQ is in registers
//   dv_full     1      @multiply (commit)     @reduce      a tile's dV is there
//   dv_empty    1      @reduce                @multiply    it is in registers
//   dk_full     1      @multiply (commit)     @reduce      a tile's dK is there
//   dk_empty    1      @reduce                @multiply    it is in registers
//   turns       a semaphore for each block of dQ, of      the tiles before have added to
//               @reduce, which waits for it too            it
//
//   tensor memory, D 128: S 128 columns, dP 128, dV 128, dK 128, which is all there is. P
//     is the first 32 columns of each replica's 64 of S, and dS of dP, so that no replica
//     overwrites what the other one has to read. dQ lies on dP: it may be written once dK,
//     which reads dS there, has been started, and dP[n+1] once @reduce has read it. For
//     D 64 dQ has columns of its own, and nothing waits for @reduce but the next dQ.
//   shared memory, D 128: K, V 64 K, Q 64 K, dO 32 K, dS 32 K, pieces of dQ 2 x 16 K,
//     through which dV and dK leave too, LSE and delta 2 K: all there is but 0.6 K
//   registers: @compute 2 x 152, @reduce 152, others 56: 512 for 4 warps each
//
// Early release: dQ leaves in pieces of 32 columns through two buffers, one copied while
// the other is filled. @reduce takes all pieces into registers before there are buffers for
// them and hands the columns back, so that the products of the next step do not wait for
// the copies of this one; of dV and dK the last 64 columns. Nor do they wait for the turn.
//
// Blocks of queries come in descending order, so that those on the diagonal come last, or
// if tiles take turns in ascending order.
// Hidden scores are -inf: keys past the end or, if causal, after the query. Queries past
// the end read LSE = +inf, so that their P is 0.
//
// A product may overwrite what one before it reads, P or dS: products of one thread are
// done in the order in which they were started.

!q_tensor = !tlx.tensormap<[BLOCK_M, 1, HEAD_DIM], ELEMENT, ragged>
!kv_tensor = !tlx.tensormap<[BLOCK_N, 1, HEAD_DIM], ELEMENT, ragged>
!dkv_tensor = !tlx.tensormap<[BLOCK_N, 1, 64], ELEMENT, ragged>
!dq_tensor = !tlx.tensormap<[BLOCK_M, 1, 32], f32, ragged>
!rows_tensor = !tlx.tensormap<[1, BLOCK_M], f32>

!q_buffers = !tlx.memdesc<[Q_STAGES, BLOCK_M, HEAD_DIM], ELEMENT>
!do_buffers = !tlx.memdesc<[DO_STAGES, BLOCK_M, HEAD_DIM], ELEMENT>
!q_buffer = !tlx.memdesc<[BLOCK_M, HEAD_DIM], ELEMENT>
!q_rows = !tlx.memdesc<[64, HEAD_DIM], ELEMENT, of = [BLOCK_M, HEAD_DIM]>
!qt_buffer = !tlx.memdesc<[HEAD_DIM, BLOCK_M], ELEMENT, transposed>
!kv_buffers = !tlx.memdesc<[2, BLOCK_N, HEAD_DIM], ELEMENT>
!kv_buffer = !tlx.memdesc<[BLOCK_N, HEAD_DIM], ELEMENT>
!dst_buffer = !tlx.memdesc<[BLOCK_N, BLOCK_M], ELEMENT>
!dst_columns = !tlx.memdesc<[BLOCK_N, 64], ELEMENT, of = [BLOCK_N, BLOCK_M]>
!ds_buffer = !tlx.memdesc<[BLOCK_M, BLOCK_N], ELEMENT, transposed>
!rows_buffers = !tlx.memdesc<[Q_STAGES, BLOCK_M], f32>
!rows_buffer = !tlx.memdesc<[BLOCK_M], f32>
!rows_halves = !tlx.memdesc<[Q_STAGES * 2, BLOCK_M floordiv 2], f32>
!rows_half = !tlx.memdesc<[BLOCK_M floordiv 2], f32>
!dq_pieces = !tlx.memdesc<[2, BLOCK_M, 32], f32>
!dq_piece = !tlx.memdesc<[BLOCK_M, 32], f32>
!dkv_pieces = !tlx.memdesc<[2, BLOCK_N, 64], ELEMENT>
!dkv_piece = !tlx.memdesc<[BLOCK_N, 64], ELEMENT>

!s_buffer = !tlx.memdesc<[BLOCK_N, BLOCK_M], f32, tensor>
!s_half = !tlx.memdesc<[BLOCK_N, 64], f32, tensor>
!p_columns = !tlx.memdesc<[BLOCK_N, 32], f32, tensor>
!p_half = !tlx.memdesc<[BLOCK_N, 64], ELEMENT, tensor>
!dkv_sum = !tlx.memdesc<[BLOCK_N, HEAD_DIM], f32, tensor>
!dkv_part = !tlx.memdesc<[BLOCK_N, 64], f32, tensor>
!dq_sum = !tlx.memdesc<[BLOCK_M, HEAD_DIM], f32, tensor>
!dq_part = !tlx.memdesc<[BLOCK_M, 32], f32, tensor>

!one = !tlx.mbarrier<[1]>
!two = !tlx.mbarrier<[2]>
!ring = !tlx.mbarrier<[Q_STAGES]>
!do_ring = !tlx.mbarrier<[DO_STAGES]>

!scores = tensor<128x64xf32, #tlx.dims<[128, 64], ELEMENT>>
!hidden = tensor<128x64xi1, #tlx.dims<[128, 64], ELEMENT>>
!weights = tensor<128x64xbf16, #tlx.dims<[128, 64], ELEMENT>>
!piece = tensor<128x32xf32>
!rows = tensor<64xf32>
!row = tensor<1x64xf32>
!keys = tensor<128xi32>
!decode = (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i32, i1, i1, i32, i1)
    -> (i32, i32, i32, i32, i32, i32, i32, i32, i32, i32)
!find_turn = (i32, i32, i32, i32, i32, i32, i32, i32, i32, i1, i1, i32) -> (i32, i32)

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

// The semaphore of the block of queries whose first is `row`, and whose turn a tile's is:
// the number of tiles before it.
func.func private @find_turn(
    %row: i32, %head: i32, %key: i32, %q_len: i32, %k_len: i32, %first_block: i32,
    %heads: i32, %block_m: i32, %block_n: i32, %ascends: i1, %has_copies: i1,
    %given_turn: i32) -> (i32, i32) {
  %c1 = arith.constant 1 : i32
  %own_block = arith.divui %row, %block_m : i32
  %block = arith.addi %first_block, %own_block : i32
  %first_of_block = arith.muli %block, %heads : i32
  %semaphore = arith.addi %first_of_block, %head : i32
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

// Starts W^T X, added to a sum if there is `more`; W^T is in tensor memory, and its
// halves are there one after the other.
func.func private @start_product(
    %weights: !s_buffer, %full: !two, %phase: i32, %x: !q_buffer, %sum: !dkv_sum,
    %more: i1) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %true = arith.constant true
  %s0, %first = func.call @half_of(%weights, %c0) : (!s_buffer, i32) -> (!s_half, !p_half)
  %s1, %second = func.call @half_of(%weights, %c64)
      : (!s_buffer, i32) -> (!s_half, !p_half)
  %first_x = tlx.local_slice %x[%c0, %c0] : !q_buffer -> !q_rows
  %second_x = tlx.local_slice %x[%c64, %c0] : !q_buffer -> !q_rows
  tlx.barrier_wait %full[%c0], %phase : !two
  tlx.async_dot %first, %first_x, %sum accumulate(%more) : !p_half, !q_rows, !dkv_sum
  tlx.barrier_wait %full[%c1], %phase : !two
  tlx.async_dot %second, %second_x, %sum accumulate(%true) : !p_half, !q_rows, !dkv_sum
  return
}

// Starts dK and dQ of step `n`, whose keys are in slot `k_slot`, the `tile`th one's.
func.func private @finish_step(
    %n: i32, %tile: i32, %k_slot: i32, %is_first: i1, %is_last: i1, %aliases: i1,
    %q: !q_buffers, %kv: !kv_buffers, %dst: !dst_buffer, %dp: !s_buffer, %dk: !dkv_sum,
    %dq: !dq_sum, %ds_full: !two, %q_empty: !ring, %dk_full: !one, %dk_empty: !one,
    %dq_full: !one, %dq_empty: !one, %kv_empty: !two) {
  %true = arith.constant true
  %slot, %phase = tlx.ring %n stages(Q_STAGES) : i32
  %step_slot, %step_phase = tlx.ring %n stages(1) : i32
  %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
  %q_tile = tlx.local_view %q[%slot] : !q_buffers -> !q_buffer
  %k_tile = tlx.local_view %kv[%k_slot] : !kv_buffers -> !kv_buffer
  %ds = tlx.local_trans %dst : !dst_buffer -> !ds_buffer
  %more = arith.xori %is_first, %true : i1
  scf.if %is_first {
    tlx.barrier_wait %dk_empty, %tile_phase producer : !one
  }
  func.call @start_product(%dp, %ds_full, %step_phase, %q_tile, %dk, %more)
      : (!s_buffer, !two, i32, !q_buffer, !dkv_sum, i1) -> ()
  tlx.tcgen05_commit %q_empty[%slot] : !ring
  scf.if %is_last {
    tlx.tcgen05_commit %dk_full : !one
  }
  // Where dQ lies on dP, that has waited already.
  scf.if %aliases {
  } else {
    tlx.barrier_wait %dq_empty, %step_phase producer : !one
  }
  tlx.async_dot %ds, %k_tile, %dq : !ds_buffer, !kv_buffer, !dq_sum
  tlx.tcgen05_commit %dq_full : !one
  scf.if %is_last {
    tlx.tcgen05_commit %kv_empty[%k_slot] : !two
  }
  return
}

// Adds 32 columns of dQ to global memory; returns the number of copies started so far.
func.func private @add_piece(
    %piece: !piece, %pieces: !dq_pieces, %copies: i32, %dq_acc: !dq_tensor, %row: i32,
    %head: i32, %column: i32, %start: i32, %length: i32, %ordered: i1) -> i32 {
  %c1 = arith.constant 1 : i32
  %slot, %phase = tlx.ring %copies stages(2) : i32
  %place = tlx.local_view %pieces[%slot] : !dq_pieces -> !dq_piece
  // The copy before the last has to have left the buffer.
  tlx.async_descriptor_store_wait pending(1)
  tlx.local_store %piece, %place : !piece, !dq_piece
  scf.if %ordered {
    tlx.async_descriptor_reduce %dq_acc[%row, %head, %column] segment(%start, %length),
        %place {ordered} : !dq_tensor, !dq_piece
  } else {
    tlx.async_descriptor_reduce %dq_acc[%row, %head, %column] segment(%start, %length),
        %place : !dq_tensor, !dq_piece
  }
  %next = arith.addi %copies, %c1 : i32
  return %next : i32
}

// Copies 64 columns of a gradient of keys or values out.
func.func private @store_piece(
    %sum: !scores, %factor: f32, %pieces: !dkv_pieces, %copies: i32,
    %gradient: !dkv_tensor, %row: i32, %head: i32, %column: i32, %start: i32,
    %length: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %slot, %phase = tlx.ring %copies stages(2) : i32
  %place = tlx.local_view %pieces[%slot] : !dkv_pieces -> !dkv_piece
  %factors = tlx.splat %factor : f32 -> !scores
  %scaled = arith.mulf %sum, %factors : !scores
  %rounded = arith.truncf %scaled : !scores to !weights
  tlx.async_descriptor_store_wait pending(1)
  tlx.local_store %rounded, %place : !weights, !dkv_piece
  tlx.async_descriptor_store %gradient[%row, %head, %column] segment(%start, %length),
      %place : !dkv_tensor, !dkv_piece
  %next = arith.addi %copies, %c1 : i32
  return %next : i32
}

// Takes a tile's gradient of keys or values out of tensor memory and copies it out.
func.func private @copy_out(
    %sum: !dkv_sum, %full: !one, %empty: !one, %tile: i32, %factor: f32,
    %pieces: !dkv_pieces, %first_copy: i32, %gradient: !dkv_tensor, %row: i32,
    %head: i32, %start: i32, %length: i32, %head_dim: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %slot, %phase = tlx.ring %tile stages(1) : i32
  %last_column = arith.subi %head_dim, %c64 : i32
  tlx.barrier_wait %full, %phase : !one
  %before_last = scf.for %column = %c0 to %last_column step %c64
      iter_args(%copies = %first_copy) -> (i32) : i32 {
    %part = tlx.local_slice %sum[%c0, %column] : !dkv_sum -> !dkv_part
    %values = tlx.local_load %part : !dkv_part -> !scores
    %next = func.call @store_piece(%values, %factor, %pieces, %copies, %gradient, %row,
        %head, %column, %start, %length) : (!scores, f32, !dkv_pieces, i32, !dkv_tensor,
        i32, i32, i32, i32, i32) -> i32
    scf.yield %next : i32
  }
  %last_part = tlx.local_slice %sum[%c0, %last_column] : !dkv_sum -> !dkv_part
  %last_values = tlx.local_load %last_part : !dkv_part -> !scores
  tlx.barrier_arrive %empty : !one
  %end = func.call @store_piece(%last_values, %factor, %pieces, %before_last, %gradient,
      %row, %head, %last_column, %start, %length) : (!scores, f32, !dkv_pieces, i32,
      !dkv_tensor, i32, i32, i32, i32, i32) -> i32
  return %end : i32
}

// The 32 columns of dQ from `column`, in registers.
func.func private @take_piece(%sum: !dq_sum, %column: i32) -> !piece {
  %c0 = arith.constant 0 : i32
  %part = tlx.local_slice %sum[%c0, %column] : !dq_sum -> !dq_part
  %values = tlx.local_load %part : !dq_part -> !piece
  return %values : !piece
}

// Waits, if additions have an order, until as many tiles have added as come before.
func.func private @wait_turn(
    %ordered: i1, %turns: !tlx.ptr<i32>, %semaphore: i32, %turn: i32) {
  scf.if %ordered {
    tlx.semaphore_wait %turns[%semaphore], %turn : !tlx.ptr<i32>, i32
  }
  return
}

// Takes dQ of step `n` out of tensor memory and adds it to global memory, if in order when
// the semaphore says that its turn has come.
func.func private @add_out(
    %sum: !dq_sum, %full: !one, %empty: !one, %n: i32, %pieces: !dq_pieces,
    %first_copy: i32, %dq_acc: !dq_tensor, %row: i32, %head: i32, %start: i32,
    %length: i32, %head_dim: i32, %early: i1, %ordered: i1, %turns: !tlx.ptr<i32>,
    %semaphore: i32, %turn: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %slot, %phase = tlx.ring %n stages(1) : i32
  // Those of the last two pieces, which are the first two too for D 64.
  %column_2 = arith.subi %head_dim, %c64 : i32
  %column_3 = arith.subi %head_dim, %c32 : i32
  %has_four = arith.cmpi sgt, %column_2, %c0 : i32
  tlx.barrier_wait %full, %phase : !one
  %end = scf.if %early -> (i32) {
    // All is in registers before its buffers are free, so that the products go on.
    %piece_0 = func.call @take_piece(%sum, %c0) : (!dq_sum, i32) -> !piece
    %piece_1 = func.call @take_piece(%sum, %c32) : (!dq_sum, i32) -> !piece
    %rest:2 = scf.if %has_four -> (!piece, !piece) {
      %piece_2 = func.call @take_piece(%sum, %column_2) : (!dq_sum, i32) -> !piece
      %piece_3 = func.call @take_piece(%sum, %column_3) : (!dq_sum, i32) -> !piece
      scf.yield %piece_2, %piece_3 : !piece, !piece
    } else {
      scf.yield %piece_0, %piece_1 : !piece, !piece
    }
    tlx.barrier_arrive %empty : !one
    func.call @wait_turn(%ordered, %turns, %semaphore, %turn)
        : (i1, !tlx.ptr<i32>, i32, i32) -> ()
    %copies_1 = func.call @add_piece(%piece_0, %pieces, %first_copy, %dq_acc, %row,
        %head, %c0, %start, %length, %ordered) : (!piece, !dq_pieces, i32, !dq_tensor,
        i32, i32, i32, i32, i32, i1) -> i32
    %copies_2 = func.call @add_piece(%piece_1, %pieces, %copies_1, %dq_acc, %row,
        %head, %c32, %start, %length, %ordered) : (!piece, !dq_pieces, i32, !dq_tensor,
        i32, i32, i32, i32, i32, i1) -> i32
    %copied = scf.if %has_four -> (i32) {
      %copies_3 = func.call @add_piece(%rest#0, %pieces, %copies_2, %dq_acc, %row,
          %head, %column_2, %start, %length, %ordered) : (!piece, !dq_pieces, i32,
          !dq_tensor, i32, i32, i32, i32, i32, i1) -> i32
      %copies_4 = func.call @add_piece(%rest#1, %pieces, %copies_3, %dq_acc, %row,
          %head, %column_3, %start, %length, %ordered) : (!piece, !dq_pieces, i32,
          !dq_tensor, i32, i32, i32, i32, i32, i1) -> i32
      scf.yield %copies_4 : i32
    } else {
      scf.yield %copies_2 : i32
    }
    scf.yield %copied : i32
  } else {
    func.call @wait_turn(%ordered, %turns, %semaphore, %turn)
        : (i1, !tlx.ptr<i32>, i32, i32) -> ()
    %copied = scf.for %column = %c0 to %head_dim step %c32
        iter_args(%copies = %first_copy) -> (i32) : i32 {
      %values = func.call @take_piece(%sum, %column) : (!dq_sum, i32) -> !piece
      %next = func.call @add_piece(%values, %pieces, %copies, %dq_acc, %row, %head,
          %column, %start, %length, %ordered) : (!piece, !dq_pieces, i32, !dq_tensor,
          i32, i32, i32, i32, i32, i1) -> i32
      scf.yield %next : i32
    } {tlx.unroll = 4}
    tlx.barrier_arrive %empty : !one
    scf.yield %copied : i32
  }
  scf.if %ordered {
    tlx.async_descriptor_store_wait pending(0) written
    tlx.semaphore_post %turns[%semaphore] : !tlx.ptr<i32>, i32
  }
  return %end : i32
}

tlx.kernel @attention_bwd(
    %q: !q_tensor, %k: !kv_tensor, %v: !kv_tensor, %do: !q_tensor,
    %dk: !dkv_tensor, %dv: !dkv_tensor, %dq_acc: !dq_tensor,
    %lse_log2: !rows_tensor, %delta: !rows_tensor, %q_offsets: !tlx.ptr<i32>,
    %k_offsets: !tlx.ptr<i32>, %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>,
    %turns: !tlx.ptr<i32>, %dq_copies: i32, %heads: i32, %heads_per_group: i32,
    %q_length: i32, %k_length: i32, %scale_log2: f32, %scale: f32) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  %causal = tlx.param CAUSAL = false : i1
  // Lengths come from the offsets; otherwise all are q_length and k_length.
  %jagged = tlx.param JAGGED = true : i1
  // All sequences share the q_length rows of q.
  %broadcast_query = tlx.param BROADCAST_QUERY = false : i1
  // Whether the same inputs give the same bits of dQ.
  %deterministic = tlx.param DETERMINISTIC = false : i1

  // How it is computed.
  %block_m = tlx.param BLOCK_M = 128 in [128] : i32
  %block_n = tlx.param BLOCK_N = 128 in [128] : i32
  tlx.param Q_STAGES = 2 from 2 to 6 : i32
  tlx.param DO_STAGES = 1 from 1 to 4 : i32
  // Whether dQ is kept in registers until there is room for it in shared memory.
  %early = tlx.param EARLY_RELEASE = true : i1
  tlx.param COMPUTE_REGISTERS = 152 from 24 to 256 step 8 : i32
  tlx.param REDUCE_REGISTERS = 152 from 24 to 256 step 8 : i32
  tlx.param OTHER_REGISTERS = 56 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %true = arith.constant true
  %false = arith.constant false
  %own_queries = arith.xori %broadcast_query, %true : i1
  %keeps_order = arith.andi %deterministic, %own_queries : i1
  %has_copies = arith.andi %deterministic, %broadcast_query : i1
  %ascends = arith.andi %keeps_order, %causal : i1
  %cta = tlx.cta_id : i32
  %next_cta = arith.addi %cta, %c1 : i32
  %first_item = tlx.global_load %item_starts[%cta] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_cta] : !tlx.ptr<i32>, i32 -> i32

  %kv_smem = tlx.local_alloc : !kv_buffers
  %q_smem = tlx.local_alloc : !q_buffers
  %do_smem = tlx.local_alloc : !do_buffers
  %dst_smem = tlx.local_alloc : !dst_buffer
  %dq_smem = tlx.local_alloc : !dq_pieces
  %dkv_smem = tlx.local_alloc alias(%dq_smem) : !dkv_pieces, !dq_pieces
  %lse_smem = tlx.local_alloc : !rows_buffers
  %delta_smem = tlx.local_alloc : !rows_buffers
  %s_tmem = tlx.local_alloc : !s_buffer
  %dp_tmem = tlx.local_alloc : !s_buffer
  %dv_tmem = tlx.local_alloc : !dkv_sum
  %dk_tmem = tlx.local_alloc : !dkv_sum
  // For D 128 there is no room for dQ but on dP.
  %aliases = arith.cmpi eq, %head_dim, %c128 : i32
  %dq_tmem = scf.if %aliases -> (!dq_sum) {
    %on_dp = tlx.local_alloc alias(%dp_tmem) : !dq_sum, !s_buffer
    scf.yield %on_dp : !dq_sum
  } else {
    %own = tlx.local_alloc : !dq_sum
    scf.yield %own : !dq_sum
  }
  %kv_full = tlx.alloc_barriers arrivals(1) : !two
  %kv_empty = tlx.alloc_barriers arrivals(1) : !two
  %q_full = tlx.alloc_barriers arrivals(1) : !ring
  %q_empty = tlx.alloc_barriers arrivals(1) : !ring
  %rows_full = tlx.alloc_barriers arrivals(1) : !ring
  %rows_empty = tlx.alloc_barriers arrivals(2) : !ring
  %do_full = tlx.alloc_barriers arrivals(1) : !do_ring
  %do_empty = tlx.alloc_barriers arrivals(1) : !do_ring
  %s_full = tlx.alloc_barriers arrivals(1) : !one
  %p_full = tlx.alloc_barriers arrivals(1) : !two
  %dp_full = tlx.alloc_barriers arrivals(1) : !one
  %ds_full = tlx.alloc_barriers arrivals(1) : !two
  %dq_full = tlx.alloc_barriers arrivals(1) : !one
  %dq_empty = tlx.alloc_barriers arrivals(1) : !one
  %dv_full = tlx.alloc_barriers arrivals(1) : !one
  %dv_empty = tlx.alloc_barriers arrivals(1) : !one
  %dk_full = tlx.alloc_barriers arrivals(1) : !one
  %dk_empty = tlx.alloc_barriers arrivals(1) : !one

  // `n` counts the steps that this CTA takes, `tile` its tiles with queries.
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

        // The keys from the tile's first to the end of the sequence. If causal, rows
        // count from the query that is the first to see it.
        %left = arith.subi %k_len, %key : i32
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
        %end_masked = arith.select %lacks_keys, %blocks, %diagonal_blocks : i32
        %keys_left = tlx.splat %left : i32 -> !keys
        %exists = arith.cmpi slt, %key_in_tile, %keys_left : !keys

        %count_end = scf.for %g = %c0 to %heads_per_group step %c1
            iter_args(%n_g = %count) -> (i32) : i32 {
          %of_head = scf.for %j = %c0 to %blocks step %c1
              iter_args(%n = %n_g) -> (i32) : i32 {
            %slot, %phase = tlx.ring %n stages(Q_STAGES) : i32
            %step_slot, %step_phase = tlx.ring %n stages(1) : i32
            %first_half = arith.muli %slot, %c2 : i32
            %half = arith.addi %first_half, %replica : i32
            tlx.barrier_wait %rows_full[%slot], %phase : !ring
            tlx.barrier_wait %s_full, %step_phase : !one
            %s_all = tlx.local_load %s_half : !s_half -> !scores

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
            tlx.barrier_arrive %p_full[%replica] : !two

            tlx.barrier_wait %dp_full, %step_phase : !one
            %dp = tlx.local_load %dp_half : !s_half -> !scores
            %delta_rows = func.call @read_rows(%delta_halves, %half)
                : (!rows_halves, i32) -> !scores
            tlx.fence_async_shared
            tlx.barrier_arrive %rows_empty[%slot] : !ring
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
          scf.yield %of_head : i32
        }
        scf.yield %count_end, %next#1, %next#3, %next#6, %next#8, %next#9
            : i32, i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @reduce warps(4) registers(REDUCE_REGISTERS) {
      %one_f = arith.constant 1.0 : f32
      %zero = arith.constant 0.0 : f32
      %nothing = tlx.splat %zero : f32 -> !scores
      %blocks_of_copy = arith.ceildivui %q_length, %block_m : i32
      %passes_on = arith.andi %has_copies, %causal : i1
      %end:3 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0, %copies_before = %c0)
          -> (i32, i32, i32) : i32 {
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
        %has_queries = arith.cmpi sgt, %at#9, %c0 : i32
        %next:3 = scf.if %has_queries -> (i32, i32, i32) {
          %steps = arith.muli %at#9, %heads_per_group : i32
          %count_end = arith.addi %count, %steps : i32
          %added:2 = scf.for %head = %first_head to %end_head step %c1
              iter_args(%n_h = %count, %copies_h = %copies_before) -> (i32, i32) : i32 {
            %of_head:2 = scf.for %j = %c0 to %at#9 step %c1
                iter_args(%n = %n_h, %copies = %copies_h) -> (i32, i32) : i32 {
              %j1 = arith.addi %j, %c1 : i32
              %after = arith.subi %at#9, %j1 : i32
              %place = arith.select %ascends, %j, %after : i32
              %distance = arith.muli %place, %block_m : i32
              %row = arith.addi %at#8, %distance : i32
              %n1 = arith.addi %n, %c1 : i32
              // dV is done before the last dQ, and dK is needed last.
              %is_last = arith.cmpi eq, %n1, %count_end : i32
              %copies_1 = scf.if %is_last -> (i32) {
                %after_dv = func.call @copy_out(%dv_tmem, %dv_full, %dv_empty, %tile,
                    %one_f, %dkv_smem, %copies, %dv, %at#1, %at#0, %at#5, %at#6,
                    %head_dim) : (!dkv_sum, !one, !one, i32, f32, !dkv_pieces, i32,
                    !dkv_tensor, i32, i32, i32, i32, i32) -> i32
                scf.yield %after_dv : i32
              } else {
                scf.yield %copies : i32
              }
              %semaphore, %turn = func.call @find_turn(
                  %row, %head, %at#1, %at#3, %at#6, %first_block, %heads, %block_m,
                  %block_n, %ascends, %has_copies, %given_turn) : !find_turn
              %copies_2 = func.call @add_out(%dq_tmem, %dq_full, %dq_empty, %n,
                  %dq_smem, %copies_1, %dq_acc, %row, %head, %sums, %at#3, %head_dim,
                  %early, %deterministic, %turns, %semaphore, %turn) : (!dq_sum, !one,
                  !one, i32, !dq_pieces, i32, !dq_tensor, i32, i32, i32, i32, i32, i1,
                  i1, !tlx.ptr<i32>, i32, i32) -> i32
              scf.yield %n1, %copies_2 : i32, i32
            }
            scf.yield %of_head#0, %of_head#1 : i32, i32
          }
          %after_dk = func.call @copy_out(%dk_tmem, %dk_full, %dk_empty, %tile, %scale,
              %dkv_smem, %added#1, %dk, %at#1, %at#0, %at#5, %at#6, %head_dim)
              : (!dkv_sum, !one, !one, i32, f32, !dkv_pieces, i32, !dkv_tensor, i32,
              i32, i32, i32, i32) -> i32
          %tile1 = arith.addi %tile, %c1 : i32
          scf.yield %count_end, %tile1, %after_dk : i32, i32, i32
        } else {
          %copied = scf.for %column = %c0 to %head_dim step %c64
              iter_args(%copies = %copies_before) -> (i32) : i32 {
            %after_dk = func.call @store_piece(%nothing, %one_f, %dkv_smem, %copies, %dk,
                %at#1, %at#0, %column, %at#5, %at#6) : (!scores, f32, !dkv_pieces, i32,
                !dkv_tensor, i32, i32, i32, i32, i32) -> i32
            %after_dv = func.call @store_piece(%nothing, %one_f, %dkv_smem, %after_dk,
                %dv, %at#1, %at#0, %column, %at#5, %at#6) : (!scores, f32, !dkv_pieces,
                i32, !dkv_tensor, i32, i32, i32, i32, i32) -> i32
            scf.yield %after_dv : i32
          }
          scf.yield %count, %tile, %copied : i32, i32, i32
        }
        scf.if %passes_on {
          %unseen = arith.divui %at#8, %block_m : i32
          %unseen_blocks = arith.minsi %unseen, %blocks_of_copy : i32
          scf.for %head = %first_head to %end_head step %c1 : i32 {
            scf.for %b = %c0 to %unseen_blocks step %c1 : i32 {
              %block = arith.addi %first_block, %b : i32
              %first_of_block = arith.muli %block, %heads : i32
              %semaphore = arith.addi %first_of_block, %head : i32
              tlx.semaphore_wait %turns[%semaphore], %given_turn : !tlx.ptr<i32>, i32
              tlx.semaphore_post %turns[%semaphore] : !tlx.ptr<i32>, i32
            }
          }
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
        %k_slot, %k_phase = tlx.ring %tile stages(2) : i32
        %v_slot = arith.subi %c1, %k_slot : i32
        %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
        %k_tile = tlx.local_view %kv_smem[%k_slot] : !kv_buffers -> !kv_buffer
        %v_tile = tlx.local_view %kv_smem[%v_slot] : !kv_buffers -> !kv_buffer
        %first_head = arith.muli %at#0, %heads_per_group : i32
        %end_head = arith.addi %first_head, %heads_per_group : i32
        %count_end = scf.for %head = %first_head to %end_head step %c1
            iter_args(%n_h = %count) -> (i32) : i32 {
          %of_head = scf.for %j = %c0 to %at#9 step %c1
              iter_args(%n = %n_h) -> (i32) : i32 {
            %j1 = arith.addi %j, %c1 : i32
            %after = arith.subi %at#9, %j1 : i32
            %place = arith.select %ascends, %j, %after : i32
            %distance = arith.muli %place, %block_m : i32
            %row = arith.addi %at#8, %distance : i32
            %padded_row = arith.addi %at#7, %row : i32
            %slot, %phase = tlx.ring %n stages(Q_STAGES) : i32
            %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
            %lse_rows = tlx.local_view %lse_smem[%slot] : !rows_buffers -> !rows_buffer
            %delta_rows = tlx.local_view %delta_smem[%slot]
                : !rows_buffers -> !rows_buffer
            tlx.barrier_wait %q_empty[%slot], %phase producer : !ring
            tlx.barrier_expect_bytes %q_full[%slot], %q_tile : !ring, !q_buffer
            tlx.async_descriptor_load %q[%row, %head, %c0] segment(%at#2, %at#3),
                %q_tile signal %q_full[%slot] : !q_tensor, !q_buffer, !ring
            %is_first = arith.cmpi eq, %n, %count : i32
            scf.if %is_first {
              tlx.barrier_wait %kv_empty[%k_slot], %tile_phase producer : !two
              tlx.barrier_expect_bytes %kv_full[%k_slot], %k_tile : !two, !kv_buffer
              tlx.async_descriptor_load %k[%at#1, %at#0, %c0] segment(%at#5, %at#6),
                  %k_tile signal %kv_full[%k_slot] : !kv_tensor, !kv_buffer, !two
            }

            tlx.barrier_wait %rows_empty[%slot], %phase producer : !ring
            tlx.barrier_expect_bytes %rows_full[%slot], %lse_rows, %delta_rows
                : !ring, !rows_buffer, !rows_buffer
            tlx.async_descriptor_load %lse_log2[%head, %padded_row], %lse_rows
                signal %rows_full[%slot] : !rows_tensor, !rows_buffer, !ring
            tlx.async_descriptor_load %delta[%head, %padded_row], %delta_rows
                signal %rows_full[%slot] : !rows_tensor, !rows_buffer, !ring

            %do_slot, %do_phase = tlx.ring %n stages(DO_STAGES) : i32
            %do_tile = tlx.local_view %do_smem[%do_slot] : !do_buffers -> !q_buffer
            tlx.barrier_wait %do_empty[%do_slot], %do_phase producer : !do_ring
            tlx.barrier_expect_bytes %do_full[%do_slot], %do_tile : !do_ring, !q_buffer
            tlx.async_descriptor_load %do[%row, %head, %c0] segment(%at#4, %at#3),
                %do_tile signal %do_full[%do_slot] : !q_tensor, !q_buffer, !do_ring
            scf.if %is_first {
              tlx.barrier_wait %kv_empty[%v_slot], %tile_phase producer : !two
              tlx.barrier_expect_bytes %kv_full[%v_slot], %v_tile : !two, !kv_buffer
              tlx.async_descriptor_load %v[%at#1, %at#0, %c0] segment(%at#5, %at#6),
                  %v_tile signal %kv_full[%v_slot] : !kv_tensor, !kv_buffer, !two
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
      %first_at:10 = func.call @decode(
          %first_item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
          %broadcast_query, %block_m, %causal) : !decode
      %end:4 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %tile = %c0, %blocks = %first_at#9,
                    %was_first_item = %false) -> (i32, i32, i32, i1) : i32 {
        %next_item = arith.addi %item, %c1 : i32
        %next:10 = func.call @decode(
            %next_item, %items, %q_offsets, %k_offsets, %q_length, %k_length, %jagged,
            %broadcast_query, %block_m, %causal) : !decode
        %steps = arith.muli %blocks, %heads_per_group : i32
        %count_end = arith.addi %count, %steps : i32
        %k_slot, %k_phase = tlx.ring %tile stages(2) : i32
        %v_slot = arith.subi %c1, %k_slot : i32
        %tile_slot, %tile_phase = tlx.ring %tile stages(1) : i32
        %tile_before = arith.subi %tile, %c1 : i32
        %k_tile = tlx.local_view %kv_smem[%k_slot] : !kv_buffers -> !kv_buffer
        %v_tile = tlx.local_view %kv_smem[%v_slot] : !kv_buffers -> !kv_buffer

        %last = scf.for %n = %count to %count_end step %c1
            iter_args(%was_first = %was_first_item) -> (i1) : i32 {
          %is_first = arith.cmpi eq, %n, %count : i32
          %n1 = arith.addi %n, %c1 : i32
          %is_last = arith.cmpi eq, %n1, %count_end : i32
          %slot, %phase = tlx.ring %n stages(Q_STAGES) : i32
          %step_slot, %step_phase = tlx.ring %n stages(1) : i32
          %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
          %q_t = tlx.local_trans %q_tile : !q_buffer -> !qt_buffer
          tlx.barrier_wait %q_full[%slot], %phase : !ring
          scf.if %is_first {
            tlx.barrier_wait %kv_full[%k_slot], %tile_phase : !two
          }
          tlx.async_dot %k_tile, %q_t, %s_tmem : !kv_buffer, !qt_buffer, !s_buffer
          tlx.tcgen05_commit %s_full : !one

          %has_before = arith.cmpi sgt, %n, %c0 : i32
          scf.if %has_before {
            %before = arith.subi %n, %c1 : i32
            %its_tile = arith.select %is_first, %tile_before, %tile : i32
            %its_slot = arith.select %is_first, %v_slot, %k_slot : i32
            func.call @finish_step(%before, %its_tile, %its_slot, %was_first, %is_first,
                %aliases, %q_smem, %kv_smem, %dst_smem, %dp_tmem, %dk_tmem, %dq_tmem,
                %ds_full, %q_empty, %dk_full, %dk_empty, %dq_full, %dq_empty, %kv_empty)
                : (i32, i32, i32, i1, i1, i1, !q_buffers, !kv_buffers, !dst_buffer,
                !s_buffer, !dkv_sum, !dq_sum, !two, !ring, !one, !one, !one, !one, !two)
                -> ()
          }

          %do_slot, %do_phase = tlx.ring %n stages(DO_STAGES) : i32
          %do_tile = tlx.local_view %do_smem[%do_slot] : !do_buffers -> !q_buffer
          %do_t = tlx.local_trans %do_tile : !q_buffer -> !qt_buffer
          tlx.barrier_wait %do_full[%do_slot], %do_phase : !do_ring
          scf.if %is_first {
            tlx.barrier_wait %kv_full[%v_slot], %tile_phase : !two
          }
          scf.if %aliases {
            tlx.barrier_wait %dq_empty, %step_phase producer : !one
          }
          tlx.async_dot %v_tile, %do_t, %dp_tmem : !kv_buffer, !qt_buffer, !s_buffer
          tlx.tcgen05_commit %dp_full : !one
          scf.if %is_last {
            tlx.tcgen05_commit %kv_empty[%v_slot] : !two
          }

          %more = arith.xori %is_first, %true : i1
          scf.if %is_first {
            tlx.barrier_wait %dv_empty, %tile_phase producer : !one
          }
          func.call @start_product(%s_tmem, %p_full, %step_phase, %do_tile, %dv_tmem,
              %more) : (!s_buffer, !two, i32, !q_buffer, !dkv_sum, i1) -> ()
          tlx.tcgen05_commit %do_empty[%do_slot] : !do_ring
          scf.if %is_last {
            tlx.tcgen05_commit %dv_full : !one
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
        %k_slot, %k_phase = tlx.ring %tile stages(2) : i32
        func.call @finish_step(%n, %tile, %k_slot, %end#3, %true, %aliases, %q_smem,
            %kv_smem, %dst_smem, %dp_tmem, %dk_tmem, %dq_tmem, %ds_full, %q_empty,
            %dk_full, %dk_empty, %dq_full, %dq_empty, %kv_empty) : (i32, i32, i32, i1, i1,
            i1, !q_buffers, !kv_buffers, !dst_buffer, !s_buffer, !dkv_sum, !dq_sum, !two,
            !ring, !one, !one, !one, !one, !two) -> ()
      }
    }
  }
}
