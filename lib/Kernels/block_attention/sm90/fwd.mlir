// Block attention forward for Hopper: block-diagonal, in blocks of 64 rows.
//
// Each sequence is cut into blocks of 64 rows, which restart at its first row and
// of which the last may be shorter. A row attends to the rows of its own block
// (docs/Attention.md), so for every block and head
//     S = scale Q K^T      P = softmax(S) over the block's rows      O = P V
//
// There is one tile of keys and values for a tile of queries: no loop over keys, no
// running maximum, no log-sum-exp to keep. Memory decides on the time: q, k and v
// are read once and o is written once, and the products hide behind that. What
// matters is how many bytes are under way.
//
//   role      warps          does
//   @load     1              starts every copy of Q, K and V, STAGES blocks ahead
//   @attend   4 x REPLICAS   each replica takes every REPLICAS-th block: S, P, O
//
//   barrier   count          arrives                   waits      phase completes when
//   full      1 per stage    @load (bytes of Q, K, V)  @attend    a block is there
//   empty     1 per stage    @attend                   @load      its O is done
//
// The ring's depth is a multiple of the replicas, so that a slot is always read by
// the same one: a replica that skipped phases of a barrier could not tell them
// apart by their parity.
//
// The work, num_items pairs of a block and a head with the heads fastest, is divided
// evenly among the persistent CTAs in runs: each reads and writes memory in order.
// block_starts has for each sequence with rows, in order, its first block and its
// first row, and after the last one the number of blocks and the end of its rows. A
// task finds its first sequence there by bisection and then walks on. Neither the
// host nor another CTA is asked.
//
// A sequence bounds every copy (ragged tensor maps): rows past its end are zero on
// the way in, whatever lies there, and dropped on the way out. A block begins inside
// of its sequence, as a load has to.
//
//   shared memory, D 128, 4 stages, 2 replicas: Q, K, V 192 K, O 32 K
//   registers of @attend: S 32, P 16, O 64 of 232

!q_tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!kv_tensor = !tlx.tensormap<[BLOCK_N, 1, HEAD_DIM], ELEMENT, ragged>
!q_buffers = !tlx.memdesc<[STAGES, 64, HEAD_DIM], ELEMENT>
!kv_buffers = !tlx.memdesc<[STAGES, BLOCK_N, HEAD_DIM], ELEMENT>
!o_buffers = !tlx.memdesc<[REPLICAS, 64, HEAD_DIM], ELEMENT>
!q_buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!kv_buffer = !tlx.memdesc<[BLOCK_N, HEAD_DIM], ELEMENT>
!kt_buffer = !tlx.memdesc<[HEAD_DIM, BLOCK_N], ELEMENT, transposed>
!slots = !tlx.mbarrier<[STAGES]>

!scores = tensor<64x?xf32, #tlx.dims<[64, BLOCK_N], ELEMENT>>
!seen = tensor<64x?xi1, #tlx.dims<[64, BLOCK_N], ELEMENT>>
!output = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!weights = tensor<64x?xbf16, #tlx.dims<[64, BLOCK_N], ELEMENT>>
!output_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>

// The share of this CTA: its first item and the one after its last.
func.func private @get_share(%num_items: i32) -> (i32, i32) {
  %c1 = arith.constant 1 : i32
  %cta = tlx.cta_id : i32
  %ctas = tlx.cta_count : i32
  %least = arith.divui %num_items, %ctas : i32
  %taken = arith.muli %least, %ctas : i32
  %rest = arith.subi %num_items, %taken : i32
  // The first `rest` CTAs have one item more.
  %even = arith.muli %cta, %least : i32
  %before = arith.minui %cta, %rest : i32
  %first = arith.addi %even, %before : i32
  %gets_more = arith.cmpi ult, %cta, %rest : i32
  %one_more = arith.extui %gets_more : i1 to i32
  %count = arith.addi %least, %one_more : i32
  %end = arith.addi %first, %count : i32
  return %first, %end : i32, i32
}

