// Types of eight bits: conversions round to nearest even, and what is too large
// becomes the largest number; memory holds them as they are.
//
// RUN: jfa-sim %s --arg x=iota:8x64 --arg h=none:8x64 --arg y=none:512 --arg z=none:512 --out y=%t.y.npy --out z=%t.z.npy --out h=%t.h.npy
// RUN: %python %S/Inputs/check_floats.py %t.y.npy %t.z.npy %t.h.npy | FileCheck %s
//
// CHECK: 512 numbers of f8E4M3FN through shared and global memory
// CHECK: 512 numbers of f8E5M2 in registers

!map = !tlx.tensormap<[8, 64], f32>
!map8 = !tlx.tensormap<[8, 64], f8E4M3FN>
!tile = !tlx.memdesc<[8, 64], f32>
!tile8 = !tlx.memdesc<[8, 64], f8E4M3FN>

tlx.kernel @k(%x: !map, %h: !map8, %y: !tlx.ptr<f32>, %z: !tlx.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %wide = tlx.local_alloc : !tile
  %narrow = tlx.local_alloc : !tile8
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @convert warps(4) {
      tlx.barrier_expect_bytes %full, %wide : !tlx.mbarrier<[1]>, !tile
      tlx.async_descriptor_load %x[%c0, %c0], %wide signal %full : !map, !tile, !tlx.mbarrier<[1]>
      tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
      %values = tlx.local_load %wide : !tile -> tensor<8x64xf32>
      %columns = tlx.iota dim 1 : tensor<8x64xi32>
      %rows = tlx.iota dim 0 : tensor<8x64xi32>
      %width = arith.constant dense<64> : tensor<8x64xi32>
      %begins = arith.muli %rows, %width : tensor<8x64xi32>
      %index = arith.addi %begins, %columns : tensor<8x64xi32>
      // From 0 in steps of 1.5, up to beyond 448.
      %step = arith.constant dense<1.5> : tensor<8x64xf32>
      %scaled = arith.mulf %values, %step : tensor<8x64xf32>
      %e4m3 = arith.truncf %scaled : tensor<8x64xf32> to tensor<8x64xf8E4M3FN>
      tlx.local_store %e4m3, %narrow : tensor<8x64xf8E4M3FN>, !tile8
      %back = tlx.local_load %narrow : !tile8 -> tensor<8x64xf8E4M3FN>
      %wide4 = arith.extf %back : tensor<8x64xf8E4M3FN> to tensor<8x64xf32>
      tlx.global_store %wide4, %y[%index] : tensor<8x64xf32>, !tlx.ptr<f32>, tensor<8x64xi32>
      tlx.async_descriptor_store %h[%c0, %c0], %narrow : !map8, !tile8
      // From 0 in steps of 130, up to beyond 57344.
      %large = arith.constant dense<130.0> : tensor<8x64xf32>
      %larger = arith.mulf %values, %large : tensor<8x64xf32>
      %e5m2 = arith.truncf %larger : tensor<8x64xf32> to tensor<8x64xf8E5M2>
      %wide5 = arith.extf %e5m2 : tensor<8x64xf8E5M2> to tensor<8x64xf32>
      tlx.global_store %wide5, %z[%index] : tensor<8x64xf32>, !tlx.ptr<f32>, tensor<8x64xi32>
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
