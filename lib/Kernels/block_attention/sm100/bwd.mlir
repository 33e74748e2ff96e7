// Block attention backward for Blackwell: block-diagonal, in blocks of 64 rows.
//
// For every block and head (docs/Attention.md), with P recomputed,
//     S = scale Q K^T      P = softmax(S) over the block's rows
//     dV = P^T dO          dP = dO V^T       delta = rowsum(P * dP)
//     dS = scale P * (dP - delta)            dQ = dS K         dK = dS^T Q
//
// One block is one tile of each operand, of 64 rows. P and dS go through shared memory,
// where they are an operand as they are and transposed.
//
//   role         warps   does
//   @softmax     4       S to P, half a row in each thread; with ROTATE_INPUTS rotates q and
//                        k, or v too, before that
//   @ds          4       P and dP to dS, while @softmax has the next block
//   @epilogue    4       takes gradients out of tensor memory, and copies them out
//   @load        1       starts every copy of Q, K, dO and V, STAGES blocks ahead
//   @scores      1       starts S = Q K^T and dP = dO V^T
//   @gradients   1       starts dV = P^T dO, dK = dS^T Q, dQ = dS K, 64 columns at a time
//   @angles      1       with ROTARY starts every copy of sines and cosines
//
//   barrier    count   arrives                waits        phase completes when
//   qk_full    1       @load (bytes)          @scores,     a block's Q and K are there
//                                             @gradients
//   q_empty    2 or 3  @scores and @gradients @load        its S and its dK are done, and Q
//                      (commits), @softmax                 has been rotated
//                      with ROTATE_INPUTS
//   k_empty    2 or 3  as q_empty             @load        its S and its dQ are done, and K
//                                                          has been rotated
//   do_full    1       @load (bytes)          @scores,     its dO is there
//                                             @gradients
//   do_empty   2       @scores and @gradients @load        its dP and its dV are done
//                      (commits)
//   v_full     1       @load (bytes)          @scores      its V is there
//   v_empty    1 or 2  as q_empty             @load        its dP is done
//   turned     1       @softmax               @scores      with ROTATE_INPUTS what is
//                                                          rotated is
//   s_full     1       @scores (commit)       @softmax     its S is there
//   pf_full    1       @softmax               @ds          its P is in the place of S
//   dp_full    1       @scores (commit)       @ds          its dP is there
//   sdp_empty  1       @ds                    @scores      P and dP have been read
//   p_full     1       @softmax               @gradients   its P is in shared memory
//   p_empty    1       @gradients (commit)    @softmax     its dV is done
//   ds_full    1       @ds                    @gradients   its dS is in shared memory
//   ds_empty   1       @gradients (commit)    @ds          its dK and dQ are done
//   g_full     1       @gradients (commit)    @epilogue    64 columns of a gradient are there
//   g_empty    1       @epilogue              @gradients   they have been read
//   a_full     1       @angles (bytes)        @epilogue    the angles of 64 columns are there
//   a_empty    1       @epilogue              @angles      they have been read
//   in_full    1       @angles (bytes)        @softmax     the same, with ROTATE_INPUTS
//   in_empty   1       @softmax               @angles
//
// With ROTARY the gradients of q and k (1), or of v too (2), are turned back by the angles
// of `sincos`, in fp32, before they are rounded. A pair of neighbours is an element of 64
// bits of tensor memory, so that one thread has both. With
// ROTATE_INPUTS q, k and v are rotated here, where they lie, as fwd.mlir does it. Both take
// their angles from the same buffers, in turns: a block's inputs, then its gradients.
//
// @ds gets P in fp32, in tensor memory, where S was: products take the one in shared memory,
// which is rounded.
//
//   tensor memory: S, dP and gradients, 64 columns each, twice, in the two halves of the
//     lanes
//   shared memory, D 128, 3 stages: Q, K, dO, V 192 K, P 8 K, dS 8 K, gradients 2 x 8 K, or
//     with ROTARY 8 K and angles 8 K
//   registers: @softmax and @ds 128, @epilogue 152, others 96

!tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!ring = !tlx.memdesc<[STAGES, 64, HEAD_DIM], ELEMENT>
!buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!buffer_t = !tlx.memdesc<[HEAD_DIM, 64], ELEMENT, transposed>
!panel = !tlx.memdesc<[64, 64], ELEMENT, of = [64, HEAD_DIM]>
!out_tensor = !tlx.tensormap<[64, 1, 64], ELEMENT, ragged>
!out_ring = !tlx.memdesc<[OUT_STAGES, 64, 64], ELEMENT>
!out_buffer = !tlx.memdesc<[64, 64], ELEMENT>
!words_buffer = !tlx.memdesc<[64, HEAD_DIM floordiv 2], i32>
!words_panel = !tlx.memdesc<[64, 32], i32, of = [64, HEAD_DIM floordiv 2]>
!out_words = !tlx.memdesc<[64, 32], i32>
!angles_tensor = !tlx.tensormap<[64, 32], ELEMENT, ragged>
!angles_buffer = !tlx.memdesc<[64, 32], ELEMENT>
!weights_buffer = !tlx.memdesc<[64, 64], ELEMENT>
!weights_buffer_t = !tlx.memdesc<[64, 64], ELEMENT, transposed>
!sums_ring = !tlx.memdesc<[2, 64, 64], f32, tensor>
!sums_buffer = !tlx.memdesc<[64, 64], f32, tensor>
!pairs_buffer = !tlx.memdesc<[64, 32], i64, tensor>
!slots = !tlx.mbarrier<[STAGES]>
!one = !tlx.mbarrier<[1]>
!two = !tlx.mbarrier<[2]>

!sums = tensor<64x64xf32, #tlx.dims<[64, 64], ELEMENT>>
!mask = tensor<64x64xi1, #tlx.dims<[64, 64], ELEMENT>>
!rounded = tensor<64x64xbf16, #tlx.dims<[64, 64], ELEMENT>>
!pairs = tensor<64x32xi64, #tlx.dims<[64, 32], ELEMENT>>
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

// Starts the product of weights, as they are or transposed, and of a block's rows, 64
// columns at a time; returns the next step.
func.func private @start_straight(
    %weights: !weights_buffer, %x: !buffer, %g: !sums_ring, %g_full: !two, %g_empty: !two,
    %first_step: i32, %head_dim: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %end = scf.for %column = %c0 to %head_dim step %c64
      iter_args(%step = %first_step) -> (i32) : i32 {
    %slot, %phase = tlx.ring %step stages(2) : i32
    %sums = tlx.local_view %g[%slot] : !sums_ring -> !sums_buffer
    %x_panel = tlx.local_slice %x[%c0, %column] : !buffer -> !panel
    tlx.barrier_wait %g_empty[%slot], %phase producer : !two
    tlx.async_dot %weights, %x_panel, %sums : !weights_buffer, !panel, !sums_buffer
    tlx.tcgen05_commit %g_full[%slot] : !two
    %next = arith.addi %step, %c1 : i32
    scf.yield %next : i32
  } {tlx.unroll = 2}
  return %end : i32
}

func.func private @start_transposed(
    %weights: !weights_buffer, %x: !buffer, %g: !sums_ring, %g_full: !two, %g_empty: !two,
    %first_step: i32, %head_dim: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %weights_t = tlx.local_trans %weights : !weights_buffer -> !weights_buffer_t
  %end = scf.for %column = %c0 to %head_dim step %c64
      iter_args(%step = %first_step) -> (i32) : i32 {
    %slot, %phase = tlx.ring %step stages(2) : i32
    %sums = tlx.local_view %g[%slot] : !sums_ring -> !sums_buffer
    %x_panel = tlx.local_slice %x[%c0, %column] : !buffer -> !panel
    tlx.barrier_wait %g_empty[%slot], %phase producer : !two
    tlx.async_dot %weights_t, %x_panel, %sums : !weights_buffer_t, !panel, !sums_buffer
    tlx.tcgen05_commit %g_full[%slot] : !two
    %next = arith.addi %step, %c1 : i32
    scf.yield %next : i32
  } {tlx.unroll = 2}
  return %end : i32
}