// Entry `sequence` of the table: first block and first row.
func.func private @read_start(%block_starts: !tlx.ptr<i32>, %sequence: i32) -> (i32, i32) {
  %c1 = arith.constant 1 : i32
  %at = arith.shli %sequence, %c1 : i32
  %at_row = arith.addi %at, %c1 : i32
  %block = tlx.global_load %block_starts[%at] : !tlx.ptr<i32>, i32 -> i32
  %row = tlx.global_load %block_starts[%at_row] : !tlx.ptr<i32>, i32 -> i32
  return %block, %row : i32, i32
}

// The sequence of a block, the last one that begins at or before it: 32 steps
// without a branch halve any number of sequences down to one, and further steps
// change nothing.
func.func private @find_sequence(%block: i32, %block_starts: !tlx.ptr<i32>,
                                 %num_sequences: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %found, %end = scf.for %step = %c0 to %c32 step %c1
      iter_args(%low = %c0, %high = %num_sequences) -> (i32, i32) : i32 {
    %sum = arith.addi %low, %high : i32
    %middle = arith.shrui %sum, %c1 : i32
    %first:2 = func.call @read_start(%block_starts, %middle)
        : (!tlx.ptr<i32>, i32) -> (i32, i32)
    %begins = arith.cmpi ule, %first#0, %block : i32
    %new_low = arith.select %begins, %middle, %low : i32
    %new_high = arith.select %begins, %high, %middle : i32
    scf.yield %new_low, %new_high : i32, i32
  }
  return %found : i32
}

// Walks on to the sequence of a block. A sequence is told by its number, its first
// block, its first row, the block after its last and the row after its last.
func.func private @walk_to(%block: i32, %block_starts: !tlx.ptr<i32>, %sequence: i32,
    %first: i32, %start: i32, %end: i32, %row_end: i32) -> (i32, i32, i32, i32, i32) {
  %c2 = arith.constant 2 : i32
  %c1 = arith.constant 1 : i32
  %found:5 = scf.while (%s = %sequence, %f = %first, %r = %start, %e = %end, %re = %row_end)
      : (i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32) {
    %is_past = arith.cmpi uge, %block, %e : i32
    scf.condition(%is_past) %s, %f, %r, %e, %re : i32, i32, i32, i32, i32
  } do {
  ^bb0(%s: i32, %f: i32, %r: i32, %e: i32, %re: i32):
    %next = arith.addi %s, %c1 : i32
    %after = arith.addi %s, %c2 : i32
    %next_end:2 = func.call @read_start(%block_starts, %after)
        : (!tlx.ptr<i32>, i32) -> (i32, i32)
    scf.yield %next, %e, %re, %next_end#0, %next_end#1 : i32, i32, i32, i32, i32
  }
  return %found#0, %found#1, %found#2, %found#3, %found#4 : i32, i32, i32, i32, i32
}

// The sequence of an item, as @walk_to tells it.
func.func private @begin_at(%item: i32, %heads: i32, %block_starts: !tlx.ptr<i32>,
                            %num_sequences: i32) -> (i32, i32, i32, i32, i32) {
  %c1 = arith.constant 1 : i32
  %block = arith.divui %item, %heads : i32
  %sequence = func.call @find_sequence(%block, %block_starts, %num_sequences)
      : (i32, !tlx.ptr<i32>, i32) -> i32
  %next = arith.addi %sequence, %c1 : i32
  %start:2 = func.call @read_start(%block_starts, %sequence)
      : (!tlx.ptr<i32>, i32) -> (i32, i32)
  %end:2 = func.call @read_start(%block_starts, %next)
      : (!tlx.ptr<i32>, i32) -> (i32, i32)
  return %sequence, %start#0, %start#1, %end#0, %end#1 : i32, i32, i32, i32, i32
}

