// RUN: jfa-sim %s -D BASE=1
// RUN: jfa-sim %s -D BASE=1 --verify
// RUN: %exits 2 jfa-sim %s -D BASE=12 2>&1 | FileCheck %s
// RUN: %exits 2 jfa-sim %s -D BASE=12 --verify 2>&1 | FileCheck %s
// RUN: not jfa-opt %s -D BASE=12 --arch=sm_90a --emit=nvvm -o %t 2>&1 | FileCheck %s
//
// An id that is computed, and is one of those that the compiler takes for the
// tasks of several warps: here 13 to 15.
//
// CHECK: error: named barrier misused: @turns#1 expects an id from 0 to 12, since the compiler takes the rest up to 15 for the tasks of several warps, but got 13
// CHECK: note: its tasks of several warps are here

tlx.kernel @k() {
  %base = tlx.param BASE = 1 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      %c1 = arith.constant 1 : i32
      %next = arith.addi %base, %c1 : i32
      tlx.named_barrier_wait %base threads(256)
      tlx.named_barrier_wait %next threads(256)
    }
    tlx.async_task @turns warps(4) replicate(2) {
      %replica = tlx.async_task_replica_id : i32
      %id = arith.addi %base, %replica : i32
      tlx.named_barrier_wait %id threads(256)
    }
  }
}
