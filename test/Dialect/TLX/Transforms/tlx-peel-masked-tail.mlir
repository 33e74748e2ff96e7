// RUN: jfa-opt %s -allow-unregistered-dialect -pass-pipeline='builtin.module(any(tlx-peel-masked-tail))' | FileCheck %s
// RUN: jfa-opt %s -allow-unregistered-dialect -pass-pipeline='builtin.module(any(tlx-peel-masked-tail,canonicalize))' | FileCheck %s --check-prefix=FOLDED

// The second loop goes on with the values of the first; code after the loop
// uses those of the second.
// CHECK-LABEL: func.func @values(
// CHECK-SAME:    %[[LB:.+]]: i32, %[[UB:.+]]: i32, %[[FIRST:.+]]: i32, %[[A:.+]]: f32, %[[B:.+]]: f32)
// CHECK:         %[[C1:.+]] = arith.constant 1 : i32
// CHECK:         %[[FROM:.+]] = arith.maxsi %[[LB]], %[[FIRST]] : i32
// CHECK:         %[[SPLIT:.+]] = arith.minsi %[[UB]], %[[FROM]] : i32
// CHECK:         %[[BULK:.+]]:2 = scf.for %{{.+}} = %[[LB]] to %[[SPLIT]] step %[[C1]] iter_args(%[[X:.+]] = %[[A]], %{{.+}} = %[[B]])
// CHECK:           %[[FALSE:.+]] = arith.constant false
// CHECK:           scf.if %[[FALSE]]
// CHECK:         %[[TAIL:.+]]:2 = scf.for %{{.+}} = %[[SPLIT]] to %[[UB]] step %[[C1]] iter_args(%{{.+}} = %[[BULK]]#0, %{{.+}} = %[[BULK]]#1)
// CHECK:           %[[TRUE:.+]] = arith.constant true
// CHECK:           scf.if %[[TRUE]]
// CHECK:         return %[[TAIL]]#0, %[[TAIL]]#1
// FOLDED-LABEL: func.func @values(
// FOLDED:         scf.for
// FOLDED-NOT:       arith.negf
// FOLDED:         scf.for
// FOLDED:           arith.negf
// FOLDED-NOT:     scf.if
// FOLDED:         return
func.func @values(%lb: i32, %ub: i32, %first: i32, %a: f32, %b: f32) -> (f32, f32) {
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %j = %lb to %ub step %c1 iter_args(%x = %a, %y = %b) -> (f32, f32) : i32 {
    %masked = tlx.in_masked_tail %j from %first : i32
    %sum = arith.addf %x, %y : f32
    %next = scf.if %masked -> f32 {
      %neg = arith.negf %sum : f32
      scf.yield %neg : f32
    } else {
      scf.yield %sum : f32
    }
    scf.yield %y, %next : f32, f32
  }
  return %r#0, %r#1 : f32, f32
}

// The first masked iteration of a loop with another step.
// CHECK-LABEL: func.func @step(
// CHECK-SAME:    %[[LB:.+]]: index, %[[UB:.+]]: index, %[[STEP:.+]]: index, %[[FIRST:.+]]: index)
// CHECK:         %[[FROM:.+]] = arith.maxsi %[[LB]], %[[FIRST]] : index
// CHECK:         %[[MIN:.+]] = arith.minsi %[[UB]], %[[FROM]] : index
// CHECK:         %[[DISTANCE:.+]] = arith.subi %[[MIN]], %[[LB]] : index
// CHECK:         %[[COUNT:.+]] = arith.ceildivsi %[[DISTANCE]], %[[STEP]] : index
// CHECK:         %[[ROUNDED:.+]] = arith.muli %[[COUNT]], %[[STEP]] : index
// CHECK:         %[[SPLIT:.+]] = arith.addi %[[LB]], %[[ROUNDED]] : index
// CHECK:         scf.for %{{.+}} = %[[LB]] to %[[SPLIT]] step %[[STEP]] {
// CHECK:         scf.for %{{.+}} = %[[SPLIT]] to %[[UB]] step %[[STEP]] {
func.func @step(%lb: index, %ub: index, %step: index, %first: index) {
  scf.for %j = %lb to %ub step %step {
    %masked = tlx.in_masked_tail %j from %first : index
    "test.use"(%masked) : (i1) -> ()
  }
  return
}

