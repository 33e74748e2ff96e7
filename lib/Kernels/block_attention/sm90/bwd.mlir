// Block attention backward for Hopper: block-diagonal, in blocks of 64 rows.
//
// For every block and head (docs/Attention.md), with P recomputed,
//     S = scale Q K^T      P = softmax(S) over the block's rows
//     dV = P^T dO          dP = dO V^T       delta = rowsum(P * dP)
//     dS = scale P * (dP - delta)            dQ = dS K         dK = dS^T Q
//
// A block's gradients need its own rows only: no log-sum-exp of the forward, no
// kernel for delta, no sums in memory, the same bits on every run. As in fwd.mlir
// memory decides on the time: four tensors are read once, three are written once.
//
//   role      warps          does
//   @load     1              starts every copy of Q, K, V and dO, STAGES blocks ahead
//   @attend   4 x REPLICAS   each replica takes every REPLICAS-th block
//
//   barrier   count          arrives                       waits      phase completes when
//   full      1 per stage    @load (bytes of Q, K, V, dO)  @attend    a block is there
//   empty     1 per stage    @attend                       @load      its gradients have
//                                                                     left shared memory
//   angles_full   1 per stage   @load (bytes)              @attend    a block's angles are
//                                                                     there
//   angles_empty  REPLICAS      @attend                    @load      all heads are done
//                                                                     with them
//
// With ROTARY the gradients of q and k (1), or of v too (2), are turned back by the
// angles of `sincos`, in fp32, before they are rounded. The heads of a block share its
// angles, which are copied once. A replica waits for the angles of every block, in
// order, and gives them back, also where it has no head of the block. A pair of
// neighbours is taken as one word of 64 bits: the accumulator goes through shared
// memory, so that each element of a pair comes with the pair's angle. With ROTATE_INPUTS
// q, k and v are rotated here, where they lie, as fwd.mlir does it.
//
// There is no shared memory but the ring. What an operand no longer needs takes what
// comes next, in the same slot:
//
//   Q    until dK = dS^T Q, then dK        V     until dP = dO V^T, then P, then dS
//   K    until dQ = dS K, then dQ          dO    until dV = P^T dO, then dV
//
// STAGES is a multiple of REPLICAS, so that a slot is always read by the same replica
// (fwd.mlir says why).
//
// Rows past a sequence's end read as zero. As queries they have dO = 0 and so dS = 0,
// as keys they are masked, and their gradients are not stored.
//
//   shared memory, D 128, 2 stages: Q, K, V, dO 128 K; with ROTARY angles 32 K and
//   pairs 64 K
//   registers of @attend: P 32, dP 32, dV 64; or dS 16, dK 64, its pairs and angles 128

!tensor = !tlx.tensormap<[64, 1, HEAD_DIM], ELEMENT, ragged>
!ring = !tlx.memdesc<[STAGES, 64, HEAD_DIM], ELEMENT>
!buffer = !tlx.memdesc<[64, HEAD_DIM], ELEMENT>
!buffer_t = !tlx.memdesc<[HEAD_DIM, 64], ELEMENT, transposed>
!weights_buffer = !tlx.memdesc<[64, 64], ELEMENT, of = [64, HEAD_DIM]>
!weights_buffer_t = !tlx.memdesc<[64, 64], ELEMENT, of = [HEAD_DIM, 64], transposed>
!slots = !tlx.mbarrier<[STAGES]>
!angles_tensor = !tlx.tensormap<[64, HEAD_DIM floordiv 2], ELEMENT, ragged>
!angles_ring = !tlx.memdesc<[ANGLE_STAGES, 64, HEAD_DIM floordiv 2], ELEMENT>
!angles_buffer = !tlx.memdesc<[64, HEAD_DIM floordiv 2], ELEMENT>
!angles_part = !tlx.memdesc<[32, HEAD_DIM floordiv 2], ELEMENT, of = [64, HEAD_DIM floordiv 2]>
!angle_slots = !tlx.mbarrier<[ANGLE_STAGES]>
!sums_buffers = !tlx.memdesc<[REPLICAS, 64, HEAD_DIM], f32>
!sums_buffer = !tlx.memdesc<[64, HEAD_DIM], f32>
!sum_pairs = !tlx.memdesc<[64, HEAD_DIM floordiv 2], i64>
!sum_part = !tlx.memdesc<[32, HEAD_DIM floordiv 2], i64, of = [64, HEAD_DIM floordiv 2]>
!words_buffer = !tlx.memdesc<[64, HEAD_DIM floordiv 2], i32>
!pairs_part = !tlx.memdesc<[32, HEAD_DIM floordiv 2], i32, of = [64, HEAD_DIM floordiv 2]>

