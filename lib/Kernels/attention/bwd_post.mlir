// The end of the attention backward, for Hopper and Blackwell: dQ from its sum in fp32.
//
// dq = scale * dq_acc, rounded to 16 bits, for tiles of 64 query rows of one head,
// in two or one pieces of 64 columns. Rows of no sequence are left alone. With COPIES,
// dq_acc has dq_copies sums for each row of one sequence, a whole sequence after the
// other, which are added up in this order. With FRAGMENTS, a piece whose rows all exist
// lies there transposed, as threads of sm90/bwd.mlir hold it.
//
//   role      warps  does
//   @load     1      starts the copies of dq_acc
//   @round    4      scales and rounds each piece, and starts its copy to dq
//
//   barrier   count        arrives                waits    phase completes when
//   full      1 per stage  @load (bytes of sums)  @round   a piece is there
//   empty     1 per stage  @round                 @load    it has been read

!acc_tensor = !tlx.tensormap<[64, 1, 64], f32, ragged>
!dq_tensor = !tlx.tensormap<[64, 1, 64], ELEMENT, ragged>
!acc_buffers = !tlx.memdesc<[STAGES, 64, 64], f32>
!acc_buffer = !tlx.memdesc<[64, 64], f32>
!dq_buffers = !tlx.memdesc<[2, 64, 64], ELEMENT>
!dq_buffer = !tlx.memdesc<[64, 64], ELEMENT>
!dqt_buffer = !tlx.memdesc<[64, 64], ELEMENT, transposed>
!ring = !tlx.mbarrier<[STAGES]>
!sums = tensor<64x64xf32, #tlx.dims<[64, 64], ELEMENT>>
!rounded = tensor<64x64xbf16, #tlx.dims<[64, 64], ELEMENT>>

// A work item: the sequence, first query row and head of a tile, and where the
// sequence lies.
func.func private @decode(%item: i32, %items: !tlx.ptr<i32>, %q_offsets: !tlx.ptr<i32>,
                          %q_length: i32, %jagged: i1) -> (i32, i32, i32, i32) {
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
  %start, %length = scf.if %jagged -> (i32, i32) {
    %begin = tlx.global_load %q_offsets[%sequence] : !tlx.ptr<i32>, i32 -> i32
    %end = tlx.global_load %q_offsets[%next] : !tlx.ptr<i32>, i32 -> i32
    %own = arith.subi %end, %begin : i32
    scf.yield %begin, %own : i32, i32
  } else {
    %dense = arith.muli %sequence, %q_length : i32
    scf.yield %dense, %q_length : i32, i32
  }
  return %head, %row, %start, %length : i32, i32, i32, i32
}