// With constants only the iterations that differ are left: 0, 3 and 6, then 9.
// FOLDED-LABEL: func.func @constants(
// FOLDED-DAG:     %[[C0:.+]] = arith.constant 0 : i32
// FOLDED-DAG:     %[[C3:.+]] = arith.constant 3 : i32
// FOLDED-DAG:     %[[C9:.+]] = arith.constant 9 : i32
// FOLDED-DAG:     %[[FALSE:.+]] = arith.constant false
// FOLDED-DAG:     %[[TRUE:.+]] = arith.constant true
// FOLDED:         scf.for %[[I:.+]] = %[[C0]] to %[[C9]] step %[[C3]]
// FOLDED-NEXT:      "test.use"(%[[I]], %[[FALSE]])
// FOLDED-NEXT:    }
// FOLDED-NEXT:    "test.use"(%[[C9]], %[[TRUE]])
// FOLDED-NEXT:    return
func.func @constants() {
  %c0 = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  %c7 = arith.constant 7 : i32
  %c10 = arith.constant 10 : i32
  scf.for %j = %c0 to %c10 step %c3 : i32 {
    %masked = tlx.in_masked_tail %j from %c7 : i32
    "test.use"(%j, %masked) : (i32, i1) -> ()
  }
  return
}

// Two different firsts: four loops, of which those that are empty cost nothing.
// CHECK-LABEL: func.func @two(
// CHECK-COUNT-4: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
// FOLDED-LABEL: func.func @two(
// FOLDED-DAG:     %[[FALSE:.+]] = arith.constant false
// FOLDED-DAG:     %[[TRUE:.+]] = arith.constant true
// FOLDED:         "test.use"(%[[FALSE]], %[[FALSE]])
// FOLDED:         "test.use"(%[[FALSE]], %[[TRUE]])
// FOLDED:         "test.use"(%[[TRUE]], %[[FALSE]])
// FOLDED:         "test.use"(%[[TRUE]], %[[TRUE]])
func.func @two(%ub: i32, %first: i32, %second: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %j = %c0 to %ub step %c1 : i32 {
    %a = tlx.in_masked_tail %j from %first : i32
    %b = tlx.in_masked_tail %j from %second : i32
    "test.use"(%a, %b) : (i1, i1) -> ()
  }
  return
}

// Asked twice, and inside another loop: one split.
// CHECK-LABEL: func.func @nested(
// CHECK-COUNT-4: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
// FOLDED-LABEL: func.func @nested(
// FOLDED:         "test.use"(%false, %false)
// FOLDED:         "test.use"(%true, %true)
func.func @nested(%ub: i32, %first: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %j = %c0 to %ub step %c1 : i32 {
    %a = tlx.in_masked_tail %j from %first : i32
    scf.for %i = %c0 to %ub step %c1 : i32 {
      %b = tlx.in_masked_tail %j from %first : i32
      "test.use"(%a, %b) : (i1, i1) -> ()
    }
  }
  return
}

// Both loops of a nest are split.
// CHECK-LABEL: func.func @both(
// CHECK-COUNT-6: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
// FOLDED-LABEL: func.func @both(
// FOLDED:         "test.use"(%false, %false)
// FOLDED:         "test.use"(%false, %true)
// FOLDED:         "test.use"(%true, %false)
// FOLDED:         "test.use"(%true, %true)
func.func @both(%ub: i32, %first: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %j = %c0 to %ub step %c1 : i32 {
    %a = tlx.in_masked_tail %j from %first : i32
    scf.for %i = %c0 to %ub step %c1 : i32 {
      %b = tlx.in_masked_tail %i from %j : i32
      "test.use"(%a, %b) : (i1, i1) -> ()
    }
  }
  return
}

// A loop without the question stays.
// CHECK-LABEL: func.func @plain(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
// CHECK:         return
func.func @plain(%ub: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %j = %c0 to %ub step %c1 : i32 {
    "test.use"(%j) : (i32) -> ()
  }
  return
}
