!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!ring = !tlx.memdesc<[STAGES, 64, 64], bf16>
!slots = !tlx.mbarrier<[STAGES]>
tlx.kernel @product(%a: !map, %b: !map, %c: !map, %steps: i32) attributes {tlx.trip_counts = ["steps"]} {
  tlx.param STAGES = 4 from 2 to 8 : i32
  %c0 = arith.constant 0 : i32   %c1 = arith.constant 1 : i32   %c64 = arith.constant 64 : i32
  %cta = tlx.cta_id : i32
  %row = arith.muli %cta, %c64 : i32
  %a_ring = tlx.local_alloc : !ring
  %b_ring = tlx.local_alloc : !ring
  %c_tile = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !slots
  %empty = tlx.alloc_barriers arrivals(1) : !slots
  tlx.async_tasks {
    tlx.async_task @load warps(1) registers(24) {
      scf.for %i = %c0 to %steps step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(STAGES) : i32
        %k = arith.muli %i, %c64 : i32
        %a_tile = tlx.local_view %a_ring[%slot] : !ring -> !tile
        %b_tile = tlx.local_view %b_ring[%slot] : !ring -> !tile
        tlx.barrier_wait %empty[%slot], %phase producer : !slots
        tlx.barrier_expect_bytes %full[%slot], %a_tile, %b_tile : !slots, !tile, !tile
        tlx.async_descriptor_load %a[%row, %k], %a_tile signal %full[%slot] : !map, !tile, !slots
        tlx.async_descriptor_load %b[%k, %c0], %b_tile signal %full[%slot] : !map, !tile, !slots } }
    tlx.async_task @multiply warps(4) registers(160) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %sums = scf.for %i = %c0 to %steps step %c1 iter_args(%old = %zero) -> tensor<64x64xf32> : i32 {
        %slot, %phase = tlx.ring %i stages(STAGES) : i32
        %a_tile = tlx.local_view %a_ring[%slot] : !ring -> !tile
        %b_tile = tlx.local_view %b_ring[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !slots
        %pending = tlx.async_dot %a_tile, %b_tile, %old : !tile, !tile -> tensor<64x64xf32>
        %new = tlx.async_dot_wait %pending pending(0) : tensor<64x64xf32>
        tlx.barrier_arrive %empty[%slot] : !slots
        scf.yield %new : tensor<64x64xf32> }
      %rounded = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
      tlx.local_store %rounded, %c_tile : tensor<64x64xbf16>, !tile
      tlx.async_descriptor_store %c[%row, %c0], %c_tile : !map, !tile
      tlx.async_descriptor_store_wait pending(0) } } }
