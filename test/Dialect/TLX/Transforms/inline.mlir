// RUN: jfa-opt %s -inline -canonicalize -cse -symbol-dce | FileCheck %s

// Functions that kernels call end up in the kernel, in tasks as well.

// CHECK-NOT: func.func
func.func private @row(%tile: i32, %height: i32, %rows: !tlx.ptr<i32>) -> i32 {
  %at = arith.muli %tile, %height : i32
  %row = tlx.global_load %rows[%at] : !tlx.ptr<i32>, i32 -> i32
  return %row : i32
}

func.func private @nested(%tile: i32, %rows: !tlx.ptr<i32>) -> i32 {
  %c64 = arith.constant 64 : i32
  %row = func.call @row(%tile, %c64, %rows) : (i32, i32, !tlx.ptr<i32>) -> i32
  return %row : i32
}

func.func private @synchronise() {
  tlx.task_barrier
  return
}

// CHECK-LABEL: tlx.kernel @calls(
tlx.kernel @calls(%rows: !tlx.ptr<i32>, %out: !tlx.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tlx.async_tasks {
    // CHECK:      tlx.async_task @a
    // CHECK:        scf.for %[[I:.+]] =
    // CHECK-NEXT:     %[[AT:.+]] = arith.muli %[[I]], %c64
    // CHECK-NEXT:     %[[ROW:.+]] = tlx.global_load %rows[%[[AT]]]
    // CHECK-NEXT:     tlx.global_store %[[ROW]], %out[%[[I]]]
    // CHECK-NEXT:     tlx.task_barrier
    // CHECK-NEXT:   }
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %row = func.call @nested(%i, %rows) : (i32, !tlx.ptr<i32>) -> i32
        tlx.global_store %row, %out[%i] : i32, !tlx.ptr<i32>, i32
        func.call @synchronise() : () -> ()
      }
    }
    // CHECK:      tlx.async_task @b
    // CHECK-NEXT:   tlx.task_barrier
    // CHECK-NEXT:   tlx.task_barrier
    tlx.async_task @b warps(1) {
      func.call @synchronise() : () -> ()
      func.call @synchronise() : () -> ()
    }
  }
}
// CHECK-NOT: func.func
