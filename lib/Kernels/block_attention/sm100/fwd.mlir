// Block attention forward for Blackwell: block-diagonal, in blocks of 64 rows.
//
// Each sequence is cut into blocks of 64 rows, which restart at its first row and of
// which the last may be shorter; a row attends to the rows of its own block
// (docs/Attention.md). For every block and head
//     S = scale Q K^T      P = softmax(S) over the block's rows      O = P V
//
// One block is one tile of each operand, of 64 rows: there is no loop over keys, and no
// running maximum. Rows of the last block beyond its sequence are copied in as zeros and
// not stored, and their keys masked.
//
//   role         warps   does
//   @softmax     4       S to P, half a row in each thread; with ROTARY rotates the next
//                        block
//   @epilogue    4       takes O out of tensor memory, and copies it out
//   @load        1       starts every copy of Q, K and V, STAGES blocks ahead
//   @scores      1       starts S = Q K^T
//   @outputs     1       starts O = P V
//   @angles      1       with ROTARY starts every copy of sines and cosines
//
//   barrier   count   arrives               waits       phase completes when
//   qk_full   1       @load (bytes)         @scores     a block's queries and keys are there
//   qk_empty  1 or 2  @scores (commit),     @load       its S is done, and it has been
//                     with ROTARY @softmax              rotated
//   v_full    1       @load (bytes)         @outputs    its values are there
//   v_empty   1 or 2  as qk_empty           @load       its O is done
//   turned    1       @softmax              @scores,    with ROTARY what is rotated is
//                                           @outputs
//   s_full    1       @scores (commit)      @softmax    its S is there
//   p_full    1       @softmax              @outputs    its P is there
//   s_empty   2       @softmax, @outputs    @scores     its S has been read, and its P, which
//                     (commit)                          lies in it
//   o_full    1       @outputs (commit)     @epilogue   its O is there
//   o_empty   1       @epilogue             @outputs    it has been read
//   a_full    1       @angles (bytes)       @softmax    the angles of 64 columns are there
//   a_empty   1       @softmax              @angles     they have been read
//
// With ROTARY q and k (1), or v too (2), are rotated where they lie, in fp32 and rounded
// once, while the block before is multiplied: as sm90/fwd.mlir does it, but 64 columns at a
// time, whose angles are copied for each head.
//
// The work, num_items pairs of a block and a head with the heads fastest, is divided
// among the persistent CTAs as in sm90/fwd.mlir. Every product replaces its sums: nothing
// is accumulated, nothing has to be cleared.
//
//   tensor memory: S 64 columns, P in the first 32 of them; O HEAD_DIM columns; each twice,
//     in the two halves of the lanes
//   shared memory, D 128, 3 stages: Q, K, V 144 K, O 2 x 16 K; with ROTARY angles 8 K
//   registers: @softmax 200, @epilogue 200, others 96

!tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!ring = !tlx.memdesc<[STAGES, 64, HEAD_DIM], ELEMENT>
!buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!buffer_t = !tlx.memdesc<[HEAD_DIM, 64], ELEMENT, transposed>
!out_ring = !tlx.memdesc<[OUT_STAGES, 64, HEAD_DIM], ELEMENT>
!words_buffer = !tlx.memdesc<[64, HEAD_DIM floordiv 2], i32>
!words_panel = !tlx.memdesc<[64, 32], i32, of = [64, HEAD_DIM floordiv 2]>
!angles_tensor = !tlx.tensormap<[64, 32], ELEMENT, ragged>
!angles_buffer = !tlx.memdesc<[64, 32], ELEMENT>
!s_ring = !tlx.memdesc<[2, 64, 64], f32, tensor>
!s_buffer = !tlx.memdesc<[64, 64], f32, tensor>
!p_columns = !tlx.memdesc<[64, 32], f32, tensor>
!p_buffer = !tlx.memdesc<[64, 64], ELEMENT, tensor>
!o_ring = !tlx.memdesc<[2, 64, HEAD_DIM], f32, tensor>
!o_buffer = !tlx.memdesc<[64, HEAD_DIM], f32, tensor>
!slots = !tlx.mbarrier<[STAGES]>
!two = !tlx.mbarrier<[2]>
!one = !tlx.mbarrier<[1]>

