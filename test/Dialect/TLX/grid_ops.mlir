// RUN: jfa-opt %s | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --mlir-print-op-generic | jfa-opt | FileCheck %s
// RUN: jfa-opt %s --emit-bytecode | jfa-opt | FileCheck %s

// CHECK-LABEL: tlx.kernel @grid(
tlx.kernel @grid(%turns: !tlx.ptr<i32>, %i: i32, %l: i64) {
  // CHECK: tlx.grid_dependency_wait
  tlx.grid_dependency_wait
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: tlx.semaphore_wait %turns[%i], %i : !tlx.ptr<i32>, i32
      tlx.semaphore_wait %turns[%i], %i : !tlx.ptr<i32>, i32
      // CHECK: tlx.semaphore_wait %turns[%l], %i : !tlx.ptr<i32>, i64
      tlx.semaphore_wait %turns[%l], %i : !tlx.ptr<i32>, i64
      // CHECK: tlx.semaphore_post %turns[%i] : !tlx.ptr<i32>, i32
      tlx.semaphore_post %turns[%i] : !tlx.ptr<i32>, i32
      // CHECK: tlx.semaphore_post %turns[%l] : !tlx.ptr<i32>, i64
      tlx.semaphore_post %turns[%l] : !tlx.ptr<i32>, i64
      // CHECK: tlx.grid_launch_dependents
      tlx.grid_launch_dependents
    }
  }
}

// None of them may go.
// RUN: jfa-opt %s --canonicalize --cse | FileCheck %s --check-prefix=KEPT
// KEPT: tlx.grid_dependency_wait
// KEPT-COUNT-2: tlx.semaphore_wait
// KEPT-COUNT-2: tlx.semaphore_post
// KEPT: tlx.grid_launch_dependents
