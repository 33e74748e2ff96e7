// RUN: jfa-opt %s -allow-unregistered-dialect -split-input-file -pass-pipeline='builtin.module(any(tlx-unroll))' | FileCheck %s

// The number of iterations is a multiple of the factor.
// CHECK-LABEL: func.func @multiple(
// CHECK:         %[[C2:.+]] = arith.constant 2 : i32
// CHECK:         scf.for %[[I:.+]] = %{{.+}} to %{{.+}} step %[[C2]]
// CHECK-NEXT:      "test.use"(%[[I]])
// CHECK:           %[[NEXT:.+]] = arith.addi %[[I]],
// CHECK-NEXT:      "test.use"(%[[NEXT]])
// CHECK-NEXT:    }
// CHECK-NEXT:    return
func.func @multiple() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  scf.for %i = %c0 to %c8 step %c1 : i32 {
    "test.use"(%i) : (i32) -> ()
  } {tlx.unroll = 2}
  return
}

// -----

// It is unknown: a second loop takes the rest. An empty loop with its bounds in
// the wrong order stays empty.
// CHECK-LABEL: func.func @rest(
// CHECK-SAME:    %[[LB:.+]]: i32, %[[UB:.+]]: i32, %[[A:.+]]: f32)
// CHECK:         %[[MAX:.+]] = arith.maxsi %[[LB]], %[[UB]] : i32
// CHECK:         arith.subi %[[MAX]], %[[LB]] : i32
// CHECK:         %[[MAIN:.+]] = scf.for %{{.+}} = %[[LB]] to %[[END:.+]] step %{{.+}} iter_args(%{{.+}} = %[[A]])
// CHECK-COUNT-4:   "test.use"
// CHECK:         %[[R:.+]] = scf.for %{{.+}} = %[[END]] to %[[MAX]] step %{{.+}} iter_args(%{{.+}} = %[[MAIN]])
// CHECK-COUNT-1:   "test.use"
// CHECK-NOT:       "test.use"
// CHECK:         return %[[R]] : f32
// CHECK-NOT:     tlx.unroll
func.func @rest(%lb: i32, %ub: i32, %a: f32) -> f32 {
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %lb to %ub step %c1 iter_args(%x = %a) -> f32 : i32 {
    %y = "test.use"(%i, %x) : (i32, f32) -> f32
    scf.yield %y : f32
  } {tlx.unroll = 4}
  return %r : f32
}

// -----

// Factors may come from parameters; 1 leaves the loop as it is.
// CHECK-LABEL: tlx.kernel @parameter(
// CHECK:         scf.for
// CHECK-COUNT-2:   tlx.task_barrier
// CHECK-NOT:       tlx.task_barrier
// CHECK:         scf.for
// CHECK-COUNT-1:   tlx.task_barrier
// CHECK-NOT:       tlx.task_barrier
tlx.kernel @parameter() parameters {UNROLL = 2 : i64} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      scf.for %i = %c0 to %c8 step %c1 : i32 {
        tlx.task_barrier
      } {tlx.unroll = #tlx.expr<2>}
      scf.for %i = %c0 to %c8 step %c1 : i32 {
        tlx.task_barrier
      } {tlx.unroll = 1 : i32}
    }
  }
}

// -----

// Both loops of a nest.
// CHECK-LABEL: func.func @nest(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-COUNT-2:     "test.use"
// CHECK:           scf.for
// CHECK-COUNT-2:     "test.use"
// CHECK-NOT:         "test.use"
func.func @nest() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  scf.for %i = %c0 to %c8 step %c1 : i32 {
    scf.for %j = %c0 to %c8 step %c1 : i32 {
      "test.use"(%i, %j) : (i32, i32) -> ()
    } {tlx.unroll = 2}
  } {tlx.unroll = 2}
  return
}

// Shorter than the factor: nothing but the copies is left.
// CHECK-LABEL: @short_of_the_factor
// CHECK-NOT:   scf.for
// CHECK-COUNT-2: tlx.barrier_wait
// CHECK-NOT:   tlx.barrier_wait
// CHECK:       tlx.barrier_arrive
tlx.kernel @short_of_the_factor() {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      scf.for %i = %c0 to %c2 step %c1 : i32 {
        tlx.barrier_wait %full, %i : !tlx.mbarrier<[1]>
      } {tlx.unroll = 4}
      tlx.barrier_arrive %full : !tlx.mbarrier<[1]>
    }
  }
}

// -----

// A loop that ends after its first pass is none.
// CHECK-LABEL: func.func @single_pass(
// CHECK-SAME:    %[[A:.+]]: i32)
// CHECK-NOT:     scf.while
// CHECK:         "test.use"(%[[A]])
// CHECK-NEXT:    %[[NEXT:.+]] = arith.addi %[[A]], %[[A]] : i32
// CHECK-NEXT:    return %[[NEXT]], %[[A]]
func.func @single_pass(%a: i32) -> (i32, i32) {
  %false = arith.constant false
  %end:2 = scf.while (%i = %a) : (i32) -> (i32, i32) {
    "test.use"(%i) : (i32) -> ()
    %next = arith.addi %i, %i : i32
    scf.condition(%false) %next, %i : i32, i32
  } do {
  ^bb0(%i: i32, %j: i32):
    scf.yield %j : i32
  }
  return %end#0, %end#1 : i32, i32
}

// -----

// CHECK-LABEL: func.func @several_passes(
// CHECK:         scf.while
func.func @several_passes(%a: i32, %more: i1) -> i32 {
  %end = scf.while (%i = %a) : (i32) -> i32 {
    %next = arith.addi %i, %i : i32
    scf.condition(%more) %next : i32
  } do {
  ^bb0(%i: i32):
    scf.yield %i : i32
  }
  return %end : i32
}