!scores = tensor<64x64xf32, #tlx.dims<[64, 64], ELEMENT>>
!seen = tensor<64x64xi1, #tlx.dims<[64, 64], ELEMENT>>
!weights = tensor<64x64xbf16, #tlx.dims<[64, 64], ELEMENT>>
!gradient = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM], ELEMENT>>
!pairs_64 = tensor<32x?xi64, #tlx.dims<[32, HEAD_DIM floordiv 2], ELEMENT>>
!pairs_32 = tensor<32x?xi32, #tlx.dims<[32, HEAD_DIM floordiv 2], ELEMENT>>
!half_i16 = tensor<32x?xi16, #tlx.dims<[32, HEAD_DIM floordiv 2], ELEMENT>>
!half_16 = tensor<32x?xbf16, #tlx.dims<[32, HEAD_DIM floordiv 2], ELEMENT>>
!half = tensor<32x?xf32, #tlx.dims<[32, HEAD_DIM floordiv 2], ELEMENT>>
!words = tensor<64x?xi32, #tlx.dims<[64, HEAD_DIM floordiv 2], ELEMENT>>
!words_16 = tensor<64x?xi16, #tlx.dims<[64, HEAD_DIM floordiv 2], ELEMENT>>
!elements_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM floordiv 2], ELEMENT>>
!elements = tensor<64x?xf32, #tlx.dims<[64, HEAD_DIM floordiv 2], ELEMENT>>
!gradient_16 = tensor<64x?xbf16, #tlx.dims<[64, HEAD_DIM], ELEMENT>>

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