!scores = tensor<64x64xf32, #tlx.dims<[64, 64], ELEMENT>>
!seen = tensor<64x64xi1, #tlx.dims<[64, 64], ELEMENT>>
!weights = tensor<64x64xbf16, #tlx.dims<[64, 64], ELEMENT>>
!output = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!output_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!words = tensor<64x32xi32, #tlx.dims<[64, 32], ELEMENT>>
!words_16 = tensor<64x32xi16, #tlx.dims<[64, 32], ELEMENT>>
!elements_16 = tensor<64x32xbf16, #tlx.dims<[64, 32], ELEMENT>>
!elements = tensor<64x32xf32, #tlx.dims<[64, 32], ELEMENT>>
!rows = tensor<64xf32>
!row_numbers = tensor<64xi32>

// The share of this CTA: its first item and the one after its last.
func.func private @get_share(%num_items: i32) -> (i32, i32) {
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

// Turns the pairs of some rows by their angles: fp32, rounded once.
func.func private @turn_pairs(%pairs: !words, %sine: !elements, %cosine: !elements) -> !words {
  %sixteen = arith.constant 16 : i32
  %by_16 = tlx.splat %sixteen : i32 -> !words
  %first = arith.trunci %pairs : !words to !words_16
  %above = arith.shrui %pairs, %by_16 : !words
  %second = arith.trunci %above : !words to !words_16
  %first_16 = arith.bitcast %first : !words_16 to !elements_16
  %second_16 = arith.bitcast %second : !words_16 to !elements_16
  %x = arith.extf %first_16 : !elements_16 to !elements
  %y = arith.extf %second_16 : !elements_16 to !elements
  %x_cosine = arith.mulf %x, %cosine fastmath<contract> : !elements
  %y_sine = arith.mulf %y, %sine fastmath<contract> : !elements
  %y_cosine = arith.mulf %y, %cosine fastmath<contract> : !elements
  %x_sine = arith.mulf %x, %sine fastmath<contract> : !elements
  %x_turned = arith.subf %x_cosine, %y_sine fastmath<contract> : !elements
  %y_turned = arith.addf %y_cosine, %x_sine fastmath<contract> : !elements
  %x_16 = arith.truncf %x_turned : !elements to !elements_16
  %y_16 = arith.truncf %y_turned : !elements to !elements_16
  %x_bits = arith.bitcast %x_16 : !elements_16 to !words_16
  %y_bits = arith.bitcast %y_16 : !elements_16 to !words_16
  %x_word = arith.extui %x_bits : !words_16 to !words
  %y_word = arith.extui %y_bits : !words_16 to !words
  %y_above = arith.shli %y_word, %by_16 : !words
  %turned = arith.ori %x_word, %y_above : !words
  return %turned : !words
}

// Turns 64 columns of a tile where they are. Each thread reads what it writes, and the
// fence of the writes is one of the reads.
func.func private @turn_panel(%tile: !buffer, %word_column: i32, %sine: !elements,
                              %cosine: !elements) {
  %c0 = arith.constant 0 : i32
  %words = tlx.local_reinterpret %tile : !buffer -> !words_buffer
  %panel = tlx.local_slice %words[%c0, %word_column] : !words_buffer -> !words_panel
  %read = tlx.local_load %panel unfenced : !words_panel -> !words
  %turned = func.call @turn_pairs(%read, %sine, %cosine)
      : (!words, !elements, !elements) -> !words
  tlx.local_store %turned, %panel : !words, !words_panel
  return
}

// Turns q and k, or v too, of a block that has been waited for; returns the next step with
// angles.
func.func private @turn(
    %q: !buffer, %k: !buffer, %v: !buffer, %sines: !angles_buffer,
    %cosines: !angles_buffer, %a_full: !one, %a_empty: !one, %first_angles: i32,
    %head_dim: i32, %turns_v: i1) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
  %half_dim = arith.divui %head_dim, %c2 : i32
  %end = scf.for %column = %c0 to %half_dim step %c32
      iter_args(%angles = %first_angles) -> (i32) : i32 {
    %slot, %phase = tlx.ring %angles stages(1) : i32
    tlx.barrier_wait %a_full[%c0], %phase : !one
    %sine_16 = tlx.local_load %sines : !angles_buffer -> !elements_16
    %cosine_16 = tlx.local_load %cosines : !angles_buffer -> !elements_16
    tlx.barrier_arrive %a_empty[%c0] : !one
    %sine = arith.extf %sine_16 : !elements_16 to !elements
    %cosine = arith.extf %cosine_16 : !elements_16 to !elements
    func.call @turn_panel(%q, %column, %sine, %cosine)
        : (!buffer, i32, !elements, !elements) -> ()
    func.call @turn_panel(%k, %column, %sine, %cosine)
        : (!buffer, i32, !elements, !elements) -> ()
    scf.if %turns_v {
      func.call @turn_panel(%v, %column, %sine, %cosine)
          : (!buffer, i32, !elements, !elements) -> ()
    }
    %next = arith.addi %angles, %c1 : i32
    scf.yield %next : i32
  } {tlx.unroll = 2}
  return %end : i32
}