tlx.kernel @block_attention_fwd(
    %q: !q_tensor, %k: !kv_tensor, %v: !kv_tensor, %o: !q_tensor, %block_starts: !tlx.ptr<i32>,
    %num_sequences: i32, %num_items: i32, %heads: i32, %scale_log2: f32) {
  // What is computed.
  tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  // The rows of a block, by definition; tiles of ELEMENT need a name for it.
  tlx.param BLOCK_N = 64 in [64] : i32

  // How it is computed.
  tlx.param STAGES = 4 from 2 to 16 step 2 : i32
  %replicas = tlx.param REPLICAS = 2 from 1 to 2 : i32
  tlx.param LOAD_REGISTERS = 40 from 24 to 256 step 8 : i32
  tlx.param ATTEND_REGISTERS = 232 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %q_smem = tlx.local_alloc : !q_buffers
  %k_smem = tlx.local_alloc : !kv_buffers
  %v_smem = tlx.local_alloc : !kv_buffers
  %o_smem = tlx.local_alloc : !o_buffers
  %full = tlx.alloc_barriers arrivals(1) : !slots
  %empty = tlx.alloc_barriers arrivals(1) : !slots
  %first_item, %end_item = func.call @get_share(%num_items) : (i32) -> (i32, i32)

  tlx.async_tasks {
    tlx.async_task @load warps(1) registers(LOAD_REGISTERS) {
      %begin:5 = func.call @begin_at(%first_item, %heads, %block_starts, %num_sequences)
          : (i32, i32, !tlx.ptr<i32>, i32) -> (i32, i32, i32, i32, i32)
      %last:5 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%s = %begin#0, %f = %begin#1, %r = %begin#2, %e = %begin#3,
                    %re = %begin#4) -> (i32, i32, i32, i32, i32) : i32 {
        %block = arith.divui %item, %heads : i32
        %head = arith.remui %item, %heads : i32
        %at:5 = func.call @walk_to(%block, %block_starts, %s, %f, %r, %e, %re)
            : (i32, !tlx.ptr<i32>, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
        %block_in_sequence = arith.subi %block, %at#1 : i32
        %row = arith.muli %block_in_sequence, %c64 : i32
        %length = arith.subi %at#4, %at#2 : i32

        %count = arith.subi %item, %first_item : i32
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !kv_buffers -> !kv_buffer
        %v_tile = tlx.local_view %v_smem[%slot] : !kv_buffers -> !kv_buffer
        tlx.barrier_wait %empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %full[%slot], %q_tile, %k_tile, %v_tile
            : !slots, !q_buffer, !kv_buffer, !kv_buffer
        tlx.async_descriptor_load %q[%row, %head, %c0] segment(%at#2, %length),
            %q_tile signal %full[%slot] : !q_tensor, !q_buffer, !slots
        tlx.async_descriptor_load %k[%row, %head, %c0] segment(%at#2, %length),
            %k_tile signal %full[%slot] : !kv_tensor, !kv_buffer, !slots
        tlx.async_descriptor_load %v[%row, %head, %c0] segment(%at#2, %length),
            %v_tile signal %full[%slot] : !kv_tensor, !kv_buffer, !slots
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4 : i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @attend warps(4) registers(ATTEND_REGISTERS) replicate(REPLICAS) {
      %replica = tlx.async_task_replica_id : i32
      %o_tile = tlx.local_view %o_smem[%replica] : !o_buffers -> !q_buffer
      %minus_infinity = arith.constant 0xFF800000 : f32
      %one = arith.constant 1.0 : f32
      %scale_row = tlx.splat %scale_log2 : f32 -> tensor<64xf32>
      %scale = tlx.splat %scale_log2 : f32 -> !scores
      %masked_score = tlx.splat %minus_infinity : f32 -> !scores
      %ones = tlx.splat %one : f32 -> tensor<64xf32>

      %own_first = arith.addi %first_item, %replica : i32
      %begin:5 = func.call @begin_at(%first_item, %heads, %block_starts, %num_sequences)
          : (i32, i32, !tlx.ptr<i32>, i32) -> (i32, i32, i32, i32, i32)
      %last:5 = scf.for %item = %own_first to %end_item step %replicas
          iter_args(%s = %begin#0, %f = %begin#1, %r = %begin#2, %e = %begin#3,
                    %re = %begin#4) -> (i32, i32, i32, i32, i32) : i32 {
        %block = arith.divui %item, %heads : i32
        %head = arith.remui %item, %heads : i32
        %at:5 = func.call @walk_to(%block, %block_starts, %s, %f, %r, %e, %re)
            : (i32, !tlx.ptr<i32>, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
        %block_in_sequence = arith.subi %block, %at#1 : i32
        %row = arith.muli %block_in_sequence, %c64 : i32
        %length = arith.subi %at#4, %at#2 : i32
        %rows_left = arith.subi %length, %row : i32

        %count = arith.subi %item, %first_item : i32
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %q_tile = tlx.local_view %q_smem[%slot] : !q_buffers -> !q_buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !kv_buffers -> !kv_buffer
        %k_t = tlx.local_trans %k_tile : !kv_buffer -> !kt_buffer
        %v_tile = tlx.local_view %v_smem[%slot] : !kv_buffers -> !kv_buffer
        tlx.barrier_wait %full[%slot], %phase : !slots

        %s_pending = tlx.async_dot %q_tile, %k_t : !q_buffer, !kt_buffer -> !scores
        %s_all = tlx.async_dot_wait %s_pending pending(0) : !scores

        // Keys past the end are zero and would have a score. Every row sees the
        // first key, so its maximum is finite; rows past the end are not stored.
        %limit = tlx.splat %rows_left : i32 -> tensor<64xi32>
        %seen = tlx.prefix_mask %limit dim 1 : tensor<64xi32> -> !seen
        %scores = arith.select %seen, %s_all, %masked_score : !seen, !scores
        %m = tlx.reduce max %scores dim 1 : !scores -> tensor<64xf32>
        %m_scaled = arith.mulf %m, %scale_row : tensor<64xf32>
        %m_c = tlx.expand_dims %m_scaled dim 1 : tensor<64xf32> -> tensor<64x1xf32>
        %m_b = tlx.broadcast %m_c : tensor<64x1xf32> -> !scores
        %scaled = arith.mulf %scores, %scale fastmath<contract> : !scores
        %shifted = arith.subf %scaled, %m_b fastmath<contract> : !scores
        %p = math.exp2 %shifted fastmath<afn> : !scores
        %p_16 = arith.truncf %p : !scores to !weights

        %o_pending = tlx.async_dot %p_16, %v_tile : !weights, !kv_buffer -> !output
        %sum = tlx.reduce add %p dim 1 : !scores -> tensor<64xf32>
        %inverse = arith.divf %ones, %sum fastmath<arcp,afn> : tensor<64xf32>
        %o_sum = tlx.async_dot_wait %o_pending pending(0) : !output
        tlx.barrier_arrive %empty[%slot] : !slots

        %inverse_c = tlx.expand_dims %inverse dim 1 : tensor<64xf32> -> tensor<64x1xf32>
        %inverse_b = tlx.broadcast %inverse_c : tensor<64x1xf32> -> !output
        %o_scaled = arith.mulf %o_sum, %inverse_b : !output
        %o_16 = arith.truncf %o_scaled : !output to !output_16
        // The copy of this replica's block before has to have left the buffer.
        tlx.async_descriptor_store_wait pending(0)
        tlx.local_store %o_16, %o_tile : !output_16, !q_buffer
        tlx.async_descriptor_store %o[%row, %head, %c0] segment(%at#2, %length),
            %o_tile : !q_tensor, !q_buffer
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4 : i32, i32, i32, i32, i32
      }
      // Shared memory has to outlive the last copy out of it.
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
