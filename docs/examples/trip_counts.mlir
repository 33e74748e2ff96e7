// A kernel whose trip count is an argument: `tlx.trip_counts` names it, so that
// tlx-verify-protocol can run the kernel for all counts from 0 to past its ring.
!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>

tlx.kernel @sum_tiles(%x: !map, %y: !tlx.ptr<f32>, %n: i32)
    attributes {tlx.trip_counts = ["n"]} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %buffer = tlx.local_alloc : !ring
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_expect_bytes %full[%slot], %tile : !bars, !tile
        %row = arith.muli %i, %c64 : i32
        tlx.async_descriptor_load %x[%row, %c0], %tile signal %full[%slot]
            : !map, !tile, !bars
      }
    }
    tlx.async_task @sum warps(4) {
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero)
          -> (tensor<64x64xf32>) : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !bars
        %value = tlx.local_load %tile : !tile -> tensor<64x64xbf16>
        tlx.barrier_arrive %empty[%slot] : !bars
        %wide = arith.extf %value : tensor<64x64xbf16> to tensor<64x64xf32>
        %next = arith.addf %acc, %wide : tensor<64x64xf32>
        scf.yield %next : tensor<64x64xf32>
      }
      %rows = tlx.iota dim 0 : tensor<64xi32>
      %sums = tlx.reduce add %sum dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      tlx.global_store %sums, %y[%rows]
          : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}
