// A generic read before an asynchronous write: barriers order them, and a fence by the
// reader is needed too (PTX ISA 8.9.5), which tlx-insert-fences adds, unless with
// '--proxy=relaxed' somebody vouches for what has been read.
//
// RUN: jfa-sim %s --arg x=random:256x64 --arg y=none:64 --arg n=4
// RUN: jfa-sim %s --arg x=random:256x64 --arg y=none:64 --arg n=4 --proxy=strict
// RUN: jfa-sim %s --arg x=random:256x64 --arg y=none:64 --arg n=4 --fences=as-written --proxy=relaxed
// RUN: %exits 2 jfa-sim %s --arg x=random:256x64 --arg y=none:64 --arg n=4 --fences=as-written 2>&1 | FileCheck %s
// RUN: %exits 3 jfa-sim %s --proxy=weak 2>&1 | FileCheck %s --check-prefix=PROXY
// RUN: %exits 3 jfa-sim %s --proxy=relaxed --verify 2>&1 | FileCheck %s --check-prefix=BOTH
//
// CHECK: error: missing proxy fence: the operation that @load starts writes %buffer through the async proxy, but no fence follows the read
// CHECK: note: @use reads it here
// CHECK: note: @use needs tlx.fence_async_shared between here and its release
// PROXY: jfa-sim: error: expected relaxed or strict for '--proxy', but got 'weak'
// BOTH: jfa-sim: error: expected either '--verify' or '--proxy=relaxed', but got both

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<bf16>, %n: i32) {
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
    tlx.async_task @use warps(4) {
      %rows = tlx.iota dim 0 : tensor<64xi32>
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        tlx.barrier_wait %full[%slot], %phase : !bars
        %value = tlx.local_load %tile : !tile -> tensor<64x64xbf16>
        tlx.barrier_arrive %empty[%slot] : !bars
        %sums = tlx.reduce add %value dim 1 : tensor<64x64xbf16> -> tensor<64xbf16>
        tlx.global_store %sums, %y[%rows]
            : tensor<64xbf16>, !tlx.ptr<bf16>, tensor<64xi32>
      }
    }
  }
}
