// RUN: jfa-sim %s -D BUG=false --arg o=none:256x64 --arg n=4
// RUN: %exits 2 jfa-sim %s -D BUG=true --arg o=none:256x64 --arg n=4 2>&1 | FileCheck %s
//
// A buffer that is written again before the copy out of it has read it.
//
// CHECK: error: buffer overwritten while it is read: @store writes %buffer, but nothing orders that after an operation has read it
// CHECK: note: the operation that @store starts reads it here
// CHECK: note: missing: after this, tlx.async_descriptor_store_wait in @store{{$}}

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k(%o: !map, %n: i32) {
  %bug = tlx.param BUG = false : i1
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %one = arith.constant 1.0 : bf16
  %buffer = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @store warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %row = arith.muli %i, %c64 : i32
        %value = tlx.splat %one : bf16 -> tensor<64x64xbf16>
        scf.if %bug {
        } else {
          tlx.async_descriptor_store_wait pending(0)
        }
        tlx.local_store %value, %buffer : tensor<64x64xbf16>, !tile
        tlx.async_descriptor_store %o[%row, %c0], %buffer : !map, !tile
      }
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