// Puts a gradient where it is stored from, turned back if it has to be.
func.func private @put(%gradient: !gradient, %target: !buffer, %sums: !sums_buffer,
                       %sines: !angles_buffer, %cosines: !angles_buffer, %turns: i1) {
  scf.if %turns {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %sixteen = arith.constant 16 : i32
    %thirty_two = arith.constant 32 : i64
    %by_16 = tlx.splat %sixteen : i32 -> !pairs_32
    %by_32 = tlx.splat %thirty_two : i64 -> !pairs_64
    tlx.local_store %gradient, %sums : !gradient, !sums_buffer
    %sum_pairs = tlx.local_reinterpret %sums : !sums_buffer -> !sum_pairs
    %target_pairs = tlx.local_reinterpret %target : !buffer -> !words_buffer
    // Half of the rows at a time, which leaves registers for the angles.
    scf.for %row = %c0 to %c64 step %c32 : i32 {
      %sum_part = tlx.local_slice %sum_pairs[%row, %c0] : !sum_pairs -> !sum_part
      %pairs = tlx.local_load %sum_part : !sum_part -> !pairs_64
      %first = arith.trunci %pairs : !pairs_64 to !pairs_32
      %above = arith.shrui %pairs, %by_32 : !pairs_64
      %second = arith.trunci %above : !pairs_64 to !pairs_32
      %x = arith.bitcast %first : !pairs_32 to !half
      %y = arith.bitcast %second : !pairs_32 to !half

      %sine_part = tlx.local_slice %sines[%row, %c0] : !angles_buffer -> !angles_part
      %cosine_part = tlx.local_slice %cosines[%row, %c0] : !angles_buffer -> !angles_part
      %sine_16 = tlx.local_load %sine_part : !angles_part -> !half_16
      %cosine_16 = tlx.local_load %cosine_part : !angles_part -> !half_16
      %sine = arith.extf %sine_16 : !half_16 to !half
      %cosine = arith.extf %cosine_16 : !half_16 to !half
      %x_cosine = arith.mulf %x, %cosine fastmath<contract> : !half
      %y_sine = arith.mulf %y, %sine fastmath<contract> : !half
      %y_cosine = arith.mulf %y, %cosine fastmath<contract> : !half
      %x_sine = arith.mulf %x, %sine fastmath<contract> : !half
      %x_back = arith.addf %x_cosine, %y_sine fastmath<contract> : !half
      %y_back = arith.subf %y_cosine, %x_sine fastmath<contract> : !half

      %x_16 = arith.truncf %x_back : !half to !half_16
      %y_16 = arith.truncf %y_back : !half to !half_16
      %x_bits = arith.bitcast %x_16 : !half_16 to !half_i16
      %y_bits = arith.bitcast %y_16 : !half_16 to !half_i16
      %x_word = arith.extui %x_bits : !half_i16 to !pairs_32
      %y_word = arith.extui %y_bits : !half_i16 to !pairs_32
      %y_above = arith.shli %y_word, %by_16 : !pairs_32
      %turned = arith.ori %x_word, %y_above : !pairs_32
      %part = tlx.local_slice %target_pairs[%row, %c0] : !words_buffer -> !pairs_part
      tlx.local_store %turned, %part : !pairs_32, !pairs_part
    }
  } else {
    %rounded = arith.truncf %gradient : !gradient to !gradient_16
    tlx.local_store %rounded, %target : !gradient_16, !buffer
  }
  return
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

// Turns q and k, or v too, where they are. Each thread reads what it writes.
func.func private @turn(%q: !buffer, %k: !buffer, %v: !buffer, %sines: !angles_buffer,
                        %cosines: !angles_buffer, %turns_v: i1) {
  %q_pairs = tlx.local_reinterpret %q : !buffer -> !words_buffer
  %k_pairs = tlx.local_reinterpret %k : !buffer -> !words_buffer
  %sine_16 = tlx.local_load %sines : !angles_buffer -> !elements_16
  %cosine_16 = tlx.local_load %cosines : !angles_buffer -> !elements_16
  %sine = arith.extf %sine_16 : !elements_16 to !elements
  %cosine = arith.extf %cosine_16 : !elements_16 to !elements
  %q_read = tlx.local_load %q_pairs : !words_buffer -> !words
  %k_read = tlx.local_load %k_pairs : !words_buffer -> !words
  %q_turned = func.call @turn_pairs(%q_read, %sine, %cosine)
      : (!words, !elements, !elements) -> !words
  %k_turned = func.call @turn_pairs(%k_read, %sine, %cosine)
      : (!words, !elements, !elements) -> !words
  tlx.local_store %q_turned, %q_pairs : !words, !words_buffer
  tlx.local_store %k_turned, %k_pairs : !words, !words_buffer
  scf.if %turns_v {
    %v_pairs = tlx.local_reinterpret %v : !buffer -> !words_buffer
    %v_read = tlx.local_load %v_pairs : !words_buffer -> !words
    %v_turned = func.call @turn_pairs(%v_read, %sine, %cosine)
        : (!words, !elements, !elements) -> !words
    tlx.local_store %v_turned, %v_pairs : !words, !words_buffer
  }
  return
}

// On from the angles of one block to those of another: gives back each one's, and
// waits for the next one's.
func.func private @pass_angles(%from: i32, %to: i32, %full: !angle_slots,
                               %empty: !angle_slots) {
  %c1 = arith.constant 1 : i32
  scf.for %number = %from to %to step %c1 : i32 {
    %next = arith.addi %number, %c1 : i32
    %done, %done_phase = tlx.ring %number stages(ANGLE_STAGES) : i32
    %new, %new_phase = tlx.ring %next stages(ANGLE_STAGES) : i32
    tlx.barrier_arrive %empty[%done] : !angle_slots
    tlx.barrier_wait %full[%new], %new_phase : !angle_slots
  }
  return
}

tlx.kernel @block_attention_bwd(
    %q: !tensor, %k: !tensor, %v: !tensor, %do: !tensor, %dq: !tensor, %dk: !tensor,
    %dv: !tensor, %sincos: !angles_tensor, %block_starts: !tlx.ptr<i32>, %num_sequences: i32, %num_items: i32,
    %heads: i32, %scale: f32, %scale_log2: f32) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  // 1: q and k have been rotated, 2: v too.
  %rotary = tlx.param ROTARY = 0 from 0 to 2 : i32
  // They are as they were before that, and are rotated here.
  %rotate_inputs = tlx.param ROTATE_INPUTS = false : i1

  // How it is computed.
  tlx.param STAGES = 2 from 2 to 12 step 2 : i32
  tlx.param ANGLE_STAGES = 2 from 1 to 8 : i32
  %replicas = tlx.param REPLICAS = 2 from 1 to 2 : i32
  tlx.param LOAD_REGISTERS = 40 from 24 to 256 step 8 : i32
  tlx.param ATTEND_REGISTERS = 232 from 24 to 256 step 8 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %half_dim = arith.divui %head_dim, %c2 : i32
  %turns_qk = arith.cmpi ne, %rotary, %c0 : i32
  %turns_v = arith.cmpi eq, %rotary, %c2 : i32
  %turns_inputs = arith.andi %turns_qk, %rotate_inputs : i1
  %q_smem = tlx.local_alloc : !ring
  %k_smem = tlx.local_alloc : !ring
  %v_smem = tlx.local_alloc : !ring
  %do_smem = tlx.local_alloc : !ring
  %full = tlx.alloc_barriers arrivals(1) : !slots
  %empty = tlx.alloc_barriers arrivals(1) : !slots
  %sums_smem = tlx.local_alloc : !sums_buffers
  %sines_smem = tlx.local_alloc : !angles_ring
  %cosines_smem = tlx.local_alloc : !angles_ring
  %angles_full = tlx.alloc_barriers arrivals(1) : !angle_slots
  %angles_empty = tlx.alloc_barriers arrivals(REPLICAS) : !angle_slots
  %first_item, %end_item = func.call @get_share(%num_items) : (i32) -> (i32, i32)

  // The blocks of this CTA count from here.
  %first_block = arith.divui %first_item, %heads : i32
  %last_item = arith.subi %end_item, %c1 : i32
  %last_block = arith.divui %last_item, %heads : i32
  %last_number = arith.subi %last_block, %first_block : i32

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

        scf.if %turns_qk {
          %is_first_head = arith.cmpi eq, %head, %c0 : i32
          %is_first_item = arith.cmpi eq, %item, %first_item : i32
          %begins_block = arith.ori %is_first_head, %is_first_item : i1
          scf.if %begins_block {
            %number = arith.subi %block, %first_block : i32
            %angle_slot, %angle_phase = tlx.ring %number stages(ANGLE_STAGES) : i32
            %sines = tlx.local_view %sines_smem[%angle_slot]
                : !angles_ring -> !angles_buffer
            %cosines = tlx.local_view %cosines_smem[%angle_slot]
                : !angles_ring -> !angles_buffer
            tlx.barrier_wait %angles_empty[%angle_slot], %angle_phase producer
                : !angle_slots
            tlx.barrier_expect_bytes %angles_full[%angle_slot], %sines, %cosines
                : !angle_slots, !angles_buffer, !angles_buffer
            tlx.async_descriptor_load %sincos[%row, %c0] segment(%at#2, %length),
                %sines signal %angles_full[%angle_slot]
                : !angles_tensor, !angles_buffer, !angle_slots
            tlx.async_descriptor_load %sincos[%row, %half_dim] segment(%at#2, %length),
                %cosines signal %angles_full[%angle_slot]
                : !angles_tensor, !angles_buffer, !angle_slots
          }
        }

        %count = arith.subi %item, %first_item : i32
        %slot, %phase = tlx.ring %count stages(STAGES) : i32
        %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
        %v_tile = tlx.local_view %v_smem[%slot] : !ring -> !buffer
        %do_tile = tlx.local_view %do_smem[%slot] : !ring -> !buffer
        tlx.barrier_wait %empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %full[%slot], %q_tile, %k_tile, %v_tile, %do_tile
            : !slots, !buffer, !buffer, !buffer, !buffer
        tlx.async_descriptor_load %q[%row, %head, %c0] segment(%at#2, %length),
            %q_tile signal %full[%slot] : !tensor, !buffer, !slots
        tlx.async_descriptor_load %k[%row, %head, %c0] segment(%at#2, %length),
            %k_tile signal %full[%slot] : !tensor, !buffer, !slots
        tlx.async_descriptor_load %do[%row, %head, %c0] segment(%at#2, %length),
            %do_tile signal %full[%slot] : !tensor, !buffer, !slots
        tlx.async_descriptor_load %v[%row, %head, %c0] segment(%at#2, %length),
            %v_tile signal %full[%slot] : !tensor, !buffer, !slots
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4 : i32, i32, i32, i32, i32
      }
    }

    tlx.async_task @attend warps(4) registers(ATTEND_REGISTERS) replicate(REPLICAS) {
      %replica = tlx.async_task_replica_id : i32
      %minus_infinity = arith.constant 0xFF800000 : f32
      %one = arith.constant 1.0 : f32
      %scale_row = tlx.splat %scale_log2 : f32 -> tensor<64xf32>
      %score_scale = tlx.splat %scale_log2 : f32 -> !scores
      %masked_score = tlx.splat %minus_infinity : f32 -> !scores
      %ones = tlx.splat %one : f32 -> tensor<64xf32>

      %own_first = arith.addi %first_item, %replica : i32
      %begin:5 = func.call @begin_at(%first_item, %heads, %block_starts, %num_sequences)
          : (i32, i32, !tlx.ptr<i32>, i32) -> (i32, i32, i32, i32, i32)
      %sums = tlx.local_view %sums_smem[%replica] : !sums_buffers -> !sums_buffer
      scf.if %turns_qk {
        tlx.barrier_wait %angles_full[%c0], %c0 : !angle_slots
      }
      %last:6 = scf.for %item = %own_first to %end_item step %replicas
          iter_args(%s = %begin#0, %f = %begin#1, %r = %begin#2, %e = %begin#3,
                    %re = %begin#4, %angles_at = %c0)
          -> (i32, i32, i32, i32, i32, i32) : i32 {
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
        %q_tile = tlx.local_view %q_smem[%slot] : !ring -> !buffer
        %k_tile = tlx.local_view %k_smem[%slot] : !ring -> !buffer
        %v_tile = tlx.local_view %v_smem[%slot] : !ring -> !buffer
        %do_tile = tlx.local_view %do_smem[%slot] : !ring -> !buffer
        %k_t = tlx.local_trans %k_tile : !buffer -> !buffer_t
        %v_t = tlx.local_trans %v_tile : !buffer -> !buffer_t
        %number = arith.subi %block, %first_block : i32
        scf.if %turns_qk {
          func.call @pass_angles(%angles_at, %number, %angles_full, %angles_empty)
              : (i32, i32, !angle_slots, !angle_slots) -> ()
        }
        %angle_slot, %angle_phase = tlx.ring %number stages(ANGLE_STAGES) : i32
        %sines = tlx.local_view %sines_smem[%angle_slot] : !angles_ring -> !angles_buffer
        %cosines = tlx.local_view %cosines_smem[%angle_slot]
            : !angles_ring -> !angles_buffer
        %weights = tlx.local_slice %v_tile[%c0, %c0] : !buffer -> !weights_buffer
        %weights_t = tlx.local_trans %weights : !weights_buffer -> !weights_buffer_t
        tlx.barrier_wait %full[%slot], %phase : !slots
        scf.if %turns_inputs {
          func.call @turn(%q_tile, %k_tile, %v_tile, %sines, %cosines, %turns_v)
              : (!buffer, !buffer, !buffer, !angles_buffer, !angles_buffer, i1) -> ()
        }

        %s_pending = tlx.async_dot %q_tile, %k_t : !buffer, !buffer_t -> !scores
        %dp_pending = tlx.async_dot %do_tile, %v_t : !buffer, !buffer_t -> !scores
        %s_all = tlx.async_dot_wait %s_pending pending(1) : !scores

        // P, while dP is in flight. Every row sees the first key.
        %limit = tlx.splat %rows_left : i32 -> tensor<64xi32>
        %seen = tlx.prefix_mask %limit dim 1 : tensor<64xi32> -> !seen
        %scores = arith.select %seen, %s_all, %masked_score : !seen, !scores
        %m = tlx.reduce max %scores dim 1 : !scores -> tensor<64xf32>
        %m_scaled = arith.mulf %m, %scale_row : tensor<64xf32>
        %m_c = tlx.expand_dims %m_scaled dim 1 : tensor<64xf32> -> tensor<64x1xf32>
        %m_b = tlx.broadcast %m_c : tensor<64x1xf32> -> !scores
        %scaled = arith.mulf %scores, %score_scale fastmath<contract> : !scores
        %shifted = arith.subf %scaled, %m_b fastmath<contract> : !scores
        %exp = math.exp2 %shifted fastmath<afn> : !scores
        %sum = tlx.reduce add %exp dim 1 : !scores -> tensor<64xf32>
        %inverse = arith.divf %ones, %sum fastmath<arcp,afn> : tensor<64xf32>
        %inverse_c = tlx.expand_dims %inverse dim 1 : tensor<64xf32> -> tensor<64x1xf32>
        %inverse_b = tlx.broadcast %inverse_c : tensor<64x1xf32> -> !scores
        %p = arith.mulf %exp, %inverse_b : !scores
        %p_16 = arith.truncf %p : !scores to !weights
        %dp = tlx.async_dot_wait %dp_pending pending(0) : !scores

        // P takes the place of V.
        tlx.local_store %p_16, %weights : !weights, !weights_buffer
        %dv_pending = tlx.async_dot %weights_t, %do_tile
            : !weights_buffer_t, !buffer -> !gradient
        // dS, while dV is in flight.
        %p_dp = arith.mulf %p, %dp : !scores
        %delta = tlx.reduce add %p_dp dim 1 : !scores -> tensor<64xf32>
        %delta_c = tlx.expand_dims %delta dim 1 : tensor<64xf32> -> tensor<64x1xf32>
        %delta_b = tlx.broadcast %delta_c : tensor<64x1xf32> -> !scores
        %change = arith.subf %dp, %delta_b : !scores
        %p_scaled_by = tlx.splat %scale : f32 -> !scores
        %p_scaled = arith.mulf %p, %p_scaled_by : !scores
        %ds = arith.mulf %p_scaled, %change : !scores
        %ds_16 = arith.truncf %ds : !scores to !weights
        %dv_sum = tlx.async_dot_wait %dv_pending pending(0) : !gradient

        // dV takes the place of dO, dS that of P.
        func.call @put(%dv_sum, %do_tile, %sums, %sines, %cosines, %turns_v)
            : (!gradient, !buffer, !sums_buffer, !angles_buffer, !angles_buffer, i1) -> ()
        tlx.local_store %ds_16, %weights : !weights, !weights_buffer
        tlx.async_descriptor_store %dv[%row, %head, %c0] segment(%at#2, %length),
            %do_tile : !tensor, !buffer
        %dk_pending = tlx.async_dot %weights_t, %q_tile
            : !weights_buffer_t, !buffer -> !gradient
        %dk_sum = tlx.async_dot_wait %dk_pending pending(0) : !gradient

        // dK takes the place of Q, dQ that of K. One after the other: both sums and
        // the pairs would not fit the registers.
        func.call @put(%dk_sum, %q_tile, %sums, %sines, %cosines, %turns_qk)
            : (!gradient, !buffer, !sums_buffer, !angles_buffer, !angles_buffer, i1) -> ()
        tlx.async_descriptor_store %dk[%row, %head, %c0] segment(%at#2, %length),
            %q_tile : !tensor, !buffer
        %dq_pending = tlx.async_dot %ds_16, %k_tile : !weights, !buffer -> !gradient
        %dq_sum = tlx.async_dot_wait %dq_pending pending(0) : !gradient
        func.call @put(%dq_sum, %k_tile, %sums, %sines, %cosines, %turns_qk)
            : (!gradient, !buffer, !sums_buffer, !angles_buffer, !angles_buffer, i1) -> ()
        tlx.async_descriptor_store %dq[%row, %head, %c0] segment(%at#2, %length),
            %k_tile : !tensor, !buffer
        // The slot is free when all three copies have read it.
        tlx.async_descriptor_store_wait pending(0)
        tlx.barrier_arrive %empty[%slot] : !slots
        scf.yield %at#0, %at#1, %at#2, %at#3, %at#4, %number
            : i32, i32, i32, i32, i32, i32
      }
      // Blocks that are left are the other replicas'. Nobody waits for the last one.
      scf.if %turns_qk {
        func.call @pass_angles(%last#5, %last_number, %angles_full, %angles_empty)
            : (i32, i32, !angle_slots, !angle_slots) -> ()
      }
    }
  }
}