tlx.kernel @attention_bwd_post(
    %dq_acc: !acc_tensor, %dq: !dq_tensor, %q_offsets: !tlx.ptr<i32>,
    %items: !tlx.ptr<i32>, %item_starts: !tlx.ptr<i32>, %dq_copies: i32,
    %q_length: i32, %scale: f32) {
  // What is computed.
  %head_dim = tlx.param HEAD_DIM = 128 in [64, 128] : i32
  tlx.param ELEMENT = bf16 in [bf16, f16]
  // Lengths come from the offsets; otherwise all are q_length.
  %jagged = tlx.param JAGGED = true : i1
  // Whether there are several sums for each row.
  %has_copies = tlx.param COPIES = false : i1
  // Whether whole pieces lie as threads hold them.
  %fragments = tlx.param FRAGMENTS = false : i1
  // Copies are of shared queries, which are not jagged.
  tlx.constraint JAGGED + COPIES le 1

  // How it is computed.
  // Whether it may be launched while the kernel before it ends, as a programmatic
  // dependent; only the work list is read before that has ended.
  %dependent = tlx.param DEPENDENT_LAUNCH = true : i1
  tlx.param STAGES = 4 from 1 to 6 : i32

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %copies = arith.select %has_copies, %dq_copies, %c1 : i32
  %cta = tlx.cta_id : i32
  %next_cta = arith.addi %cta, %c1 : i32
  %first_item = tlx.global_load %item_starts[%cta] : !tlx.ptr<i32>, i32 -> i32
  %end_item = tlx.global_load %item_starts[%next_cta] : !tlx.ptr<i32>, i32 -> i32

  %sums = tlx.local_alloc : !acc_buffers
  %results = tlx.local_alloc : !dq_buffers
  %full = tlx.alloc_barriers arrivals(1) : !ring
  %empty = tlx.alloc_barriers arrivals(1) : !ring

  scf.if %dependent {
    tlx.grid_dependency_wait
  }
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      %end = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0) -> (i32) : i32 {
        %at:4 = func.call @decode(%item, %items, %q_offsets, %q_length, %jagged)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i1) -> (i32, i32, i32, i32)
        %next = scf.for %column = %c0 to %head_dim step %c64
            iter_args(%n = %count) -> (i32) : i32 {
          %of_column = scf.for %copy = %c0 to %copies step %c1
              iter_args(%n_copy = %n) -> (i32) : i32 {
            %slot, %phase = tlx.ring %n_copy stages(STAGES) : i32
            %buffer = tlx.local_view %sums[%slot] : !acc_buffers -> !acc_buffer
            %distance = arith.muli %copy, %q_length : i32
            %start = arith.addi %at#2, %distance : i32
            tlx.barrier_wait %empty[%slot], %phase producer : !ring
            tlx.barrier_expect_bytes %full[%slot], %buffer : !ring, !acc_buffer
            tlx.async_descriptor_load %dq_acc[%at#1, %at#0, %column]
                segment(%start, %at#3), %buffer signal %full[%slot]
                : !acc_tensor, !acc_buffer, !ring
            %n1 = arith.addi %n_copy, %c1 : i32
            scf.yield %n1 : i32
          }
          scf.yield %of_column : i32
        }
        scf.yield %next : i32
      }
    }

    tlx.async_task @round warps(4) {
      %factor = tlx.splat %scale : f32 -> !sums
      // What leaves every number as it is when that is added to it.
      %no_sum = arith.constant -0.0 : f32
      %no_sums = tlx.splat %no_sum : f32 -> !sums
      %end:2 = scf.for %item = %first_item to %end_item step %c1
          iter_args(%count = %c0, %pieces = %c0) -> (i32, i32) : i32 {
        %at:4 = func.call @decode(%item, %items, %q_offsets, %q_length, %jagged)
            : (i32, !tlx.ptr<i32>, !tlx.ptr<i32>, i32, i1) -> (i32, i32, i32, i32)
        %end_row = arith.addi %at#1, %c64 : i32
        %is_whole = arith.cmpi sle, %end_row, %at#3 : i32
        %by_fragments = arith.andi %fragments, %is_whole : i1
        %next:2 = scf.for %column = %c0 to %head_dim step %c64
            iter_args(%n = %count, %piece = %pieces) -> (i32, i32) : i32 {
          %of_column:2 = scf.for %copy = %c0 to %copies step %c1
              iter_args(%n_copy = %n, %sum_before = %no_sums) -> (i32, !sums) : i32 {
            %slot, %phase = tlx.ring %n_copy stages(STAGES) : i32
            %buffer = tlx.local_view %sums[%slot] : !acc_buffers -> !acc_buffer
            tlx.barrier_wait %full[%slot], %phase : !ring
            %sum = scf.if %by_fragments -> (!sums) {
              %transposed = tlx.local_load %buffer fragments : !acc_buffer -> !sums
              scf.yield %transposed : !sums
            } else {
              %rows = tlx.local_load %buffer : !acc_buffer -> !sums
              scf.yield %rows : !sums
            }
            tlx.barrier_arrive %empty[%slot] : !ring
            %sum_after = arith.addf %sum_before, %sum : !sums
            %n1 = arith.addi %n_copy, %c1 : i32
            scf.yield %n1, %sum_after : i32, !sums
          }
          %out_slot, %out_phase = tlx.ring %piece stages(2) : i32
          %out = tlx.local_view %results[%out_slot] : !dq_buffers -> !dq_buffer
          %out_t = tlx.local_trans %out : !dq_buffer -> !dqt_buffer
          %scaled = arith.mulf %of_column#1, %factor : !sums
          %rounded = arith.truncf %scaled : !sums to !rounded
          // The copy before the last has to have left the buffer.
          tlx.async_descriptor_store_wait pending(1)
          scf.if %by_fragments {
            tlx.local_store %rounded, %out_t : !rounded, !dqt_buffer
          } else {
            tlx.local_store %rounded, %out : !rounded, !dq_buffer
          }
          tlx.async_descriptor_store %dq[%at#1, %at#0, %column]
              segment(%at#2, %at#3), %out : !dq_tensor, !dq_buffer
          %piece1 = arith.addi %piece, %c1 : i32
          scf.yield %of_column#0, %piece1 : i32, i32
        }
        scf.yield %next#0, %next#1 : i32, i32
      }
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