// Turns pairs back and rounds them.
func.func private @turn_back(%pairs: !pairs, %sine_16: !elements_16,
                             %cosine_16: !elements_16) -> !words {
  %sixteen = arith.constant 16 : i32
  %thirty_two = arith.constant 32 : i64
  %by_16 = tlx.splat %sixteen : i32 -> !words
  %by_32 = tlx.splat %thirty_two : i64 -> !pairs
  %first = arith.trunci %pairs : !pairs to !words
  %above = arith.shrui %pairs, %by_32 : !pairs
  %second = arith.trunci %above : !pairs to !words
  %x = arith.bitcast %first : !words to !elements
  %y = arith.bitcast %second : !words to !elements
  %sine = arith.extf %sine_16 : !elements_16 to !elements
  %cosine = arith.extf %cosine_16 : !elements_16 to !elements
  %x_cosine = arith.mulf %x, %cosine fastmath<contract> : !elements
  %y_sine = arith.mulf %y, %sine fastmath<contract> : !elements
  %y_cosine = arith.mulf %y, %cosine fastmath<contract> : !elements
  %x_sine = arith.mulf %x, %sine fastmath<contract> : !elements
  %x_back = arith.addf %x_cosine, %y_sine fastmath<contract> : !elements
  %y_back = arith.subf %y_cosine, %x_sine fastmath<contract> : !elements
  %x_16 = arith.truncf %x_back : !elements to !elements_16
  %y_16 = arith.truncf %y_back : !elements to !elements_16
  %x_bits = arith.bitcast %x_16 : !elements_16 to !words_16
  %y_bits = arith.bitcast %y_16 : !elements_16 to !words_16
  %x_word = arith.extui %x_bits : !words_16 to !words
  %y_word = arith.extui %y_bits : !words_16 to !words
  %y_above = arith.shli %y_word, %by_16 : !words
  %turned = arith.ori %x_word, %y_above : !words
  return %turned : !words
}

// Takes a gradient out of tensor memory, 64 columns at a time, and copies it out; turns
// it back if it has to be. Returns the next step, and the next one with angles.
func.func private @copy_out(
    %gradient: !out_tensor, %out: !out_ring, %g: !sums_ring, %g_full: !two, %g_empty: !two,
    %sines: !angles_buffer, %cosines: !angles_buffer, %a_full: !one, %a_empty: !one,
    %first_step: i32, %first_angles: i32, %head_dim: i32, %has_two: i1, %turns: i1,
    %row: i32, %head: i32, %start: i32, %length: i32) -> (i32, i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %end:2 = scf.for %column = %c0 to %head_dim step %c64
      iter_args(%step = %first_step, %angles = %first_angles) -> (i32, i32) : i32 {
    %slot, %phase = tlx.ring %step stages(2) : i32
    %out_slot, %out_phase = tlx.ring %step stages(OUT_STAGES) : i32
    %sums = tlx.local_view %g[%slot] : !sums_ring -> !sums_buffer
    %out_tile = tlx.local_view %out[%out_slot] : !out_ring -> !out_buffer
    // The copy before has to have left the buffer.
    scf.if %has_two {
      tlx.async_descriptor_store_wait pending(1)
    } else {
      tlx.async_descriptor_store_wait pending(0)
    }
    tlx.barrier_wait %g_full[%slot], %phase : !two
    %next_angles = scf.if %turns -> (i32) {
      %in_pairs = tlx.local_reinterpret %sums : !sums_buffer -> !pairs_buffer
      %pairs = tlx.local_load %in_pairs : !pairs_buffer -> !pairs
      tlx.barrier_arrive %g_empty[%slot] : !two
      %a_slot, %a_phase = tlx.ring %angles stages(1) : i32
      tlx.barrier_wait %a_full[%c0], %a_phase : !one
      %sine = tlx.local_load %sines : !angles_buffer -> !elements_16
      %cosine = tlx.local_load %cosines : !angles_buffer -> !elements_16
      tlx.barrier_arrive %a_empty[%c0] : !one
      %turned = func.call @turn_back(%pairs, %sine, %cosine)
          : (!pairs, !elements_16, !elements_16) -> !words
      %words = tlx.local_reinterpret %out_tile : !out_buffer -> !out_words
      tlx.local_store %turned, %words : !words, !out_words
      %after = arith.addi %angles, %c1 : i32
      scf.yield %after : i32
    } else {
      %gradient_part = tlx.local_load %sums : !sums_buffer -> !sums
      tlx.barrier_arrive %g_empty[%slot] : !two
      %rounded = arith.truncf %gradient_part : !sums to !rounded
      tlx.local_store %rounded, %out_tile : !rounded, !out_buffer
      scf.yield %angles : i32
    }
    tlx.async_descriptor_store %gradient[%row, %head, %column] segment(%start, %length),
        %out_tile : !out_tensor, !out_buffer
    %next = arith.addi %step, %c1 : i32
    scf.yield %next, %next_angles : i32, i32
  } {tlx.unroll = 2}
  return %end#0, %end#1 : i32, i32
}

