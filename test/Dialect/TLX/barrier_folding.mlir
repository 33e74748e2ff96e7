// RUN: jfa-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @ring(%arg0: i32)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : i32
// A count that is not known, or negative, stays.
// CHECK:         %[[SLOT:.+]], %[[PHASE:.+]] = tlx.ring %arg0 stages(3) : i32
// CHECK:         %[[BAD:.+]], %{{.+}} = tlx.ring %{{.+}} stages(2) : i32
// CHECK:         return %[[C0]], %[[C0]], %[[C2]], %[[C1]], %[[SLOT]], %[[PHASE]], %[[BAD]]
func.func @ring(%n: i32) -> (i32, i32, i32, i32, i32, i32, i32) {
  %c0 = arith.constant 0 : i32
  %c5 = arith.constant 5 : i32
  %minus = arith.constant -5 : i32
  %first:2 = tlx.ring %c0 stages(3) : i32
  %later:2 = tlx.ring %c5 stages(3) : i32
  %any:2 = tlx.ring %n stages(3) : i32
  %bad:2 = tlx.ring %minus stages(2) : i32
  return %first#0, %first#1, %later#0, %later#1, %any#0, %any#1, %bad#0 : i32, i32, i32, i32, i32, i32, i32
}

// Nothing is known while a parameter is unbound.
// CHECK-LABEL: tlx.kernel @symbolic(
// CHECK:         tlx.ring %{{.+}} stages(STAGES)
tlx.kernel @symbolic(%out: !tlx.ptr<i32>) {
  tlx.param STAGES = 2
  %c5 = arith.constant 5 : i32
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %slot, %phase = tlx.ring %c5 stages(STAGES) : i32
      tlx.global_store %slot, %out[%phase] : i32, !tlx.ptr<i32>, i32
    }
  }
}
