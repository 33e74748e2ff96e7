// RUN: jfa-sim %s --arg o=zeros:64x64 
// RUN: %exits 2 jfa-sim %s --arg o=none:64x64  2>&1 | FileCheck %s
//
// Additions to memory that nobody has set to zero.
//
// CHECK: error: memory never written: @store reads element 0 of o, which has no value
// CHECK: note: o is declared here

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%o: !map) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1.0 : bf16
  %buffer = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @store warps(4) {
      %value = tlx.splat %one : bf16 -> tensor<64x64xbf16>
      tlx.local_store %value, %buffer : tensor<64x64xbf16>, !tile
      tlx.async_descriptor_reduce %o[%c0, %c0], %buffer : !map, !tile
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