// Turns the block of a number, in its slot.
func.func private @turn_block(
    %count: i32, %q_smem: !ring, %k_smem: !ring, %v_smem: !ring, %qk_full: !slots,
    %qk_empty: !slots, %v_full: !slots, %v_empty: !slots, %turned: !slots,
    %sines: !angles_buffer, %cosines: !angles_buffer, %a_full: !one, %a_empty: !one,
    %first_angles: i32, %head_dim: i32, %turns_v: i1) -> i32 {
  %slot, %phase = tlx.ring %count stages(STAGES) : i32
  %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
  %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
  %v_tile = tlx.local_view %v_smem[%slot] : !ring -> !buffer
  tlx.barrier_wait %qk_full[%slot], %phase : !slots
  scf.if %turns_v {
    tlx.barrier_wait %v_full[%slot], %phase : !slots
  }
  %next = func.call @turn(%q_tile, %k_tile, %v_tile, %sines, %cosines, %a_full, %a_empty,
      %first_angles, %head_dim, %turns_v) : (!buffer, !buffer, !buffer, !angles_buffer,
      !angles_buffer, !one, !one, i32, i32, i1) -> i32
  tlx.barrier_arrive %turned[%slot] : !slots
  tlx.barrier_arrive %qk_empty[%slot] : !slots
  scf.if %turns_v {
    tlx.barrier_arrive %v_empty[%slot] : !slots
  }
  return %next : i32
}

// Starts the copies of the angles of a block; returns the next step.
func.func private @load_angles(
    %sincos: !angles_tensor, %sines: !angles_buffer, %cosines: !angles_buffer,
    %a_full: !one, %a_empty: !one, %first_angles: i32, %head_dim: i32, %row: i32,
    %start: i32, %length: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
  %half_dim = arith.divui %head_dim, %c2 : i32
  %end = scf.for %column = %c0 to %half_dim step %c32
      iter_args(%angles = %first_angles) -> (i32) : i32 {
    %cosine_column = arith.addi %column, %half_dim : i32
    %slot, %phase = tlx.ring %angles stages(1) : i32
    tlx.barrier_wait %a_empty[%c0], %phase producer : !one
    tlx.barrier_expect_bytes %a_full[%c0], %sines, %cosines
        : !one, !angles_buffer, !angles_buffer
    tlx.async_descriptor_load %sincos[%row, %column] segment(%start, %length),
        %sines signal %a_full[%c0] : !angles_tensor, !angles_buffer, !one
    tlx.async_descriptor_load %sincos[%row, %cosine_column] segment(%start, %length),
        %cosines signal %a_full[%c0] : !angles_tensor, !angles_buffer, !one
    %next = arith.addi %angles, %c1 : i32
    scf.yield %next : i32
  }
  return %end : i32
}

