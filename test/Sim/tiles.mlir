// The ops of the Tile family, and of the Memory family what other tests lack:
// results against what the comments say.
//
// RUN: %python %S/Inputs/check_tiles.py --make %t.limits.npy
// RUN: jfa-sim %s --arg x=iota:8x16 --arg all=iota:16x16 --arg limits=%t.limits.npy --arg y=none:1280 --out y=%t.npy
// RUN: %python %S/Inputs/check_tiles.py %t.npy | FileCheck %s
//
// CHECK: prefix_mask dim 1: right
// CHECK: prefix_mask dim 0: right
// CHECK: partial_reduce: right
// CHECK: reduce dim 0: right
// CHECK: broadcast: right
// CHECK: convert_layout: right
// CHECK: masked global_load: right
// CHECK: local_slice: right
// CHECK: transposed local_store: right
// CHECK: transposed local_load: right

!map = !tlx.tensormap<[8, 16], f32>
!tile = !tlx.memdesc<[8, 16], f32>
!big = !tlx.memdesc<[16, 16], f32>
!bigmap = !tlx.tensormap<[16, 16], f32>
!part = !tlx.memdesc<[8, 16], f32, of = [16, 16]>
#rows = #tlx.layout<threads = [32 : 0 * 1], registers = [2 : 0 * 32]>
#pairs = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
!turned = !tlx.memdesc<[16, 8], f32, transposed>
!bar = !tlx.mbarrier<[1]>
!f = tensor<8x16xf32>
!i = tensor<8x16xi32>