// Turns pairs by their angles: fp32, rounded once.
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

// Starts the copies of the angles of a gradient, or of the inputs; returns the next step.
// The others, in whose turn the buffers have been, have read what they got last.
func.func private @load_angles(
    %sincos: !angles_tensor, %sines: !angles_buffer, %cosines: !angles_buffer,
    %a_full: !one, %a_empty: !one, %first_angles: i32, %others_empty: !one,
    %others_next: i32, %has_others: i1, %head_dim: i32, %row: i32, %start: i32,
    %length: i32) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c32 = arith.constant 32 : i32
  %half_dim = arith.divui %head_dim, %c2 : i32
  scf.if %has_others {
    %others_slot, %others_phase = tlx.ring %others_next stages(1) : i32
    tlx.barrier_wait %others_empty[%c0], %others_phase producer : !one
  }
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

tlx.kernel @block_attention_bwd(
    %q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %dq: !out_tensor,
    %dk: !out_tensor, %dv: !out_tensor, %sincos: !angles_tensor,
    %block_starts: !tlx.ptr<i32>, %num_sequences: i32, %num_items: i32, %heads: i32,
    %scale: f32, %scale_log2: f32) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  // 1: q and k have been rotated, 2: v too.
  %rotary = tlx.param ROTARY = 0 from 0 to 2 : i32
  // They are as they were before that, and are rotated here.
  %rotate_inputs = tlx.param ROTATE_INPUTS = false : i1

  // How it is computed.
  // The rows of a block, which block_starts counts.
  tlx.param BLOCK_M = 64 in [64] : i32
  tlx.param STAGES = 3 from 1 to 6 : i32
  %out_stages = tlx.param OUT_STAGES = 2 from 1 to 2 : i32
  tlx.param SOFTMAX_REGISTERS = 128 from 24 to 256 step 8 : i32
  tlx.param DS_REGISTERS = 128 from 24 to 256 step 8 : i32
  tlx.param EPILOGUE_REGISTERS = 152 from 24 to 256 step 8 : i32
  tlx.param OTHER_REGISTERS = 96 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %c2 = arith.constant 2 : i32
  %turns_qk = arith.cmpi ne, %rotary, %c0 : i32
  %turns_v = arith.cmpi eq, %rotary, %c2 : i32
  %turns_inputs = arith.andi %turns_qk, %rotate_inputs : i1
  %has_two = arith.cmpi eq, %out_stages, %c2 : i32
  %q_smem = tlx.local_alloc : !ring
  %k_smem = tlx.local_alloc : !ring
  %do_smem = tlx.local_alloc : !ring
  %v_smem = tlx.local_alloc : !ring
  %p_smem = tlx.local_alloc : !weights_buffer
  %ds_smem = tlx.local_alloc : !weights_buffer
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
  %s_tmem = tlx.local_alloc : !sums_ring
  %dp_tmem = tlx.local_alloc : !sums_ring
  %g_tmem = tlx.local_alloc : !sums_ring
  %qk_full = tlx.alloc_barriers arrivals(1) : !slots
  %q_empty = tlx.alloc_barriers arrivals((ROTARY + 1) floordiv 2 * ROTATE_INPUTS + 2) : !slots
  %k_empty = tlx.alloc_barriers arrivals((ROTARY + 1) floordiv 2 * ROTATE_INPUTS + 2) : !slots
  %do_full = tlx.alloc_barriers arrivals(1) : !slots
  %do_empty = tlx.alloc_barriers arrivals(2) : !slots
  %v_full = tlx.alloc_barriers arrivals(1) : !slots
  %v_empty = tlx.alloc_barriers arrivals(ROTARY floordiv 2 * ROTATE_INPUTS + 1) : !slots
  %s_full = tlx.alloc_barriers arrivals(1) : !two
  %pf_full = tlx.alloc_barriers arrivals(1) : !two
  %dp_full = tlx.alloc_barriers arrivals(1) : !two
  %sdp_empty = tlx.alloc_barriers arrivals(1) : !two
  %p_full = tlx.alloc_barriers arrivals(1) : !one
  %p_empty = tlx.alloc_barriers arrivals(1) : !one
  %ds_full = tlx.alloc_barriers arrivals(1) : !one
  %ds_empty = tlx.alloc_barriers arrivals(1) : !one
  %g_full = tlx.alloc_barriers arrivals(1) : !two
  %g_empty = tlx.alloc_barriers arrivals(1) : !two
  %a_full = tlx.alloc_barriers arrivals(1) : !one
  %a_empty = tlx.alloc_barriers arrivals(1) : !one
  %turned = tlx.alloc_barriers arrivals(1) : !slots
  %in_full = tlx.alloc_barriers arrivals(1) : !one
  %in_empty = tlx.alloc_barriers arrivals(1) : !one
  %first_item, %end_item = func.call @get_share(%num_items) : (i32) -> (i32, i32)
  %num_own = arith.subi %end_item, %first_item : i32

  tlx.async_tasks {
    tlx.async_task @softmax warps(4) registers(SOFTMAX_REGISTERS) {
      %one_f = arith.constant 1.0 : f32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %ones = tlx.splat %one_f : f32 -> !rows
      %scale_row = tlx.splat %scale_log2 : f32 -> !rows
      %score_scale = tlx.splat %scale_log2 : f32 -> !sums
      %masked_score = tlx.splat %minus_infinity : f32 -> !sums
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
        %rows_left = arith.subi %length, %row : i32
        // The keys of the block that are there: one at least.
        %limit = tlx.splat %rows_left : i32 -> !row_numbers

        %count = arith.subi %item, %first_item : i32
        %slot, %phase = tlx.ring %count stages(1) : i32
        %next_angles = scf.if %turns_inputs -> (i32) {
          %in_slot, %in_phase = tlx.ring %count stages(STAGES) : i32
          %q_tile = tlx.local_view %q_smem[%in_slot] : !ring -> !buffer
          %k_tile = tlx.local_view %k_smem[%in_slot] : !ring -> !buffer
          %v_tile = tlx.local_view %v_smem[%in_slot] : !ring -> !buffer
          tlx.barrier_wait %qk_full[%in_slot], %in_phase : !slots
          scf.if %turns_v {
            tlx.barrier_wait %v_full[%in_slot], %in_phase : !slots
          }
          %turned_to = func.call @turn(%q_tile, %k_tile, %v_tile, %sines, %cosines,
              %in_full, %in_empty, %angles, %head_dim, %turns_v) : (!buffer, !buffer,
              !buffer, !angles_buffer, !angles_buffer, !one, !one, i32, i32, i1) -> i32
          tlx.barrier_arrive %turned[%in_slot] : !slots
          tlx.barrier_arrive %q_empty[%in_slot] : !slots
          tlx.barrier_arrive %k_empty[%in_slot] : !slots
          scf.if %turns_v {
            tlx.barrier_arrive %v_empty[%in_slot] : !slots
          }
          scf.yield %turned_to : i32
        } else {
          scf.yield %angles : i32
        }
        %s_slot, %s_phase = tlx.ring %count stages(2) : i32
        %s_tile = tlx.local_view %s_tmem[%s_slot] : !sums_ring -> !sums_buffer
        tlx.barrier_wait %s_full[%s_slot], %s_phase : !two
        %all_scores = tlx.local_load %s_tile : !sums_buffer -> !sums
        %seen = tlx.prefix_mask %limit dim 1 : !row_numbers -> !mask
        %scores = arith.select %seen, %all_scores, %masked_score : !mask, !sums
        %m = tlx.reduce max %scores dim 1 : !sums -> !rows
        %m_scaled = arith.mulf %m, %scale_row : !rows
        %m_c = tlx.expand_dims %m_scaled dim 1 : !rows -> tensor<64x1xf32>
        %m_b = tlx.broadcast %m_c : tensor<64x1xf32> -> !sums
        %scaled = arith.mulf %scores, %score_scale fastmath<contract> : !sums
        %shifted = arith.subf %scaled, %m_b fastmath<contract> : !sums
        %exp = math.exp2 %shifted fastmath<afn> : !sums
        %sum = tlx.reduce add %exp dim 1 : !sums -> !rows
        %inverse = arith.divf %ones, %sum fastmath<arcp,afn> : !rows
        %inverse_c = tlx.expand_dims %inverse dim 1 : !rows -> tensor<64x1xf32>
        %inverse_b = tlx.broadcast %inverse_c : tensor<64x1xf32> -> !sums
        %p = arith.mulf %exp, %inverse_b : !sums
        tlx.local_store %p, %s_tile : !sums, !sums_buffer
        tlx.barrier_arrive %pf_full[%s_slot] : !two
        tlx.barrier_wait %p_empty[%c0], %phase producer : !one
        %p_16 = arith.truncf %p : !sums to !rounded
        tlx.local_store %p_16, %p_smem : !rounded, !weights_buffer
        tlx.barrier_arrive %p_full[%c0] : !one
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4, %next_angles
            : i32, i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @ds warps(4) registers(DS_REGISTERS) {
      %p_scaled_by = tlx.splat %scale : f32 -> !sums
      scf.for %count = %c0 to %num_own step %c1 : i32 {
        %slot, %phase = tlx.ring %count stages(1) : i32
        %s_slot, %s_phase = tlx.ring %count stages(2) : i32
        %p_tile = tlx.local_view %s_tmem[%s_slot] : !sums_ring -> !sums_buffer
        %dp_tile = tlx.local_view %dp_tmem[%s_slot] : !sums_ring -> !sums_buffer
        tlx.barrier_wait %pf_full[%s_slot], %s_phase : !two
        %p = tlx.local_load %p_tile : !sums_buffer -> !sums
        tlx.barrier_wait %dp_full[%s_slot], %s_phase : !two
        %dp = tlx.local_load %dp_tile : !sums_buffer -> !sums
        tlx.barrier_arrive %sdp_empty[%s_slot] : !two
        %p_dp = arith.mulf %p, %dp : !sums
        %delta = tlx.reduce add %p_dp dim 1 : !sums -> !rows
        %delta_c = tlx.expand_dims %delta dim 1 : !rows -> tensor<64x1xf32>
        %delta_b = tlx.broadcast %delta_c : tensor<64x1xf32> -> !sums
        %change = arith.subf %dp, %delta_b : !sums
        %p_scaled = arith.mulf %p, %p_scaled_by : !sums
        %ds = arith.mulf %p_scaled, %change : !sums
        tlx.barrier_wait %ds_empty[%c0], %phase producer : !one
        %ds_16 = arith.truncf %ds : !sums to !rounded
        tlx.local_store %ds_16, %ds_smem : !rounded, !weights_buffer
        tlx.barrier_arrive %ds_full[%c0] : !one
      }
    }

    tlx.async_task @epilogue warps(4) registers(EPILOGUE_REGISTERS) {
      %begin:5 = func.call @begin_at(%first_item, %heads, %block_starts, %num_sequences)
          : (i32, i32, !tlx.ptr<i32>, i32) -> (i32, i32, i32, i32, i32)
      %last:7 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%s = %begin#0, %f = %begin#1, %r = %begin#2, %e = %begin#3,
                    %re = %begin#4, %step = %c0, %angles = %c0)
          -> (i32, i32, i32, i32, i32, i32, i32) : i32 {
        %block = arith.divui %item, %heads : i32
        %head = arith.remui %item, %heads : i32
        %at:5 = func.call @walk_to(%block, %block_starts, %s, %f, %r, %e, %re)
            : (i32, !tlx.ptr<i32>, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
        %block_in_sequence = arith.subi %block, %at#1 : i32
        %row = arith.muli %block_in_sequence, %c64 : i32
        %length = arith.subi %at#4, %at#2 : i32
        %after_dv:2 = func.call @copy_out(%dv, %out_smem, %g_tmem, %g_full, %g_empty,
            %sines, %cosines, %a_full, %a_empty, %step, %angles, %head_dim, %has_two,
            %turns_v, %row, %head, %at#2, %length) : (!out_tensor, !out_ring, !sums_ring, !two, !two,
            !angles_buffer, !angles_buffer, !one, !one, i32, i32, i32, i1, i1, i32, i32,
            i32, i32) -> (i32, i32)
        %after_dk:2 = func.call @copy_out(%dk, %out_smem, %g_tmem, %g_full, %g_empty,
            %sines, %cosines, %a_full, %a_empty, %after_dv#0, %after_dv#1, %head_dim, %has_two,
            %turns_qk, %row, %head, %at#2, %length) : (!out_tensor, !out_ring, !sums_ring, !two, !two,
            !angles_buffer, !angles_buffer, !one, !one, i32, i32, i32, i1, i1, i32, i32,
            i32, i32) -> (i32, i32)
        %after_dq:2 = func.call @copy_out(%dq, %out_smem, %g_tmem, %g_full, %g_empty,
            %sines, %cosines, %a_full, %a_empty, %after_dk#0, %after_dk#1, %head_dim, %has_two,
            %turns_qk, %row, %head, %at#2, %length) : (!out_tensor, !out_ring, !sums_ring, !two, !two,
            !angles_buffer, !angles_buffer, !one, !one, i32, i32, i32, i1, i1, i32, i32,
            i32, i32) -> (i32, i32)
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4, %after_dq#0, %after_dq#1
            : i32, i32, i32, i32, i32, i32, i32
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

        // In the order in which they are free: V after dP, dO after dV, Q after dK, K after
        // dQ.
        %count = arith.subi %item, %first_item : i32
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
        %do_tile = tlx.local_view %do_smem[%slot] : !ring -> !buffer
        %v_tile = tlx.local_view %v_smem[%slot] : !ring -> !buffer
        tlx.barrier_wait %v_empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %v_full[%slot], %v_tile : !slots, !buffer
        tlx.async_descriptor_load %v[%row, %head, %c0] segment(%at#2, %length),
            %v_tile signal %v_full[%slot] : !tensor, !buffer, !slots
        tlx.barrier_wait %do_empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %do_full[%slot], %do_tile : !slots, !buffer
        tlx.async_descriptor_load %do[%row, %head, %c0] segment(%at#2, %length),
            %do_tile signal %do_full[%slot] : !tensor, !buffer, !slots
        tlx.barrier_wait %q_empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %qk_full[%slot], %q_tile, %k_tile
            : !slots, !buffer, !buffer
        tlx.async_descriptor_load %q[%row, %head, %c0] segment(%at#2, %length),
            %q_tile signal %qk_full[%slot] : !tensor, !buffer, !slots
        tlx.barrier_wait %k_empty[%slot], %phase producer : !slots
        tlx.async_descriptor_load %k[%row, %head, %c0] segment(%at#2, %length),
            %k_tile signal %qk_full[%slot] : !tensor, !buffer, !slots
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4 : i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @scores warps(1) registers(OTHER_REGISTERS) {
      scf.for %count = %c0 to %num_own step %c1 : i32 {
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %s_slot, %s_phase = tlx.ring %count stages(2) : i32
        %s_tile = tlx.local_view %s_tmem[%s_slot] : !sums_ring -> !sums_buffer
        %dp_tile = tlx.local_view %dp_tmem[%s_slot] : !sums_ring -> !sums_buffer
        %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
        %do_tile = tlx.local_view %do_smem[%slot] : !ring -> !buffer
        %v_tile = tlx.local_view %v_smem[%slot] : !ring -> !buffer
        %k_t = tlx.local_trans %k_tile : !buffer -> !buffer_t
        %v_t = tlx.local_trans %v_tile : !buffer -> !buffer_t
        tlx.barrier_wait %sdp_empty[%s_slot], %s_phase producer : !two
        tlx.barrier_wait %qk_full[%slot], %phase : !slots
        scf.if %turns_inputs {
          tlx.barrier_wait %turned[%slot], %phase : !slots
        }
        tlx.async_dot %q_tile, %k_t, %s_tile : !buffer, !buffer_t, !sums_buffer
        tlx.tcgen05_commit %s_full[%s_slot] : !two
        tlx.tcgen05_commit %q_empty[%slot] : !slots
        tlx.tcgen05_commit %k_empty[%slot] : !slots
        tlx.barrier_wait %do_full[%slot], %phase : !slots
        tlx.barrier_wait %v_full[%slot], %phase : !slots
        tlx.async_dot %do_tile, %v_t, %dp_tile : !buffer, !buffer_t, !sums_buffer
        tlx.tcgen05_commit %dp_full[%s_slot] : !two
        tlx.tcgen05_commit %v_empty[%slot] : !slots
        tlx.tcgen05_commit %do_empty[%slot] : !slots
      }
    }

    tlx.async_task @gradients warps(1) registers(OTHER_REGISTERS) {
      %end = scf.for %count = %c0 to %num_own step %c1 iter_args(%step = %c0)
          -> (i32) : i32 {
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %s_slot, %s_phase = tlx.ring %count stages(1) : i32
        %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
        %do_tile = tlx.local_view %do_smem[%slot] : !ring -> !buffer
        tlx.barrier_wait %do_full[%slot], %phase : !slots
        tlx.barrier_wait %p_full[%c0], %s_phase : !one
        %after_dv = func.call @start_transposed(%p_smem, %do_tile, %g_tmem, %g_full,
            %g_empty, %step, %head_dim) : (!weights_buffer, !buffer, !sums_ring, !two, !two,
            i32, i32) -> i32
        tlx.tcgen05_commit %p_empty[%c0] : !one
        tlx.tcgen05_commit %do_empty[%slot] : !slots
        tlx.barrier_wait %qk_full[%slot], %phase : !slots
        tlx.barrier_wait %ds_full[%c0], %s_phase : !one
        %after_dk = func.call @start_transposed(%ds_smem, %q_tile, %g_tmem, %g_full,
            %g_empty, %after_dv, %head_dim) : (!weights_buffer, !buffer, !sums_ring, !two,
            !two, i32, i32) -> i32
        tlx.tcgen05_commit %q_empty[%slot] : !slots
        %after_dq = func.call @start_straight(%ds_smem, %k_tile, %g_tmem, %g_full,
            %g_empty, %after_dk, %head_dim) : (!weights_buffer, !buffer, !sums_ring, !two,
            !two, i32, i32) -> i32
        tlx.tcgen05_commit %ds_empty[%c0] : !one
        tlx.tcgen05_commit %k_empty[%slot] : !slots
        scf.yield %after_dq : i32
      }
    }

    tlx.async_task @angles warps(1) registers(OTHER_REGISTERS) {
      scf.if %turns_qk {
        %begin:5 = func.call @begin_at(%first_item, %heads, %block_starts, %num_sequences)
            : (i32, i32, !tlx.ptr<i32>, i32) -> (i32, i32, i32, i32, i32)
        %last:7 = scf.for %item = %first_item to %end_item step %c1
            iter_args(%s = %begin#0, %f = %begin#1, %r = %begin#2, %e = %begin#3,
                      %re = %begin#4, %angles = %c0, %inputs = %c0)
            -> (i32, i32, i32, i32, i32, i32, i32) : i32 {
          %block = arith.divui %item, %heads : i32
          %at:5 = func.call @walk_to(%block, %block_starts, %s, %f, %r, %e, %re)
              : (i32, !tlx.ptr<i32>, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32, i32)
          %block_in_sequence = arith.subi %block, %at#1 : i32
          %row = arith.muli %block_in_sequence, %c64 : i32
          %length = arith.subi %at#4, %at#2 : i32
          %inputs_next = scf.if %turns_inputs -> (i32) {
            %after_inputs = func.call @load_angles(%sincos, %sines, %cosines, %in_full,
                %in_empty, %inputs, %a_empty, %angles, %turns_inputs, %head_dim, %row,
                %at#2, %length) : (!angles_tensor, !angles_buffer, !angles_buffer, !one,
                !one, i32, !one, i32, i1, i32, i32, i32, i32) -> i32
            scf.yield %after_inputs : i32
          } else {
            scf.yield %inputs : i32
          }
          %after_dv = scf.if %turns_v -> (i32) {
            %after_v = func.call @load_angles(%sincos, %sines, %cosines, %a_full, %a_empty,
                %angles, %in_empty, %inputs_next, %turns_inputs, %head_dim, %row, %at#2,
                %length) : (!angles_tensor, !angles_buffer, !angles_buffer, !one, !one, i32, !one,
                i32, i1, i32, i32, i32, i32) -> i32
            scf.yield %after_v : i32
          } else {
            scf.yield %angles : i32
          }
          %after_dk = func.call @load_angles(%sincos, %sines, %cosines, %a_full, %a_empty,
              %after_dv, %in_empty, %inputs_next, %turns_inputs, %head_dim, %row, %at#2,
              %length) : (!angles_tensor, !angles_buffer, !angles_buffer, !one, !one, i32, !one,
              i32, i1, i32, i32, i32, i32) -> i32
          %after_dq = func.call @load_angles(%sincos, %sines, %cosines, %a_full, %a_empty,
              %after_dk, %in_empty, %inputs_next, %turns_inputs, %head_dim, %row, %at#2,
              %length) : (!angles_tensor, !angles_buffer, !angles_buffer, !one, !one, i32, !one,
              i32, i1, i32, i32, i32, i32) -> i32
          scf.yield %at#0, %at#1, %at#2, %at#3, %at#4, %after_dq, %inputs_next
              : i32, i32, i32, i32, i32, i32, i32
        }
      }
    }
  }
}