tlx.kernel @block_attention_fwd(
    %q: !tensor, %k: !tensor, %v: !tensor, %o: !tensor,
    %sincos: !angles_tensor, %block_starts: !tlx.ptr<i32>, %num_sequences: i32, %num_items: i32, %heads: i32,
    %scale_log2: f32) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  // 1: q and k are rotated, 2: v too.
  %rotary = tlx.param ROTARY = 0 from 0 to 2 : i32

  // How it is computed.
  // The rows of a block, which block_starts counts.
  tlx.param BLOCK_M = 64 in [64] : i32
  tlx.param STAGES = 3 from 2 to 8 : i32
  %out_stages = tlx.param OUT_STAGES = 2 from 1 to 2 : i32
  tlx.param SOFTMAX_REGISTERS = 200 from 24 to 256 step 8 : i32
  tlx.param EPILOGUE_REGISTERS = 200 from 24 to 256 step 8 : i32
  tlx.param OTHER_REGISTERS = 96 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c2 = arith.constant 2 : i32
  %turns_qk = arith.cmpi ne, %rotary, %c0 : i32
  %turns_v = arith.cmpi eq, %rotary, %c2 : i32
  %has_two = arith.cmpi eq, %out_stages, %c2 : i32
  %q_smem = tlx.local_alloc : !ring
  %k_smem = tlx.local_alloc : !ring
  %v_smem = tlx.local_alloc : !ring
  %out_smem = tlx.local_alloc : !out_ring
  // What has no use takes no memory of its own.
  %sines, %cosines = scf.if %turns_qk -> (!angles_buffer, !angles_buffer) {
    %sine_buffer = tlx.local_alloc : !angles_buffer
    %cosine_buffer = tlx.local_alloc : !angles_buffer
    scf.yield %sine_buffer, %cosine_buffer : !angles_buffer, !angles_buffer
  } else {
    %unused = tlx.local_alloc alias(%q_smem) : !angles_buffer, !ring
    scf.yield %unused, %unused : !angles_buffer, !angles_buffer
  }
  %s_tmem = tlx.local_alloc : !s_ring
  %o_tmem = tlx.local_alloc : !o_ring
  %qk_full = tlx.alloc_barriers arrivals(1) : !slots
  %qk_empty = tlx.alloc_barriers arrivals((ROTARY + 1) floordiv 2 + 1) : !slots
  %v_full = tlx.alloc_barriers arrivals(1) : !slots
  %v_empty = tlx.alloc_barriers arrivals(ROTARY floordiv 2 + 1) : !slots
  %s_full = tlx.alloc_barriers arrivals(1) : !two
  %p_full = tlx.alloc_barriers arrivals(1) : !two
  %s_empty = tlx.alloc_barriers arrivals(2) : !two
  %o_full = tlx.alloc_barriers arrivals(1) : !two
  %o_empty = tlx.alloc_barriers arrivals(1) : !two
  %turned = tlx.alloc_barriers arrivals(1) : !slots
  %a_full = tlx.alloc_barriers arrivals(1) : !one
  %a_empty = tlx.alloc_barriers arrivals(1) : !one
  %first_item, %end_item = func.call @get_share(%num_items) : (i32) -> (i32, i32)
  %num_own = arith.subi %end_item, %first_item : i32

  tlx.async_tasks {
    tlx.async_task @softmax warps(4) registers(SOFTMAX_REGISTERS) {
      %one = arith.constant 1.0 : f32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %ones = tlx.splat %one : f32 -> !rows
      %scale_row = tlx.splat %scale_log2 : f32 -> !rows
      %scale = tlx.splat %scale_log2 : f32 -> !scores
      %masked_score = tlx.splat %minus_infinity : f32 -> !scores
      %begin:5 = func.call @begin_at(%first_item, %heads, %block_starts, %num_sequences)
          : (i32, i32, !tlx.ptr<i32>, i32) -> (i32, i32, i32, i32, i32)
      // The first block, and then each while the one before it is multiplied.
      %begin_angles = scf.if %turns_qk -> (i32) {
        %turned_to = func.call @turn_block(%c0, %q_smem, %k_smem, %v_smem, %qk_full,
            %qk_empty, %v_full, %v_empty, %turned, %sines, %cosines, %a_full, %a_empty,
            %c0, %head_dim, %turns_v) : (i32, !ring, !ring, !ring, !slots, !slots, !slots,
            !slots, !slots, !angles_buffer, !angles_buffer, !one, !one, i32, i32, i1) -> i32
        scf.yield %turned_to : i32
      } else {
        scf.yield %c0 : i32
      }
      %last:6 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%s = %begin#0, %f = %begin#1, %r = %begin#2, %e = %begin#3,
                    %re = %begin#4, %angles = %begin_angles)
          -> (i32, i32, i32, i32, i32, i32) : i32 {
        %block = arith.divui %item, %heads : i32
        %at:5 = func.call @walk_to(%block, %block_starts, %s, %f, %r, %e, %re)
            : (i32, !tlx.ptr<i32>, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
        %block_in_sequence = arith.subi %block, %at#1 : i32
        %row = arith.muli %block_in_sequence, %c64 : i32
        %length = arith.subi %at#4, %at#2 : i32
        %rows_left = arith.subi %length, %row : i32
        // The keys of the block that are there: one at least.
        %limit = tlx.splat %rows_left : i32 -> !row_numbers

        %count = arith.subi %item, %first_item : i32
        %next_count = arith.addi %count, %c1 : i32
        %has_next = arith.cmpi ult, %next_count, %num_own : i32
        %turns_next = arith.andi %has_next, %turns_qk : i1
        %next_angles = scf.if %turns_next -> (i32) {
          %turned_to = func.call @turn_block(%next_count, %q_smem, %k_smem, %v_smem, %qk_full,
              %qk_empty, %v_full, %v_empty, %turned, %sines, %cosines, %a_full, %a_empty,
              %angles, %head_dim, %turns_v) : (i32, !ring, !ring, !ring, !slots, !slots, !slots,
              !slots, !slots, !angles_buffer, !angles_buffer, !one, !one, i32, i32, i1) -> i32
          scf.yield %turned_to : i32
        } else {
          scf.yield %angles : i32
        }
        %slot, %phase = tlx.ring %count stages(2) : i32
        %s_tile = tlx.local_view %s_tmem[%slot] : !s_ring -> !s_buffer
        %p_place = tlx.local_slice %s_tile[%c0, %c0] : !s_buffer -> !p_columns
        %p_tile = tlx.local_reinterpret %p_place : !p_columns -> !p_buffer
        tlx.barrier_wait %s_full[%slot], %phase : !two
        %all_scores = tlx.local_load %s_tile : !s_buffer -> !scores
        %seen = tlx.prefix_mask %limit dim 1 : !row_numbers -> !seen
        %scores = arith.select %seen, %all_scores, %masked_score : !seen, !scores
        %m = tlx.reduce max %scores dim 1 : !scores -> !rows
        %m_scaled = arith.mulf %m, %scale_row : !rows
        %m_c = tlx.expand_dims %m_scaled dim 1 : !rows -> tensor<64x1xf32>
        %m_b = tlx.broadcast %m_c : tensor<64x1xf32> -> !scores
        %scaled = arith.mulf %scores, %scale fastmath<contract> : !scores
        %shifted = arith.subf %scaled, %m_b fastmath<contract> : !scores
        %exp = math.exp2 %shifted fastmath<afn> : !scores
        %l = tlx.reduce add %exp dim 1 : !scores -> !rows
        %inverse = arith.divf %ones, %l fastmath<arcp,afn> : !rows
        %inverse_c = tlx.expand_dims %inverse dim 1 : !rows -> tensor<64x1xf32>
        %inverse_b = tlx.broadcast %inverse_c : tensor<64x1xf32> -> !scores
        %p = arith.mulf %exp, %inverse_b : !scores
        %rounded = arith.truncf %p : !scores to !weights
        tlx.local_store %rounded, %p_tile : !weights, !p_buffer
        tlx.barrier_arrive %p_full[%slot] : !two
        tlx.barrier_arrive %s_empty[%slot] : !two
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4, %next_angles
            : i32, i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @epilogue warps(4) registers(EPILOGUE_REGISTERS) {
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
        %slot, %phase = tlx.ring %count stages(2) : i32
        %o_tile = tlx.local_view %o_tmem[%slot] : !o_ring -> !o_buffer
        tlx.barrier_wait %o_full[%slot], %phase : !two
        %output = tlx.local_load %o_tile : !o_buffer -> !output
        tlx.barrier_arrive %o_empty[%slot] : !two
        %rounded = arith.truncf %output : !output to !output_16
        %out_slot, %out_phase = tlx.ring %count stages(OUT_STAGES) : i32
        %out_tile = tlx.local_view %out_smem[%out_slot] : !out_ring -> !buffer
        // The copy before has to have left the buffer.
        scf.if %has_two {
          tlx.async_descriptor_store_wait pending(1)
        } else {
          tlx.async_descriptor_store_wait pending(0)
        }
        tlx.local_store %rounded, %out_tile : !output_16, !buffer
        tlx.async_descriptor_store %o[%row, %head, %c0] segment(%at#2, %length),
            %out_tile : !tensor, !buffer
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4 : i32, i32, i32, i32, i32
      }
      // Shared memory has to outlive the last copy out of it.
      tlx.async_descriptor_store_wait pending(0)
    }

    tlx.async_task @load warps(1) registers(OTHER_REGISTERS) {
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
        %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
        %v_tile = tlx.local_view %v_smem[%slot] : !ring -> !buffer
        tlx.barrier_wait %qk_empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %qk_full[%slot], %q_tile, %k_tile
            : !slots, !buffer, !buffer
        tlx.async_descriptor_load %q[%row, %head, %c0] segment(%at#2, %length),
            %q_tile signal %qk_full[%slot] : !tensor, !buffer, !slots
        tlx.async_descriptor_load %k[%row, %head, %c0] segment(%at#2, %length),
            %k_tile signal %qk_full[%slot] : !tensor, !buffer, !slots
        tlx.barrier_wait %v_empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %v_full[%slot], %v_tile : !slots, !buffer
        tlx.async_descriptor_load %v[%row, %head, %c0] segment(%at#2, %length),
            %v_tile signal %v_full[%slot] : !tensor, !buffer, !slots
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4 : i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @scores warps(1) registers(OTHER_REGISTERS) {
      scf.for %count = %c0 to %num_own step %c1 : i32 {
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %s_slot, %s_phase = tlx.ring %count stages(2) : i32
        %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
        %k_t = tlx.local_trans %k_tile : !buffer -> !buffer_t
        %s_tile = tlx.local_view %s_tmem[%s_slot] : !s_ring -> !s_buffer
        tlx.barrier_wait %qk_full[%slot], %phase : !slots
        scf.if %turns_qk {
          tlx.barrier_wait %turned[%slot], %phase : !slots
        }
        tlx.barrier_wait %s_empty[%s_slot], %s_phase producer : !two
        tlx.async_dot %q_tile, %k_t, %s_tile : !buffer, !buffer_t, !s_buffer
        tlx.tcgen05_commit %s_full[%s_slot] : !two
        tlx.tcgen05_commit %qk_empty[%slot] : !slots
      }
    }

    tlx.async_task @outputs warps(1) registers(OTHER_REGISTERS) {
      scf.for %count = %c0 to %num_own step %c1 : i32 {
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %s_slot, %s_phase = tlx.ring %count stages(2) : i32
        %v_tile = tlx.local_view %v_smem[%slot] : !ring -> !buffer
        %s_tile = tlx.local_view %s_tmem[%s_slot] : !s_ring -> !s_buffer
        %p_place = tlx.local_slice %s_tile[%c0, %c0] : !s_buffer -> !p_columns
        %p_tile = tlx.local_reinterpret %p_place : !p_columns -> !p_buffer
        tlx.barrier_wait %v_full[%slot], %phase : !slots
        scf.if %turns_v {
          tlx.barrier_wait %turned[%slot], %phase : !slots
        }
        tlx.barrier_wait %p_full[%s_slot], %s_phase : !two
        %o_tile = tlx.local_view %o_tmem[%s_slot] : !o_ring -> !o_buffer
        tlx.barrier_wait %o_empty[%s_slot], %s_phase producer : !two
        tlx.async_dot %p_tile, %v_tile, %o_tile : !p_buffer, !buffer, !o_buffer
        tlx.tcgen05_commit %o_full[%s_slot] : !two
        tlx.tcgen05_commit %v_empty[%slot] : !slots
        tlx.tcgen05_commit %s_empty[%s_slot] : !two
      }
    }

    tlx.async_task @angles warps(1) registers(OTHER_REGISTERS) {
      scf.if %turns_qk {
        %begin:5 = func.call @begin_at(%first_item, %heads, %block_starts, %num_sequences)
            : (i32, i32, !tlx.ptr<i32>, i32) -> (i32, i32, i32, i32, i32)
        %last:6 = scf.for %item = %first_item to %end_item step %c1
            iter_args(%s = %begin#0, %f = %begin#1, %r = %begin#2, %e = %begin#3,
                      %re = %begin#4, %angles = %c0)
            -> (i32, i32, i32, i32, i32, i32) : i32 {
          %block = arith.divui %item, %heads : i32
          %at:5 = func.call @walk_to(%block, %block_starts, %s, %f, %r, %e, %re)
              : (i32, !tlx.ptr<i32>, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
          %block_in_sequence = arith.subi %block, %at#1 : i32
          %row = arith.muli %block_in_sequence, %c64 : i32
          %length = arith.subi %at#4, %at#2 : i32
          %next_angles = func.call @load_angles(%sincos, %sines, %cosines, %a_full,
              %a_empty, %angles, %head_dim, %row, %at#2, %length) : (!angles_tensor,
              !angles_buffer, !angles_buffer, !one, !one, i32, i32, i32, i32, i32) -> i32
          scf.yield %at#0, %at#1, %at#2, %at#3, %at#4, %next_angles
              : i32, i32, i32, i32, i32, i32
        }
      }
    }
  }
}