tlx.kernel @k(%x: !map, %all: !bigmap, %limits: !tlx.ptr<i32>, %y: !tlx.ptr<f32>) {
  %c0 = arith.constant 0 : i32
  %buffer = tlx.local_alloc : !tile
  %large = tlx.local_alloc : !big
  %full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @k warps(4) {
      tlx.barrier_expect_bytes %full, %buffer : !bar, !tile
      tlx.async_descriptor_load %x[%c0, %c0], %buffer signal %full : !map, !tile, !bar
      tlx.barrier_wait %full, %c0 : !bar
      %v = tlx.local_load %buffer : !tile -> !f
      %rows = tlx.iota dim 0 : !i
      %columns = tlx.iota dim 1 : !i
      %width = arith.constant dense<16> : !i
      %begins = arith.muli %rows, %width : !i
      %at0 = arith.addi %begins, %columns : !i
      %n = arith.constant dense<128> : !i
      %zero = arith.constant dense<0.0> : !f
      // Columns below a limit of each row, negative and too large ones among them.
      %row = tlx.iota dim 0 : tensor<8xi32>
      %limit = tlx.global_load %limits[%row] : !tlx.ptr<i32>, tensor<8xi32> -> tensor<8xi32>
      %m1 = tlx.prefix_mask %limit dim 1 : tensor<8xi32> -> tensor<8x16xi1>
      %masked1 = arith.select %m1, %v, %zero : tensor<8x16xi1>, !f
      tlx.global_store %masked1, %y[%at0] : !f, !tlx.ptr<f32>, !i
      // Rows below a limit of each column.
      %column = tlx.iota dim 0 : tensor<16xi32>
      %m0 = tlx.prefix_mask %column dim 0 : tensor<16xi32> -> tensor<8x16xi1>
      %masked0 = arith.select %m0, %v, %zero : tensor<8x16xi1>, !f
      %at1 = arith.addi %at0, %n : !i
      tlx.global_store %masked0, %y[%at1] : !f, !tlx.ptr<f32>, !i
      // Column c of four goes to those of 16 with c = column / 2 mod 4.
      %parts = tlx.partial_reduce add %v dim 1 groups(4) run(2) : !f -> tensor<8x4xf32>
      %rows4 = tlx.iota dim 0 : tensor<8x4xi32>
      %columns4 = tlx.iota dim 1 : tensor<8x4xi32>
      %four = arith.constant dense<4> : tensor<8x4xi32>
      %at256 = arith.constant dense<256> : tensor<8x4xi32>
      %begins4 = arith.muli %rows4, %four : tensor<8x4xi32>
      %inside4 = arith.addi %begins4, %columns4 : tensor<8x4xi32>
      %at2 = arith.addi %inside4, %at256 : tensor<8x4xi32>
      tlx.global_store %parts, %y[%at2] : tensor<8x4xf32>, !tlx.ptr<f32>, tensor<8x4xi32>
      %most = tlx.reduce max %v dim 0 : !f -> tensor<16xf32>
      %at384 = arith.constant dense<384> : tensor<16xi32>
      %at3 = arith.addi %column, %at384 : tensor<16xi32>
      tlx.global_store %most, %y[%at3] : tensor<16xf32>, !tlx.ptr<f32>, tensor<16xi32>
      // Every element becomes the sum of its row.
      %sums = tlx.reduce add %v dim 1 : !f -> tensor<8xf32>
      %column_of_sums = tlx.expand_dims %sums dim 1 : tensor<8xf32> -> tensor<8x1xf32>
      %spread = tlx.broadcast %column_of_sums : tensor<8x1xf32> -> !f
      %at512 = arith.constant dense<512> : !i
      %at4 = arith.addi %at0, %at512 : !i
      tlx.global_store %spread, %y[%at4] : !f, !tlx.ptr<f32>, !i
      // What the first op has written, where the mask allows it; else -1.
      %minus = arith.constant dense<-1.0> : !f
      %again = tlx.global_load %y[%at0] mask %m1 other %minus : !tlx.ptr<f32>, !i -> !f mask tensor<8x16xi1> other !f
      %at768 = arith.constant dense<768> : !i
      %at6 = arith.addi %at0, %at768 : !i
      tlx.global_store %again, %y[%at6] : !f, !tlx.ptr<f32>, !i
      // The lower half of a buffer.
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      tlx.barrier_expect_bytes %full, %large : !bar, !big
      tlx.async_descriptor_load %all[%c0, %c0], %large signal %full : !bigmap, !big, !bar
      tlx.barrier_wait %full, %c1 : !bar
      %half = tlx.local_slice %large[%c8, %c0] : !big -> !part
      %lower = tlx.local_load %half : !part -> !f
      %at896 = arith.constant dense<896> : !i
      %at7 = arith.addi %at0, %at896 : !i
      tlx.global_store %lower, %y[%at7] : !f, !tlx.ptr<f32>, !i
      // Rows become columns on the way into a buffer, and on the way out of one.
      %wide_rows = tlx.iota dim 0 : tensor<16x8xi32>
      %wide_columns = tlx.iota dim 1 : tensor<16x8xi32>
      %eight = arith.constant dense<8> : tensor<16x8xi32>
      %wide_begins = arith.muli %wide_rows, %eight : tensor<16x8xi32>
      %inside = arith.addi %wide_begins, %wide_columns : tensor<16x8xi32>
      %numbers = arith.sitofp %inside : tensor<16x8xi32> to tensor<16x8xf32>
      %turned = tlx.local_trans %buffer : !tile -> !turned
      tlx.task_barrier
      tlx.local_store %numbers, %turned : tensor<16x8xf32>, !turned
      tlx.task_barrier
      %stored = tlx.local_load %buffer : !tile -> !f
      %at1024 = arith.constant dense<1024> : !i
      %at8 = arith.addi %at0, %at1024 : !i
      tlx.global_store %stored, %y[%at8] : !f, !tlx.ptr<f32>, !i
      tlx.task_barrier
      tlx.local_store %v, %buffer : !f, !tile
      tlx.task_barrier
      %loaded = tlx.local_load %turned : !turned -> tensor<16x8xf32>
      %at1152 = arith.constant dense<1152> : tensor<16x8xi32>
      %at9 = arith.addi %inside, %at1152 : tensor<16x8xi32>
      tlx.global_store %loaded, %y[%at9] : tensor<16x8xf32>, !tlx.ptr<f32>, tensor<16x8xi32>
    }
    tlx.async_task @layouts warps(1) {
      %numbers = tlx.iota dim 0 : tensor<64xi32, #rows>
      %moved = tlx.convert_layout %numbers : tensor<64xi32, #rows> -> tensor<64xi32, #pairs>
      %reals = arith.sitofp %moved : tensor<64xi32, #pairs> to tensor<64xf32, #pairs>
      %place = tlx.iota dim 0 : tensor<64xi32, #pairs>
      %at640 = arith.constant dense<640> : tensor<64xi32, #pairs>
      %at5 = arith.addi %place, %at640 : tensor<64xi32, #pairs>
      tlx.global_store %reals, %y[%at5] : tensor<64xf32, #pairs>, !tlx.ptr<f32>, tensor<64xi32, #pairs>
    }
  }
}
