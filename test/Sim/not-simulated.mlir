// An op without semantics: no verdict on the protocol.
//
// RUN: %exits 3 jfa-sim %s --arg x=1 2>&1 | FileCheck %s
// RUN: %exits 3 jfa-sim %s --verify 2>&1 | FileCheck %s
//
// CHECK: error: expected an op that can be simulated, but 'arith.mulsi_extended' does not implement SimulatableOpInterface

tlx.kernel @k(%x: i32) attributes {tlx.trip_counts = ["x"]} {
  tlx.async_tasks {
    tlx.async_task @k warps(1) {
      %low, %high = arith.mulsi_extended %x, %x : i32
      %c1 = arith.constant 1 : i32
      %is_one = arith.cmpi eq, %high, %c1 : i32
      scf.if %is_one {
        tlx.fence_async_shared
      }
    }
  }
}
